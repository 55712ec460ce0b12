export { Resilience4jBreaker, resilience4jBreaker } from './breaker.ts'
export type { Resilience4jCircuitBreaker } from './circuit-breaker.ts'
export { type Resilience4jClassifyOptions, resilience4jClassify } from './classify.ts'
export type { Resilience4jEvent, Resilience4jListener } from './event.ts'
export { type Resilience4jHedgeDelayOptions, resilience4jHedgeDelay } from './hedge-delay.ts'
export { IntervalFunction } from './interval-function.ts'
export type { Resilience4jMetrics } from './metrics.ts'
export type {
  Resilience4jOptions,
  Resilience4jResult,
  Resilience4jSettings,
  Resilience4jState,
  Resilience4jTransition,
} from './options.ts'
export {
  type Resilience4jRateEvent,
  Resilience4jRateLimiter,
  type Resilience4jRateLimiterOptions,
} from './rate-limiter.ts'
