import { type ByteLimit, byteRate, count } from 'floodwall/rules'
import * as v from 'valibot'
import { byRoute } from './by-route.ts'
import type { RouteConfig } from './route-options.ts'
import { bytes } from './words.ts'

/** What one direction of a route may pass, in bytes; what is not said is not limited. */
export interface DirectionLimits {
  /** All requests together. */
  readonly rate: ByteLimit | undefined
  /** All requests of one caller. */
  readonly perCaller: ByteLimit | undefined
  /** All requests on one connection of a client. */
  readonly perConnection: ByteLimit | undefined
  /** Callers that are told apart. */
  readonly callers: number
}

export interface BandwidthConfig {
  /** Bodies of requests. */
  readonly up: DirectionLimits | undefined
  /** Bodies of answers. */
  readonly down: DirectionLimits | undefined
}

const MOST_CALLERS = 10_000

const direction = v.pipe(
  v.strictObject({
    /** What the whole route may pass: `20MB/s`. */
    rate: v.optional(byteRate),
    /** What of that may go at once after a pause. Default: what 100 ms are worth. */
    burst: v.optional(bytes),
    /** What each caller may pass, whom the route's `key` tells apart. */
    perCaller: v.optional(byteRate),
    /** What each connection of a client may pass. */
    perConnection: v.optional(byteRate),
    /** Callers that are told apart; more share one. Default 10,000. */
    callers: v.optional(count, MOST_CALLERS),
  }),
  v.check(
    ({ rate, perCaller, perConnection }) => (rate ?? perCaller ?? perConnection) !== undefined,
    'a rate: rate, perCaller or perConnection',
  ),
  v.check(
    ({ rate, burst }) => burst === undefined || (rate !== undefined && burst > 0),
    'a burst above 0, and its rate',
  ),
  v.transform(
    ({ rate, burst, ...others }): DirectionLimits => ({
      rate: rate === undefined ? undefined : { ...rate, burst: burst ?? rate.burst },
      perCaller: others.perCaller,
      perConnection: others.perConnection,
      callers: others.callers,
    }),
  ),
)

const plain = v.pipe(
  byteRate,
  v.transform(
    (rate): DirectionLimits => ({ rate, perCaller: undefined, perConnection: undefined, callers: MOST_CALLERS }),
  ),
)

/** `5MB/s`, or more than one limit. */
const either = v.lazy((given) => (typeof given === 'object' && given !== null ? direction : plain)) as v.GenericSchema<
  unknown,
  DirectionLimits
>

/** `bandwidth` of a route. */
export const bandwidthOption = v.pipe(
  v.strictObject({
    /** Of the bodies of requests. Default: no limit. */
    up: v.optional(either),
    /** Of the bodies of answers. */
    down: v.optional(either),
  }),
  v.check(({ up, down }) => (up ?? down) !== undefined, 'up or down, such as { down: 20MB/s }'),
  v.transform(({ up, down }): BandwidthConfig => ({ up, down })),
)

/** As people read it. */
export function showBandwidth({ up, down }: BandwidthConfig): string {
  return [shown('up', up), shown('down', down)].filter((text) => text !== '').join('; ')
}

function shown(name: string, limits: DirectionLimits | undefined): string {
  if (limits === undefined) return ''
  const { rate, perCaller, perConnection } = limits
  const parts = [of(rate, 'in all'), of(perCaller, 'a caller'), of(perConnection, 'a connection')]
  return `${name} ${parts.filter((text) => text !== '').join(', ')}`
}

function of(limit: ByteLimit | undefined, whose: string): string {
  if (limit === undefined) return ''
  const perSecond = (limit.rate / limit.per) * 1000
  const unit = [...UNITS].findLast(([bytes]) => perSecond >= bytes) ?? [1, 'B']
  return `${Math.round((perSecond / unit[0]) * 10) / 10} ${unit[1]}/s ${whose}`
}

const UNITS: readonly (readonly [bytes: number, unit: string])[] = [
  [1, 'B'],
  [1000, 'kB'],
  [1e6, 'MB'],
  [1e9, 'GB'],
]

/** Routes that limit each caller, where nothing says whose a request is. */
export function callerlessIn(routes: readonly RouteConfig[]): string[] {
  return byRoute(
    routes.flatMap(({ id, key, bandwidth }) =>
      key === undefined && (bandwidth?.up?.perCaller ?? bandwidth?.down?.perCaller) !== undefined
        ? [[id, 'bandwidth counts all callers as one: "key" says whose a request is, such as "key: address"'] as const]
        : [],
    ),
  )
}
