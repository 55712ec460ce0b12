import * as v from 'valibot'
import type { Duration } from '../core/duration.ts'
import { parse, positiveSpan, share, spanOrZero } from '../core/schema.ts'
import type { Chance } from './chance.ts'

// How long does a piece of work take?
//
// Means say little: 20 ms fixed, exponential and log-normal load a server alike and queue before it very differently.

/** A distribution of spans. Write your own with these two members. */
export interface ServiceTime {
  /** The mean, in milliseconds. */
  readonly meanMs: number
  /** One span, in milliseconds, 0 or more. All chance comes from `chance`. */
  draw(chance: Chance): number
}

/** For schemas: one of these. */
export const serviceTime: v.GenericSchema<ServiceTime, ServiceTime> = v.custom<ServiceTime>(
  (input) =>
    typeof input === 'object' &&
    input !== null &&
    typeof (input as Partial<ServiceTime>).draw === 'function' &&
    Number.isFinite((input as Partial<ServiceTime>).meanMs),
  'a service time such as exponential("20ms")',
)

/** Always the same. */
export function fixed(span: Duration): ServiceTime {
  const ms = parse(spanOrZero, span, 'fixed')
  return { meanMs: ms, draw: () => ms }
}

/** Memoryless: most are short, one in a hundred takes 4.6 times the mean. What queueing theory calls M. */
export function exponential(mean: Duration): ServiceTime {
  const meanMs = parse(positiveSpan, mean, 'exponential')
  return { meanMs, draw: (chance) => meanMs * chance.exponential() }
}

/** The 99th percentile of the standard normal distribution. */
const Z99 = 2.326_347_874_040_840_8

const lognormalOptions = v.pipe(
  v.strictObject({
    /** Half of them take less. */
    median: positiveSpan,
    /** One in a hundred takes longer. */
    p99: positiveSpan,
  }),
  v.check(({ median, p99 }) => p99 >= median, 'a p99 of at least the median'),
)

/** As measured latencies often are: a hump and a long tail, described by two percentiles. */
export function lognormal(options: v.InferInput<typeof lognormalOptions>): ServiceTime {
  const { median, p99 } = parse(lognormalOptions, options, 'lognormal')
  const sigma = Math.log(p99 / median) / Z99
  return {
    meanMs: median * Math.exp((sigma * sigma) / 2),
    draw: (chance) => median * Math.exp(sigma * chance.normal()),
  }
}

const spans = v.pipe(v.array(spanOrZero, 'a list of spans'), v.minLength(1, 'at least one span'))

/** What was measured: each of `values` is as likely as the others. */
export function sampled(values: readonly Duration[]): ServiceTime {
  const samples = Float64Array.from(parse(spans, values, 'sampled'))
  return {
    meanMs: samples.reduce((sum, ms) => sum + ms, 0) / samples.length,
    draw: (chance) => samples[chance.below(samples.length)]!,
  }
}

const mixtureOptions = v.pipe(
  v.array(v.strictObject({ share, of: serviceTime }), 'a list of { share, of }'),
  v.minLength(1, 'at least one { share, of }'),
  v.check((parts) => Math.abs(parts.reduce((sum, part) => sum + part.share, 0) - 1) < 1e-9, 'shares that add up to 1'),
)

/** Several kinds of work in one stream: nine thumbnails of 5 ms and a video of 2 s. */
export function mixture(parts: readonly { readonly share: number; readonly of: ServiceTime }[]): ServiceTime {
  const mixed = parse(mixtureOptions, parts, 'mixture')
  return {
    meanMs: mixed.reduce((sum, part) => sum + part.share * part.of.meanMs, 0),
    draw(chance) {
      let dice = chance.uniform()
      let last = mixed[0]?.of as ServiceTime
      for (const part of mixed) {
        last = part.of
        dice -= part.share
        if (dice < 0) break
      }
      return last.draw(chance)
    },
  }
}
