import * as v from 'valibot'
import { type ByteRate, type Bytes, toByteRate, toBytes } from './bytes.ts'
import type { Schema } from './schema.ts'

// How rates are written: a number, which is so many units per `per`, or bytes with their span in one text. Every layer with a rate reads it here.
//
// `{ rate: '90MB/min' }` is `{ rate: 90_000_000, per: '1m' }`, the burst that goes with it included.

const RATE = 'a number of 0 or more, or bytes in a span such as "10MB/s", "512KiB/s" or "1.5MiB/min"'
const UNITS = 'a number of 0 or more, or bytes such as "64KiB" or "10MB"'
/** As for other amounts: sums of them stay exact. */
const MOST = 1e12

/** A rate that brought its span along. */
export interface SpannedRate {
  readonly rate: number
  readonly per: number
}

function isAmount(given: unknown): given is number {
  return typeof given === 'number' && given >= 0 && given <= MOST
}

/** What `rate` may be; {@link spelled} makes a number of it. */
export const rateOrBytes: Schema<number | ByteRate, number | SpannedRate> = v.pipe(
  v.custom<number | ByteRate>((given) => isAmount(given) || isAmount(toByteRate(given)?.rate), RATE),
  v.transform((given) => (typeof given === 'number' ? given : (toByteRate(given) as SpannedRate))),
)

/** What `burst` may be: units of the rate, or bytes. */
export const unitsOrBytes: Schema<number | Bytes, number> = v.pipe(
  v.custom<number | Bytes>((given) => isAmount(given) || isAmount(toBytes(given)), UNITS),
  v.transform((given) => (typeof given === 'number' ? given : toBytes(given))),
)

interface Written {
  readonly rate: number | SpannedRate
  readonly per: number
}

/** A second, which is what `per` is where nothing is said. */
const USUAL_MS = 1000

/** The last step of a schema with {@link rateOrBytes}: a rate in bytes brings its span along, so that another one beside it is a fault. */
export function spelled<T extends Written>(): v.RawTransformAction<T, Omit<T, 'rate'> & { readonly rate: number }> {
  return v.rawTransform<T, Omit<T, 'rate'> & { readonly rate: number }>(({ dataset, addIssue, NEVER }) => {
    const { value } = dataset
    const { rate, per } = value
    if (typeof rate === 'number') return { ...value, rate }
    if (per === USUAL_MS || per === rate.per) return { ...value, ...rate }
    addIssue({
      message: 'no "per" beside a rate in bytes: its span is in the text',
      input: per,
      path: [{ type: 'object', origin: 'value', input: value as Record<string, unknown>, key: 'per', value: per }],
    })
    return NEVER
  })
}
