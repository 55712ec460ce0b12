import type { Resilience4jState } from './options.ts'

/** What a breaker tells, under the names that resilience4j has for it. `at` is the runtime's clock in milliseconds. */
export type Resilience4jEvent = { readonly at: number } & (
  | { readonly type: 'SUCCESS' | 'ERROR'; readonly durationMs: number }
  | { readonly type: 'IGNORED_ERROR' | 'NOT_PERMITTED' | 'RESET' }
  | { readonly type: 'STATE_TRANSITION'; readonly from: Resilience4jState; readonly to: Resilience4jState }
  /** In percent. */
  | { readonly type: 'FAILURE_RATE_EXCEEDED' | 'SLOW_CALL_RATE_EXCEEDED'; readonly rate: number }
)

/** What it throws is swallowed: a listener never changes how a call ends. */
export type Resilience4jListener = (event: Resilience4jEvent) => void
