import * as v from 'valibot'
import type { Cluster } from '../algorithms/cluster/cluster.ts'
import type { Call } from '../core/call.ts'
import type { Listener } from '../core/event.ts'
import type { Snapshot } from '../core/gate.ts'
import type { Endpoint, Init } from '../core/init.ts'
import type { Layer } from '../core/layer.ts'
import { judge } from '../core/leaf.ts'
import type { Classify, Outcome } from '../core/outcome.ts'
import { Pipeline, type PipelineOptions } from '../core/pipeline.ts'
import type { Next } from '../core/policy.ts'
import { parse, positiveSpan, spanOrZero } from '../core/schema.ts'
import { systemRuntime } from '../core/system.ts'
import { deadline } from '../policies/deadline.ts'
import { retry } from '../policies/retry.ts'
import { timeLimits } from '../policies/time-limits.ts'
import { completed } from './completed.ts'
import { Exchange, valueOf, type Wire } from './exchange.ts'
import { type Fetch, type FetchInit, fetchWire, sender, splitInit } from './fetch.ts'
import { Levels } from './levels.ts'
import { Pools } from './pools.ts'
import { Propagation } from './propagation.ts'
import { type RequestOptions, requestWire, splitOptions } from './request.ts'
import type { ResponseData } from './undici.ts'
import { connectionOf } from './unsent.ts'
import { outcomeOfError } from './verdict.ts'

// How does a program call a cluster?
//
// A pipeline that ends in a cluster, and the wires to its endpoints. Whoever configures nothing is still protected: an operation has a second,
// an attempt 100 ms to its first byte, retries a budget.

const clientOptions = v.strictObject({
  /** What `fetch()` sends with. Default: undici's, with a pool for each endpoint; without undici the global one. */
  fetch: v.optional(v.custom<Fetch>((f) => typeof f === 'function', 'a function such as fetch')),
  /** Options of undici's `Pool`: `connections`, `connect: { ca, servername }`, ... */
  pool: v.optional(v.record(v.string(), v.unknown(), 'an object of options'), {}),
  /** To make a connection, before it counts as a connect timeout. Default: four fifths of the shortest timeout, 3 s at most. */
  connectTimeout: v.optional(positiveSpan),
  /** A body that nobody reads to its end gives its slot back after this. Default 5 min. */
  bodyAtMost: v.optional(positiveSpan, '5m'),
  /** On `close()`: requests that run are cut after this. Default 5 s. */
  drain: v.optional(positiveSpan, '5s'),
  /** Requests say how much time is left, how much they matter and how often they were tried. Default true; false for strangers. */
  propagate: v.optional(v.boolean('true or false'), true),
  /**
   * The admission level that servers tell on their answers is believed: what they would refuse for overload is refused here, with the reason
   * `overloaded`, but for one in ten. Default: as `propagate`.
   */
  heed: v.optional(v.boolean('true or false')),
  /** Taken off the time that is left: what the way there and back costs. Default 0. */
  margin: v.optional(spanOrZero, 0),
  /** The criticality is said in W3C Baggage too. Default false. */
  baggage: v.optional(v.boolean('true or false'), false),
  /** An API whose server has asked for a pause is not called before it is over, unless the layers have a `holdBack` of their own. Default true. */
  holdBack: v.optional(v.boolean('true or false'), true),
  /** The longest timeout that is taken for one, and what becomes of longer ones. Default: above 60 s they are refused. */
  limits: v.optional(timeLimits, {}),
})

export type ClientOptions = v.InferInput<typeof clientOptions> & PipelineOptions

/** A default for whoever configured none. */
const OPERATION_MS = 1000
const LONGEST_CONNECT_MS = 3000

export class Client {
  readonly kind = 'client'
  readonly path: string
  readonly cluster: Cluster
  readonly pipeline: Pipeline
  private readonly settings: v.InferOutput<typeof clientOptions>
  private readonly classify: Classify | undefined
  private readonly pools: Pools
  private readonly levels: Levels | undefined
  private readonly propagation: Propagation
  private readonly unwatch: () => void
  private closing: Promise<void> | undefined

