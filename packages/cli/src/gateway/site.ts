import { balance, type Endpoint, type Pipeline, pipeline } from 'floodwall'
import { ProcessSignals } from 'floodwall/server'
import type { Config } from './config/config.ts'
import type { Limits } from './config/limits.ts'
import { client, wire } from './exchange/edges.ts'
import { firstByte } from './exchange/first-byte.ts'
import { Route } from './routes/route.ts'
import { Router } from './routes/router.ts'
import { StaticLane } from './routes/static-lane.ts'
import { UpstreamCluster } from './upstreams/cluster.ts'
import type { Upstream } from './upstreams/upstream.ts'

// What a reload may change: the routes, the clusters behind them, and which leads where.

/** How often those that were taken out are looked at. */
const SWEEP_MS = 1000

export class Site {
  limits: Limits
  /** The way of requests is told in `Forwarded`, too. */
  forwarded: boolean
  router: Router
  /** How this process is, for the layers of all routes. */
  readonly signals: ProcessSignals = new ProcessSignals()
  private config: Config
  private readonly lane: StaticLane
  private byId: ReadonlyMap<string, Route>
  private byName: ReadonlyMap<string, UpstreamCluster>
  /** Taken out, with requests that began in them. */
  private retired: { readonly routes: readonly Route[]; readonly clusters: readonly UpstreamCluster[] }[] = []
  private readonly timer: NodeJS.Timeout
  private readonly fault: (error: unknown) => void
  /** Hears of every pipeline that is made. */
  private readonly watch: (pipeline: Pipeline) => void

  constructor(config: Config, fault: (error: unknown) => void, watch: (pipeline: Pipeline) => void) {
    this.fault = fault
    this.watch = watch
    this.config = config
    this.limits = config.limits
    this.forwarded = config.forwarded
    this.lane = new StaticLane(config.limits.static)
    this.byName = new Map()
    this.byId = new Map()
    this.router = new Router([])
    this.apply(config)
    this.timer = setInterval(() => this.sweep(), SWEEP_MS).unref()
  }

  get routes(): readonly Route[] {
    return [...this.byId.values()]
  }

  get clusters(): readonly UpstreamCluster[] {
    return [...this.byName.values()]
  }

  get upstreams(): readonly Upstream[] {
    return this.clusters.flatMap(({ upstreams }) => upstreams)
  }

  /**
   * Requests that run go on as they began; what did not change keeps its state. First everything is made once for nobody, and then in place:
   * whatever throws changes nothing.
   */
  update(config: Config): void {
    tryOut(config)
    const before = this.config
    try {
      this.apply(config)
    } catch (error) {
      this.apply(before)
      throw error
    }
  }

  /** Ends those of the retired in which nothing runs any more. */
  sweep(): void {
    this.retired = this.retired.filter(({ routes, clusters }) => {
      if (routes.some(isBusy) || clusters.some(({ busy }) => busy)) return true
      for (const { pipeline: made } of [...routes, ...clusters]) made.close()
      return false
    })
  }

  async close(): Promise<void> {
    clearInterval(this.timer)
    const routes = [...this.routes, ...this.retired.flatMap((gone) => gone.routes)]
    const clusters = [...this.clusters, ...this.retired.flatMap((gone) => gone.clusters)]
    for (const { pipeline: made } of routes) made.close()
    this.signals.close()
    await Promise.all(clusters.map((cluster) => cluster.close()))
  }

  private apply(config: Config): void {
    const made: (() => void)[] = []
    try {
      this.put(config, made)
    } catch (error) {
      // Of those that are new nobody would ever hear again.
      for (const undo of made) undo()
      throw error
    }
  }

  /** `made`: ends what was new, one by one. */
  private put(config: Config, made: (() => void)[]): void {
    const clusters = new Map<string, UpstreamCluster>()
    for (const settings of config.clusters) {
      const { name } = settings
      let cluster = this.byName.get(name)
      if (cluster === undefined) {
        const added = new UpstreamCluster(settings, config.limits, this.fault)
        made.push(() => void added.close())
        this.watch(added.pipeline)
        cluster = added
      } else cluster.update(settings, config.limits)
      clusters.set(name, cluster)
    }
    const { lane } = this
    lane.resize(config.limits.static)
    const routes = new Map<string, Route>()
    for (const settings of config.routes) {
      const { id } = settings
      const cluster = clusters.get(settings.cluster) as UpstreamCluster
      let route = this.byId.get(id)?.reloaded(settings, cluster, lane)
      if (route === undefined) {
        const added = Route.of(settings, cluster, lane, this.signals)
        made.push(() => added.pipeline.close())
        this.watch(added.pipeline)
        route = added
      }
      routes.set(id, route)
    }
    const gone = {
      routes: this.routes.filter(({ id }) => !routes.has(id)),
      clusters: this.clusters.filter(({ name }) => !clusters.has(name)),
    }
    this.config = config
    this.limits = config.limits
    this.forwarded = config.forwarded
    this.byName = clusters
    this.byId = routes
    this.router = new Router([...routes.values()])
    for (const cluster of gone.clusters) cluster.retire()
    if (gone.routes.length + gone.clusters.length > 0) this.retired.push(gone)
  }
}

function isBusy({ pipeline: made }: Route): boolean {
  return (made.inspect()['running'] as number) > 0
}

/** Makes every layer of `config` once, and ends it: one that cannot be made is found here. */
export function tryOut({ clusters, routes }: Config): void {
  for (const { layers } of routes) pipeline('trial', [client, ...layers]).close()
  for (const { targets, each, balance: options } of clusters) {
    const endpoints = targets.map(({ id }): Endpoint => ({ id }))
    const inside = [...each, firstByte, wire]
    pipeline('trial', [balance({ ...options, endpoints, each: inside })]).close()
    pipeline('trial', inside).close()
  }
}
