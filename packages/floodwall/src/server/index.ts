export { RetryShare } from '../algorithms/retry/retry-share.ts'
export { ambient, currentCall } from './ambient.ts'
export { writeAnswer } from './answers.ts'
export { type BodyCostOptions, byBytes } from './body-cost.ts'
export { type AnyRequest, callOf } from './call-of.ts'
export {
  type AddressKeyOptions,
  addressPrefixes,
  byAddress,
  byHeader,
  byUser,
  type CallerKey,
  firstOf,
  type KeyFunction,
  onlyLine,
  type ValueKeyOptions,
} from './caller-key.ts'
export type { Intake, IntakeView, Taking } from './intake.ts'
export { networkOf, type Prefixes } from './network-address.ts'
export { ProcessSignals } from './process-signals.ts'
export { QuotaFields, type RateLimitFields, type ToldLimits, toldLimits } from './quota.ts'
export { parameterOf } from './request-parameters.ts'
export { ServerEdge } from './server-edge.ts'
export type { Asked, Served, ServerOptions } from './settings.ts'
export {
  type Onlooker,
  processSources,
  type Ramp,
  Signal,
  Signals,
  type SignalView,
  type Sources,
  signalsOf,
} from './signals/index.ts'
export type { Trust } from './trust.ts'
export type { Handling } from './visit.ts'