  constructor(name: string, cluster: Cluster, layers: readonly Layer[] | undefined, options: ClientOptions) {
    const { runtime = systemRuntime, classify, criticality, shared, ...own } = options
    this.settings = parse(clientOptions, own, 'client')
    const { pool, holdBack, limits, propagate, margin, baggage, heed = propagate } = this.settings
    this.levels = heed ? new Levels() : undefined
    const { levels } = this
    const asked = layers ?? [deadline({ within: Math.min(OPERATION_MS, limits.mostTimeout) }), retry()]
    const whole = completed(asked, { cluster, holdBack, levels, limits, path: name, runtime })
    this.path = name
    this.cluster = cluster
    this.classify = classify
    this.pipeline = new Pipeline(name, whole, {
      runtime,
      ...(classify && { classify }),
      ...(criticality && { criticality }),
      ...(shared && { shared }),
    })
    this.propagation = new Propagation(this.pipeline, { propagate, margin, baggage })
    const { connectTimeout = Math.min(LONGEST_CONNECT_MS, shortest(whole) * 0.8) } = this.settings
    this.pools = new Pools({ pool, connectMs: connectTimeout }, runtime)
    this.unwatch = cluster.watch({ updated: (members) => this.pools.updated(members) })
  }

  /**
   * Runs `work`, once for each attempt, against `call.endpoint`. Errors that say that nothing was sent (a refused connection, `unsent(error)`)
   * take the endpoint out and may be tried elsewhere, whatever the work is; others only if `idempotent`.
   */
  async call<T>(work: (call: Call) => T | PromiseLike<T>, init: Init = {}): Promise<T> {
    const attempt: Next = (call, done) => {
      const answered = (value: T) => done(judge(call, true, value))
      const threw = (error: unknown) =>
        done(connectionOf(error) === 'made' ? judge(call, false, error) : outcomeOfError(call, error))
      let result: T | PromiseLike<T>
      try {
        result = work(call)
      } catch (error) {
        return threw(error)
      }
      Promise.resolve(result).then(answered, threw)
    }
    const outcome = await new Promise<Outcome<unknown>>((resolve) => this.pipeline.start(attempt, resolve, init))
    return valueOf(outcome as Outcome<T>)
  }

  /**
   * `fetch` to an endpoint of the cluster: `path` begins with a slash. Takes what fetch takes, and what an `Init` has. Redirects are not
   * followed, unless you say so to an `options.fetch` of yours: they would leave the cluster. The endpoint's slot is held until the body is over.
   */
  async fetch(path: string, init: FetchInit = {}): Promise<Response> {
    const { request, about } = splitInit(path, init)
    const own = this.settings.fetch
    if (own === undefined && request.redirect === 'follow')
      throw new TypeError('redirects are not followed: they would leave the cluster')
    const send =
      own === undefined ? await sender(this.pools) : (_: Endpoint, url: string, i: RequestInit) => own(url, i)
    return this.exchange(fetchWire(path, request, send, this.propagation), about)
  }

  /** `request` of undici to an endpoint of the cluster, several times as fast as fetch. Rejects where undici is not installed. */
  async request(options: RequestOptions): Promise<ResponseData> {
    const { request, about } = splitOptions(options)
    return this.exchange(await requestWire(request, this.pools, this.propagation), about)
  }

  private exchange<A>(wire: Wire<A>, init: Init): Promise<A> {
    const { classify, settings, propagation, levels } = this
    return new Exchange(wire, { init, classify, bodyMs: settings.bodyAtMost, propagation, levels }).run(this.pipeline)
  }

  /** Calls `listener` for each event of the client's layers; those of the endpoints are told where the cluster was made. */
  on(listener: Listener): Disposable {
    return this.pipeline.on(listener)
  }

  /** What is, now: JSON-safe. */
  inspect(): Snapshot {
    const { kind, path, pipeline, pools } = this
    return { kind, path, pipeline: pipeline.inspect(), pools: pools.inspect() }
  }

  /** Refuses new calls, ends every wait, and resolves when all connections are closed. The cluster stays. Twice is harmless. */
  close(): Promise<void> {
    this.unwatch()
    this.pipeline.close()
    this.closing ??= this.pools.close(this.settings.drain)
    return this.closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function shortest(layers: readonly Layer[]): number {
  const spans = layers.filter((l) => l.kind === 'timeout').map((l) => (l.options as { after: number }).after)
  return Math.min(...spans)
}

/**
 * Calls to `cluster` through `layers`, outermost first. Default: an operation has 1 s, is tried three times within a budget, each attempt
 * has 100 ms to its first byte. A list of your own gets the cluster, that timeout and `holdBack` where it has none. Throws a ConfigError on bad options.
 */
export function client(name: string, cluster: Cluster, layers?: readonly Layer[], options: ClientOptions = {}): Client {
  return new Client(name, cluster, layers, options)
}
