import * as v from 'valibot'
import type { HedgeDelay } from '../../algorithms/retry/hedge-delay.ts'
import type { Verdict } from '../../core/outcome.ts'
import { amountOrZero, count, parse } from '../../core/schema.ts'

// When is a second attempt sent, as resilience4j would say?
//
// A replica of AVERAGE_PLUS, its hedge delay: the average of the last first attempts in whole milliseconds, and something on top. For
// `hedge({ after: resilience4jHedgeDelay({ ... }) })`; a percentile is the better question, since an average says nothing of the tail.
//
// 196 and 59 ms: 127 on average (not 127.5). With 30 ms on top 157 ms, with 20 percent 152.4 ms.
//
// Invariant: an amount gives the milliseconds of resilience4j. A percentage is what its name says, average plus so many percent: there it is a
// percentage of the average, so that 20 sends a second attempt at a fifth of what is usual.

const optionsSchema = v.strictObject({
  /** What comes on top of the average: milliseconds, or percent. Default 0. */
  hedgeTimeFactor: v.optional(amountOrZero, 0),
  /** `hedgeTimeFactor` is in percent. Default: off. */
  shouldUseFactorAsPercentage: v.optional(v.boolean('true or false'), false),
  /** Errors count like answers. Default: on. */
  shouldMeasureErrors: v.optional(v.boolean('true or false'), true),
  /** First attempts that are remembered. Default 100. */
  windowSize: v.optional(count, 100),
})

export type Resilience4jHedgeDelayOptions = v.InferInput<typeof optionsSchema>

class AveragePlus implements HedgeDelay {
  private readonly settings: v.InferOutput<typeof optionsSchema>
  private readonly window: number[] = []
  private next = 0
  private sumMs = 0

  constructor(settings: v.InferOutput<typeof optionsSchema>) {
    this.settings = settings
  }

  record(verdict: Verdict, tookMs: number): void {
    const { shouldMeasureErrors, windowSize } = this.settings
    const isError = verdict === 'failure' || verdict === 'timeout' || verdict === 'overload'
    if (verdict !== 'success' && !(isError && shouldMeasureErrors)) return
    const ms = Math.trunc(tookMs)
    this.sumMs += ms - (this.window[this.next] ?? 0)
    this.window[this.next] = ms
    this.next = (this.next + 1) % windowSize
  }

  /** Before the first sample the average is 0, as there. */
  ms(): number {
    const { hedgeTimeFactor, shouldUseFactorAsPercentage } = this.settings
    const average = this.window.length === 0 ? 0 : Math.trunc(this.sumMs / this.window.length)
    return average + (shouldUseFactorAsPercentage ? (average * hedgeTimeFactor) / 100 : hedgeTimeFactor)
  }
}

/** AVERAGE_PLUS of resilience4j as a delay of a hedge. Throws a ConfigError that names the field. */
export function resilience4jHedgeDelay(options: Resilience4jHedgeDelayOptions = {}): HedgeDelay {
  return new AveragePlus(parse(optionsSchema, options, 'resilience4jHedgeDelay'))
}
