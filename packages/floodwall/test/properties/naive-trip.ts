import { type CostOptions, NaiveErrorCost } from '../trips/naive-error-cost.ts'
import type { Conditions } from '../trips/naive-trips.ts'
import { type Counts, met, NaiveResults, type NaiveWindow } from './naive-results.ts'

// Any trip of a breaker once more: lists of all results and of all calls that are out. Times are those of the history, of which `newest` is where
// time stands; a trip that was restored has a clock that is `ahead` of it.

export interface NaiveSettings extends Conditions {
  readonly window: NaiveWindow
  readonly slowAfterMs: number
  readonly consecutive: number | undefined
  readonly errorCost: CostOptions | undefined
}

/** Where the two differ in the last bits only, the verdict may differ too. */
const ROUNDING = 1e-9

export class NaiveTrip {
  private readonly of: NaiveSettings
  private readonly results: NaiveResults
  private readonly cost: NaiveErrorCost | undefined
  private run = 0
  private out: { readonly at: number; readonly tag: number }[] = []
  private ahead = 0

  constructor(of: NaiveSettings) {
    this.of = of
    this.results = new NaiveResults(of.window)
    this.cost = of.errorCost === undefined ? undefined : new NaiveErrorCost(of.errorCost)
  }

  /** The conditions that this result meets; undefined where rounding decides. */
  record(failed: boolean, slow: boolean, tookMs: number, lane: number, newest: number, said: number) {
    this.results.add(failed, slow, newest)
    this.run = failed ? this.run + 1 : 0
    const found = met(this.of, this.counts(newest), failed, slow, this.late(newest))
    if (this.run >= (this.of.consecutive ?? Number.POSITIVE_INFINITY)) found.push('consecutive')
    if (this.cost === undefined) return found
    this.cost.record(failed, tookMs, said, lane)
    if (Math.abs(this.cost.judged - 1) <= ROUNDING) return undefined
    if (this.cost.judged > 1) found.push('errorCost')
    return found
  }

  counts(newest: number): Counts {
    return this.results.counts(newest)
  }

  get failuresInARow(): number {
    return this.run
  }

  reset(): void {
    this.results.clear()
    this.cost?.reset()
    this.run = 0
    this.out = []
  }

  begin(tag: number, newest: number): void {
    this.out.push({ at: newest, tag })
  }

  /** One that is out, which is so no more; 0: nobody is. */
  end(pick: number): number {
    if (this.out.length === 0) return 0
    const [gone] = this.out.splice(pick % this.out.length, 1)
    return gone?.tag ?? 0
  }

  /** Calls that began more than eight eighths of the limit ago. */
  late(newest: number): number {
    const eighth = (at: number) => Math.floor((at + this.ahead) / (this.of.slowAfterMs / 8))
    return this.out.filter(({ at }) => eighth(newest) - eighth(at) > 8).length
  }

  /** Another process took over: whoever was out is none of its business. */
  restored(ahead: number): void {
    this.ahead = ahead
    this.out = []
  }

  /** How near the nearest condition is. */
  nearness(newest: number, said: number): number {
    const { failurePercent, slowPercent, errorCount, atLeast, consecutive } = this.of
    const { calls, failures, slow } = this.counts(newest)
    const late = this.late(newest)
    const share = (part: number, whole: number) => (whole === 0 ? 0 : part / whole)
    const ratio = Math.max(
      failurePercent === undefined ? 0 : share(failures, calls) / (failurePercent / 100),
      slowPercent === undefined ? 0 : share(slow + late, calls + late) / (slowPercent / 100),
      errorCount === undefined ? 0 : failures / errorCount,
    )
    return Math.max(
      Math.min(ratio, (calls + late) / atLeast),
      consecutive === undefined ? 0 : this.run / consecutive,
      this.cost?.nearness(said) ?? 0,
    )
  }
}
