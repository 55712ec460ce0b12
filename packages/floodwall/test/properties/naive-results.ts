import type { Conditions } from '../trips/naive-trips.ts'

// Windows of results as they are defined: a list of all that ever ended, of which those are counted that lie in the window.

interface Result {
  readonly failed: boolean
  readonly slow: boolean
  /** By the clock of the beginning. */
  readonly at: number
}

export interface Counts {
  readonly calls: number
  readonly failures: number
  readonly slow: number
}

export type NaiveWindow = { readonly buckets: number; readonly widthMs: number } | { readonly lastCalls: number }

export class NaiveResults {
  private all: Result[] = []
  private readonly window: NaiveWindow

  constructor(window: NaiveWindow) {
    this.window = window
  }

  add(failed: boolean, slow: boolean, at: number): void {
    this.all.push({ failed, slow, at })
  }

  clear(): void {
    this.all = []
  }

  /** Whole buckets up to the current one, or so many calls. */
  counts(newest: number): Counts {
    const { window } = this
    const calls = { calls: 0, failures: 0, slow: 0 }
    const oldest = 'widthMs' in window ? oldestOf(window, newest) : Number.NEGATIVE_INFINITY
    const most = 'lastCalls' in window ? window.lastCalls : Number.POSITIVE_INFINITY
    for (let i = this.all.length - 1; i >= 0 && calls.calls < most; i--) {
      const { failed, slow, at } = this.all[i]!
      if (at < oldest) break
      calls.calls++
      if (failed) calls.failures++
      if (slow) calls.slow++
    }
    return calls
  }
}

/** When the oldest bucket of the window began that ends at `newest`. */
export function oldestOf({ buckets, widthMs }: { buckets: number; widthMs: number }, newest: number): number {
  return (Math.floor(newest / widthMs) - buckets + 1) * widthMs
}

/** The conditions of a window that a result meets, which counted as `failed` and as `slow`; `late` calls hang. In whole numbers. */
export function met(of: Conditions, counts: Counts, failed: boolean, slow: boolean, late = 0): string[] {
  const { failurePercent, slowPercent, errorCount, atLeast } = of
  const { calls, failures } = counts
  const found: string[] = []
  if (failed && calls >= atLeast) {
    if (failurePercent !== undefined && failures * 100 >= failurePercent * calls) found.push('failureRate')
    if (errorCount !== undefined && failures >= errorCount) found.push('errorCount')
  }
  const all = calls + late
  const isSlow = slowPercent !== undefined && all >= atLeast && (counts.slow + late) * 100 >= slowPercent * all
  // While one hangs the end of any call is a time to look.
  if (isSlow && (slow || late > 0)) found.push('slowRate')
  return found
}
