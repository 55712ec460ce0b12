import * as v from 'valibot'
import { ConfigError } from '../core/errors.ts'
import { oneOf, parse, positiveSpan, shareOrZero, show } from '../core/schema.ts'
import { errorFormats } from '../wire/error-body.ts'
import type { Taking } from './intake.ts'
import { toldLimits } from './quota.ts'
import { trust } from './trust.ts'

const path = v.custom<string>((input) => typeof input === 'string' && input.startsWith('/'), 'a path such as "/health"')

const serverOptions = v.strictObject({
  /** Whose headers are believed: addresses and networks, or a function of the address, which is asked once a connection. Default: nobody's. */
  trust: v.optional(trust, () => []),
  /** Of those, who may call a request `CRITICAL_PLUS`; from others it is `CRITICAL`. Default: nobody. */
  criticalPlus: v.optional(trust, () => []),
  /** A caller waits at most so long, whatever it says. Default 1 min. */
  atMost: v.optional(positiveSpan, '1m'),
  /** The deadline of requests that bring none, or one that cannot be read. Default: none but that of the pipeline. */
  within: v.optional(positiveSpan),
  /** The class of requests that name none. Default: the pipeline's. */
  criticality: v.optional(oneOf('criticalPlus', 'critical', 'sheddablePlus', 'sheddable')),
  /** How errors are written: `problem` (RFC 9457) or `google`. Default `problem`. */
  format: v.optional(oneOf(...errorFormats), 'problem'),
  /** With a greater share of retries among the requests, those that are refused are told not to be tried again. Default 0.1. */
  retriesAtMost: v.optional(shareOrZero, 0.1),
  /**
   * Which limits answers tell of, in `RateLimit` and `RateLimit-Policy`: the caller's own (`keyed`), `all`, on `refusals` by them only, or `none`. Default
   * `keyed`; a refusal always tells of the limit that refused, but with `none`.
   */
  rateLimitHeaders: v.optional(oneOf(...toldLimits), 'keyed'),
  /** Paths that pass no layers and are answered while the server drains: health checks. Default: none. */
  exempt: v.optional(v.array(path), () => []),
  /** Calls that a handler makes are made on behalf of its request, with nothing passed along. Default false. */
  ambient: v.optional(v.boolean(), false),
  /** Work that goes on after its time gives its slot back when it ends, or after this. Default 1 min. */
  abandonedAtMost: v.optional(positiveSpan, '1m'),
  /**
   * After its client has left, a handler that gives no promise (callbacks, Express, Fastify) keeps its slot until it ends its answer, or so long: many just stop.
   * Default 10 s.
   */
  leftAtMost: v.optional(positiveSpan, '10s'),
})

export type ServerSettings = v.InferOutput<typeof serverOptions>

/** What is asked of each request, in the framework's own words. What throws is as if nobody had been asked, and is told. */
export interface Asked<R> {
  /** A name for requests that cost alike, from a small set: `'GET /items/:id'`. Default: the method, or the framework's route. */
  readonly route?: (request: R) => string
  /** Whose request it is, for keyed gates. Default: nobody's. */
  readonly key?: (request: R) => string | number
  /** Units of capacity that it needs. Default 1. */
  readonly cost?: (request: R) => number
}

/** What belongs to the server itself. */
export interface Served {
  /**
   * The server that listens. When refusals alone take half of the event loop, it takes no new connections until they would take less than a quarter.
   * Default: connections are always taken.
   */
  readonly connections?: Taking
}

export type ServerOptions<R> = v.InferInput<typeof serverOptions> & Asked<R> & Served

/** Throws a ConfigError that lists every fault. */
export function settingsOf<R>({ route, key, cost, connections, ...own }: ServerOptions<R>): ServerSettings {
  if (connections !== undefined && typeof connections?.on !== 'function') {
    throw new ConfigError([
      { path: 'server.connections', value: show(connections), expected: 'a server, as createServer() returns it' },
    ])
  }
  for (const [name, given] of Object.entries({ route, key, cost })) {
    if (given === undefined || typeof given === 'function') continue
    throw new ConfigError([{ path: `server.${name}`, value: show(given), expected: 'a function of the request' }])
  }
  return parse(serverOptions, own, 'server')
}
