import * as v from 'valibot'
import { byteBurst } from '../algorithms/rates/byte-line.ts'
import type { Pace } from '../algorithms/rates/rate.ts'
import { snapshotOf } from '../core/layer.ts'
import { rateOrBytes, spelled, unitsOrBytes } from '../core/rate-schema.ts'
import { count, parse, positiveSpan, type Schema } from '../core/schema.ts'

const ABOVE_0 = 'a rate above 0, in bytes a second or such as "10MB/s"'

const rateEntries = {
  /** Bytes per `per`, or with their span: `'10MB/s'`. */
  rate: rateOrBytes,
  /** The span that `rate` is per. Default 1 s. */
  per: v.optional(positiveSpan, '1s'),
  /** What may go at once after a pause. Default: what 100 ms are worth, at least 1500 bytes. */
  burst: v.optional(
    v.pipe(
      unitsOrBytes,
      v.check((bytes) => bytes >= 1, 'at least 1 byte'),
    ),
  ),
}

/** A rate of bytes with its burst. */
export interface ByteLimit {
  readonly rate: number
  readonly per: number
  readonly burst: number
}

const byteLimit = v.pipe(
  v.strictObject(rateEntries),
  spelled(),
  v.check(({ rate }) => rate > 0, ABOVE_0),
  v.transform(({ rate, per, burst }): ByteLimit => limitOf({ rate, per }, burst)),
)

/** The rate alone. */
const plainRate = v.pipe(
  rateOrBytes,
  v.transform((rate): Pace => (typeof rate === 'number' ? { rate, per: 1000 } : rate)),
  v.check(({ rate }) => rate > 0, ABOVE_0),
  v.transform((pace): ByteLimit => limitOf(pace)),
)

function limitOf({ rate, per }: Pace, burst?: number): ByteLimit {
  return { rate, per, burst: byteBurst({ rate, per, burst }) }
}

type Spelled = v.InferInput<typeof byteLimit>

/** `'1MB/s'`, or the same as an object, with a burst. */
export const byteRate: Schema<Spelled | Spelled['rate'], ByteLimit> = v.lazy((given) =>
  typeof given === 'object' && given !== null ? byteLimit : plainRate,
) as Schema<Spelled | Spelled['rate'], ByteLimit>

export const bandwidthOptions = v.pipe(
  v.strictObject({
    /** What all streams together may pass. At least one of the three. */
    whole: v.optional(byteRate),
    /** What all streams of one key may pass. */
    perKey: v.optional(byteRate),
    /** What each stream may pass. */
    perStream: v.optional(byteRate),
    /** Keys that are told apart. Default 10,000. */
    keys: v.optional(count, 10_000),
    /** Streams that may wait at the same time. Default 10,000. */
    size: v.optional(count, 10_000),
  }),
  v.check(
    ({ whole, perKey, perStream }) => (whole ?? perKey ?? perStream) !== undefined,
    'a rate, for all together (rate), for each key (perKey) or for each stream (perStream)',
  ),
)

export type BandwidthSettings = v.InferOutput<typeof bandwidthOptions>
type Parts = v.InferInput<typeof bandwidthOptions>

/** What streams may pass: `{ rate: '10MB/s' }` in all, `perKey` each caller, `perStream` each of them. */
export interface BandwidthOptions extends Omit<Parts, 'whole'>, Partial<Spelled> {
  /** Names it in refusals. Default `bandwidth`. */
  readonly name?: string
}

/** Throws a ConfigError that lists every fault. */
export function bandwidthSettings(options: BandwidthOptions, name: string): BandwidthSettings {
  const { rate, per, burst, name: _, ...parts } = options
  const own = rate === undefined && per === undefined && burst === undefined
  const whole = own ? undefined : parse(byteLimit, given({ rate, per, burst }), name)
  return parse(bandwidthOptions as v.GenericSchema<unknown, BandwidthSettings>, { ...parts, whole }, name)
}

function given(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

export const bandwidthSnapshot = v.strictObject({
  ...snapshotOf('bandwidth'),
  /** Of all together; null: not limited. */
  perSecond: v.nullable(v.number()),
  burst: v.nullable(v.number()),
  /** Streams that are open. */
  streams: v.number(),
  /** Of those, how many wait. */
  waiting: v.number(),
  /** Bytes that they wait with. */
  waitingBytes: v.number(),
  /** Keys with a line of their own. */
  keys: v.number(),
  /** Bytes that have passed. */
  passed: v.number(),
  /** Of those, how many had to wait. */
  heldBack: v.number(),
  /** Streams that found no place to wait. */
  refused: v.number(),
})
