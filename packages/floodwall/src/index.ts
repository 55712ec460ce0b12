export type { Pressure } from './algorithms/admission/pressure.ts'
export { Cluster, type Placement } from './algorithms/cluster/cluster.ts'
export type { ClusterOptions } from './algorithms/cluster/cluster-settings.ts'
export type { Evidence } from './algorithms/cluster/evidence.ts'
export type { Member } from './algorithms/cluster/member.ts'
export { type Choice, loadOf, type Picker } from './algorithms/cluster/picker.ts'
export { ConsistentHash } from './algorithms/cluster/pickers/consistent-hash.ts'
export { PowerOfChoices } from './algorithms/cluster/pickers/power-of-choices.ts'
export { RoundRobin } from './algorithms/cluster/pickers/round-robin.ts'
export { Weighted } from './algorithms/cluster/pickers/weighted.ts'
export type { Estimator } from './algorithms/estimators/estimator.ts'
export { AdaptiveLimit, adaptiveLimit } from './algorithms/gates/adaptive-limit.ts'
export type {
  AdaptiveLimitOptions,
  AdaptiveLimitSettings,
  EstimatorChoice,
} from './algorithms/gates/adaptive-limit-settings.ts'
export { Bbr, bbr } from './algorithms/gates/bbr.ts'
export { bbrPresets } from './algorithms/gates/bbr-presets.ts'
export type { BbrOptions, BbrSettings, CpuUsage } from './algorithms/gates/bbr-settings.ts'
export { Breaker, breaker } from './algorithms/gates/breaker.ts'
export type { BreakerSave } from './algorithms/gates/breaker-save.ts'
export type { BreakerOptions, BreakerSettings, BreakerState, OpenFor } from './algorithms/gates/breaker-settings.ts'
export type { Overrides } from './algorithms/gates/hot-parameter-overrides.ts'
export type { HotParameterOptions } from './algorithms/gates/hot-parameter-settings.ts'
export type { Parameter, ParameterOf, ParameterValue } from './algorithms/gates/hot-parameter-value.ts'
export { Keyed, type KeyedOptions, type KeyOf, keyed } from './algorithms/gates/keyed.ts'
export { KeyedRateLimit, keyedRateLimit } from './algorithms/gates/keyed-rate-limit.ts'
export type { CostOf, KeyedRateOptions, KeyedRateSettings } from './algorithms/gates/keyed-rate-limit-settings.ts'
export { Partitions, partitions } from './algorithms/gates/partitions.ts'
export type {
  PartitionOf,
  PartitionsOptions,
  PartitionsSettings,
  SlotGate,
} from './algorithms/gates/partitions-settings.ts'
export { type HystrixPreset, presets, type Resilience4jPreset } from './algorithms/gates/presets.ts'
export { rateLimit } from './algorithms/gates/rate-limit.ts'
export type { RateAlgorithm, RateOptions } from './algorithms/gates/rate-limit-settings.ts'
export { type BulkheadOptions, bulkhead, Semaphore } from './algorithms/gates/semaphore.ts'
export { Shadow, type ShadowOptions, shadow } from './algorithms/gates/shadow.ts'
export { Throttle, throttle } from './algorithms/gates/throttle.ts'
export type { ThrottleOptions, ThrottleSettings, ThrottleState } from './algorithms/gates/throttle-settings.ts'
export { TokenBucket } from './algorithms/gates/token-bucket.ts'
export type { Rate, Reservable } from './algorithms/rates/rate.ts'
export type { CounterCache, CounterCacheMaker, CounterCacheOptions } from './algorithms/sketches/counter-cache.ts'
export { lru } from './algorithms/sketches/lru.ts'
export { tinyLfu } from './algorithms/sketches/tiny-lfu.ts'
export { HotKeys, type HotKeysOptions, hotKeys } from './caches/hot-keys.ts'
export type { Ambient, AmbientStore } from './core/ambient.ts'
export { type ByteRate, type Bytes, toBytes } from './core/bytes.ts'
export type { Call } from './core/call.ts'
export { type Duration, showMs, toMs } from './core/duration.ts'
export {
  ConfigError,
  type ConfigIssue,
  isConfigError,
  isRejected,
  isTimeout,
  RejectedError,
  TimeoutError,
} from './core/errors.ts'
export type { FloodEvent, Listener } from './core/event.ts'
export {
  type Ask,
  acquireAll,
  cancelAll,
  type Gate,
  Permit,
  type Quota,
  type Reason,
  type Refuser,
  Rejection,
  type Snapshot,
  settleAll,
} from './core/gate.ts'
export type { CallParameters, Criticality, Endpoint, Init } from './core/init.ts'
export { around, gate, type Kind, kindOf, type Layer, snapshotOf } from './core/layer.ts'
export {
  answered,
  type Classify,
  failed,
  type Outcome,
  refused,
  type Verdict,
  verdictByDefault,
} from './core/outcome.ts'
export { type Pipeline, type PipelineOptions, pipeline } from './core/pipeline.ts'
export type { AsyncPolicy, Done, Next, Policy } from './core/policy.ts'
export { type Env, envOf, type Runtime, type Shared } from './core/runtime.ts'
export { shrinkDeadline } from './core/stage.ts'
export { systemRuntime } from './core/system.ts'
export { type BalanceOptions, balance } from './policies/balance.ts'
export { Bandwidth, bandwidth, type FlowOptions } from './policies/bandwidth.ts'
export type { Flow } from './policies/bandwidth-flow.ts'
export type { BandwidthOptions } from './policies/bandwidth-options.ts'
export { type DeadlineOptions, deadline } from './policies/deadline.ts'
export { hedge } from './policies/hedge.ts'
export type { HedgeOptions } from './policies/hedge-options.ts'
export { type ApiOf, type HoldBackOptions, holdBack, type Quorum } from './policies/hold-back.ts'
export { hotParameter } from './policies/hot-parameter.ts'
export { Limiter, type LimiterOptions, limiter, type Patience, type Reservation } from './policies/limiter.ts'
export { overload } from './policies/overload.ts'
export type { OverloadOptions } from './policies/overload-options.ts'
export { pace } from './policies/pace.ts'
export type { PaceOptions } from './policies/pace-options.ts'
export { queue } from './policies/queue.ts'
export type { QueueOptions } from './policies/queue-options.ts'
export { retry } from './policies/retry.ts'
export type { RetryOptions } from './policies/retry-options.ts'
export { type TimeoutOptions, timeout } from './policies/timeout.ts'
