import type { Pipeline } from 'floodwall'
import type { Config } from './config/config.ts'
import type { Limits } from './config/limits.ts'
import { Route } from './routes/route.ts'
import { Router } from './routes/router.ts'
import { UpstreamCluster } from './upstreams/cluster.ts'
import type { Upstream } from './upstreams/upstream.ts'

// What a reload may change: the routes, the clusters behind them, and which leads where.

export class Site {
  limits: Limits
  router: Router
  private byId: ReadonlyMap<string, Route>
  private byName: ReadonlyMap<string, UpstreamCluster>
  private readonly fault: (error: unknown) => void
  /** Hears of every pipeline that is made. */
  private readonly watch: (pipeline: Pipeline) => void

  constructor(config: Config, fault: (error: unknown) => void, watch: (pipeline: Pipeline) => void) {
    this.fault = fault
    this.watch = watch
    this.limits = config.limits
    this.byName = new Map()
    this.byId = new Map()
    this.router = new Router([])
    this.update(config)
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

  /** Requests that run go on as they began; what did not change keeps its state. */
  update(config: Config): void {
    const clusters = new Map(
      config.clusters.map((settings) => {
        const known = this.byName.get(settings.name)
        if (known === undefined)
          return [settings.name, this.seen(new UpstreamCluster(settings, config.limits, this.fault))]
        known.update(settings)
        return [settings.name, known]
      }),
    )
    const routes = new Map(
      config.routes.map((settings) => {
        const cluster = clusters.get(settings.cluster) as UpstreamCluster
        const known = this.byId.get(settings.id)
        if (known === undefined) return [settings.id, this.seen(new Route(settings, cluster))]
        known.update(settings, cluster)
        return [settings.id, known]
      }),
    )
    const gone = [...this.byName].filter(([name]) => !clusters.has(name))
    this.limits = config.limits
    this.byName = clusters
    this.byId = routes
    this.router = new Router([...routes.values()])
    for (const [, cluster] of gone) cluster.retire()
  }

  async close(): Promise<void> {
    for (const { pipeline } of this.routes) pipeline.close()
    await Promise.all(this.clusters.map((cluster) => cluster.close()))
  }

  private seen<T extends { readonly pipeline: Pipeline }>(part: T): T {
    this.watch(part.pipeline)
    return part
  }
}
