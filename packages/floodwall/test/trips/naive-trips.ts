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
export function within(results: readonly Result[], now: number, buckets: number, widthMs: number): Result[] {
  const oldest = (Math.floor(now / widthMs) - buckets + 1) * widthMs
  return results.filter(({ at }) => at >= oldest)
}

/** Failures since the last success. */
export function run(results: readonly Result[]): number {
  return results.length - 1 - results.findLastIndex(({ failed }) => !failed)
}
