// The references that the trips are held against: they keep every result and judge by looking at all of them.

export interface Result {
  readonly failed: boolean
  readonly at: number
}

/** Opens when the last one failed, calls >= atLeast and failures / calls >= share, by the definition; the share is a fraction of whole numbers. */
export function tooMany(results: readonly Result[], atLeast: number, parts: number, of: number): boolean {
  const failures = results.filter(({ failed }) => failed).length
  return results.at(-1)?.failed === true && results.length >= atLeast && failures * of >= parts * results.length
}

/** Those of the window that ends at `now`: whole buckets, the current one included. */
export function within<R extends Result>(results: readonly R[], now: number, buckets: number, widthMs: number): R[] {
  const oldest = (Math.floor(now / widthMs) - buckets + 1) * widthMs
  return results.filter(({ at }) => at >= oldest)
}

/** Failures since the last success. */
export function run(results: readonly Result[]): number {
  return results.length - 1 - results.findLastIndex(({ failed }) => !failed)
}

export interface Graded extends Result {
  readonly slow: boolean
}

/** The conditions of a window, whole numbers only. */
export interface Conditions {
  readonly failurePercent: number | undefined
  readonly slowPercent: number | undefined
  readonly errorCount: number | undefined
  readonly atLeast: number
}

/** Each is judged when the last call counts towards it. */
export function ratesOpen(results: readonly Graded[], of: Conditions): boolean {
  const last = results.at(-1)
  if (last === undefined || results.length < of.atLeast) return false
  const failures = results.filter(({ failed }) => failed).length
  const slow = results.filter((result) => result.slow).length
  const share = (part: number, percent: number | undefined) =>
    percent !== undefined && part * 100 >= percent * results.length
  return (
    (last.failed && (share(failures, of.failurePercent) || failures >= (of.errorCount ?? Number.POSITIVE_INFINITY))) ||
    (last.slow && share(slow, of.slowPercent))
  )
}
