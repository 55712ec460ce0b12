// How long to wait before the next try?
//
// Source: "Exponential Backoff and Jitter", AWS Architecture Blog (2015): full jitter. The ceiling doubles with each attempt, the wait is
// anything below it; clients that failed together do not come back together.
//
// first 50 ms, factor 2, at most 2 s: ceilings 50, 100, 200 ... 1600, 2000, 2000 ms; the waits are uniform in [0, ceiling).
//
// Invariant: 0 <= wait < ceiling <= atMost.

export interface Backoff {
  /** Ceiling of the first wait, in milliseconds. */
  readonly first: number
  readonly factor: number
  /** No ceiling is higher, in milliseconds. */
  readonly atMost: number
}

/** The ceiling before attempt `attempt` (1 is the first retry). Multiplied up: Math.pow differs between Node versions in its last bits. */
export function ceilingMs(backoff: Backoff, attempt: number): number {
  const most = Math.max(backoff.first, backoff.atMost)
  const { first, factor } = backoff
  let ms = first
  // Factor 1 would count to `attempt` and get nowhere.
  for (let i = 1; i < attempt && ms < most && factor > 1; i++) ms *= factor
  return Math.min(ms, most)
}

/** The wait before attempt `attempt`, with full jitter; `random` is uniform in [0, 1). */
export function backoffMs(backoff: Backoff, attempt: number, random: number): number {
  return ceilingMs(backoff, attempt) * random
}
