/** What another process saw of an endpoint since it last told. Plain data: it travels between processes. */
export interface Evidence {
  /** The endpoint's id. */
  readonly endpoint: string
  readonly successes: number
  readonly failures: number
  /** Mean latency of the failures, in milliseconds. */
  readonly failureMs?: number
  /** Mean latency of the successes, in milliseconds. */
  readonly successMs?: number
}
