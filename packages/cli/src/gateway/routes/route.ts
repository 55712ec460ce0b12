import { type Layer, type Outcome, type Pipeline, pipeline } from 'floodwall'
import { type ProcessSignals, QuotaFields } from 'floodwall/server'
import { writeAttempts } from 'floodwall/wire'
import { RouteTelemetry } from '../admin/telemetry.ts'
import type { Limits } from '../config/limits.ts'
import type { RouteConfig } from '../config/route-options.ts'
import { client } from '../exchange/edges.ts'
import { FirstByte } from '../exchange/first-byte.ts'
import { isFlooded } from '../exchange/retries.ts'
import type { RequestHead } from '../heads/request-head.ts'
import type { PeerLimits } from '../listener/peer.ts'
import type { UpstreamCluster } from '../upstreams/cluster.ts'
import { bandwidthLayer, type RouteBandwidth } from './bandwidth.ts'
import { keyOf } from './caller-key.ts'
import { edit, noEdits } from './header-edits.ts'
import type { StaticLane } from './static-lane.ts'

/** To add up a window for each request would be more work than it is worth. */
const HISTOGRAM_SERVES_MS = 100

const none: ReadonlyMap<string, string> = new Map()

/** One way through the gateway, at work: its pipeline and its counts. A request keeps the one it began with, and so the settings. */
export class Route {
  readonly id: string
  readonly pipeline: Pipeline
  readonly telemetry: RouteTelemetry
  readonly config: RouteConfig
  /** Where it leads. */
  readonly cluster: UpstreamCluster
  /** The time of each attempt. */
  readonly firstByte: FirstByte
  /** What answers say of its limits. */
  readonly limits: QuotaFields
  /** It wants to know how long requests have waited for the loop. */
  readonly guarded: boolean
  /** How many bytes it passes. */
  readonly bandwidth: RouteBandwidth | undefined
  private readonly retries: boolean
  private attempts: string | undefined
  private attemptsReadAt = Number.NEGATIVE_INFINITY
  private readonly apis = new Map<string, string>()

  private constructor(
    config: RouteConfig,
    cluster: UpstreamCluster,
    made: Pipeline,
    telemetry: RouteTelemetry,
    firstByte: FirstByte,
  ) {
    this.id = config.id
    this.config = config
    this.cluster = cluster
    this.firstByte = firstByte
    this.pipeline = made
    this.limits = new QuotaFields(made, config.rateLimitHeaders)
    this.telemetry = telemetry
    this.guarded = config.layers.some(({ kind }) => kind === 'overload')
    this.bandwidth = config.bandwidth && (made.find('bandwidth') as RouteBandwidth)
    this.retries = config.layers.some(({ kind }) => kind === 'retry')
  }

  static of(config: RouteConfig, cluster: UpstreamCluster, lane: StaticLane, signals: ProcessSignals): Route {
    const made = pipeline(config.id, layersOf(config, cluster, lane), { shared: signals.shared() })
    return new Route(config, cluster, made, new RouteTelemetry(), new FirstByte(config.timeout, config.id))
  }

  /** How far down the line of priorities it is open; undefined where it has no layer that would say. */
  levelText(): string | undefined {
    if (!this.guarded) return undefined
    const layer = this.pipeline.find('overload') as { levelText?(): string } | undefined
    return layer?.levelText?.()
  }

  /** Whose a request is; undefined: nobody's. `trusted`: its sender is. */
  keyOf(head: RequestHead, trusted: boolean): string | undefined {
    const { key } = this.config
    return key === undefined ? undefined : keyOf(key, head, trusted)
  }

  /** How many of the last seconds' requests were first tries, second tries ...; undefined where it does not try again. */
  attemptsText(now: number): string | undefined {
    if (!this.retries || now - this.attemptsReadAt < HISTOGRAM_SERVES_MS) return this.attempts
    this.attemptsReadAt = now
    const layer = this.pipeline.find('retry') as { tries?(now: number): readonly number[] } | undefined
    this.attempts = writeAttempts(layer?.tries?.(now) ?? [])
    return this.attempts
  }

  /** What was refused like this shall not be tried again by anybody. */
  isFlooded(outcome: Outcome<unknown>): boolean {
    return isFlooded(outcome, this.telemetry.retries, this.config.retryShare, performance.now())
  }

  /** A name for the requests of one method. The methods are those that the parser knows. */
  apiOf(method: string): string {
    let name = this.apis.get(method)
    if (name === undefined) {
      name = `${method} ${this.id}`
      this.apis.set(method, name)
    }
    return name
  }

  /** So much may a request bring. */
  mostBodyBytes({ bodyBytes }: Limits): number {
    const { kind, limits } = this.config
    // What is static is only read.
    return kind === 'static' ? 0 : (limits.bodyBytes ?? bodyBytes)
  }

  /** A request with this `head` may run twice without harm. */
  repeats(head: RequestHead): boolean {
    const { idempotent } = this.config
    return head.idempotent || idempotent === 'always' || (idempotent === 'keys' && head.sends('idempotency-key'))
  }

  /** Which of the protocols in `offer`, a list, a connection may change to; undefined: none. */
  protocolOf(offer: string): string | undefined {
    return offer
      .split(',')
      .map((name) => name.trim())
      .find((name) => this.config.upgrade.includes(name))
  }

  /** So long may a client send nothing. */
  idleMs({ idleMs }: PeerLimits): number {
    return this.config.limits.idleMs ?? idleMs
  }

  /** So long may a whole request take to arrive. */
  requestMs({ requestMs }: PeerLimits): number {
    return this.config.limits.requestMs ?? requestMs
  }

  /** What the server is asked for, and with which headers. */
  apply(head: RequestHead): void {
    const { rewrite, request } = this.config
    if (rewrite !== undefined) head.path = rewrite.path(this.valuesIn(head)) + head.target.query
    if (request !== noEdits) edit(head.lines, request, request.templates.length > 0 ? this.valuesIn(head) : none)
  }

  /** The head of an answer to a request with this `head`. */
  editAnswer(lines: string[], head: RequestHead): void {
    const { response } = this.config
    if (response !== noEdits) edit(lines, response, response.templates.length > 0 ? this.valuesIn(head) : none)
  }

  private valuesIn(head: RequestHead): ReadonlyMap<string, string> {
    head.values ??= this.config.match.path?.valuesIn(head.pathname) ?? none
    return head.values
  }

  /** The one with other settings: same counts, and layers that did not change keep their state. */
  reloaded(config: RouteConfig, cluster: UpstreamCluster, lane: StaticLane): Route {
    this.pipeline.reload(layersOf(config, cluster, lane))
    const { firstByte } = this
    const { timeout, id } = config
    return new Route(
      config,
      cluster,
      this.pipeline,
      this.telemetry,
      firstByte.fits(timeout) ? firstByte : new FirstByte(timeout, id),
    )
  }
}

function layersOf({ kind, layers, bandwidth }: RouteConfig, cluster: UpstreamCluster, lane: StaticLane): Layer[] {
  const width = bandwidth === undefined ? [] : [bandwidthLayer(bandwidth)]
  return [client, ...width, ...(kind === 'static' ? lane.layers : []), ...layers, cluster.way]
}
