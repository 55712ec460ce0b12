/**
 * A limit of concurrency-limits, number for number: arithmetic in IEEE doubles, the limit truncated. Times are nanoseconds, as there; any
 * other unit does as well where no setting is a time.
 */
export interface NetflixLimit {
  /** Whole calls at once; there it may be 0. */
  readonly limit: number
  /** The estimate that the limit is truncated from. */
  readonly estimate: number
  /** A call that began at `startNs` has ended; `inFlight` were running when it began, itself included. */
  onSample(startNs: number, rttNs: number, inFlight: number, didDrop: boolean): void
}

/** A double as a Java int: truncated, and NaN is 0. */
export function truncated(value: number): number {
  return Number.isNaN(value) ? 0 : Math.trunc(value)
}

/** The whole decimal logarithm, at least 1. Counted, since the last bits of `Math.log10` are nobody's promise. */
export function log10(limit: number): number {
  let log = 0
  for (let power = 10; power <= limit; power *= 10) log++
  return Math.max(1, log)
}
