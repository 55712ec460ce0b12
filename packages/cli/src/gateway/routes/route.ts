import { type Pipeline, pipeline } from 'floodwall'
import { RouteTelemetry } from '../admin/telemetry.ts'
import type { Limits } from '../config/limits.ts'
import type { RouteConfig } from '../config/route-options.ts'
import { client } from '../exchange/edges.ts'
import type { RequestHead } from '../heads/request-head.ts'
import type { UpstreamCluster } from '../upstreams/cluster.ts'
import { edit, noEdits } from './header-edits.ts'

const none: ReadonlyMap<string, string> = new Map()

/** One way through the gateway, at work: its pipeline and its counts. */
export class Route {
  readonly id: string
  readonly pipeline: Pipeline
  readonly telemetry: RouteTelemetry = new RouteTelemetry()
  config: RouteConfig

  constructor(config: RouteConfig, cluster: UpstreamCluster) {
    this.id = config.id
    this.config = config
    this.pipeline = pipeline(config.id, [client, ...config.layers, cluster.way])
  }

  /** So much may a request bring. */
  mostBodyBytes({ bodyBytes }: Limits): number {
    return this.config.limits.bodyBytes ?? bodyBytes
  }

  /** What the server is asked for, and with which headers. */
  apply(head: RequestHead): void {
    const { rewrite, match, request } = this.config
    if (rewrite !== undefined) head.path = rewrite.path(match.path?.valuesIn(head.pathname) ?? none) + head.query
    if (request !== noEdits) edit(head.lines, request)
  }

  editAnswer(lines: string[]): void {
    const { response } = this.config
    if (response !== noEdits) edit(lines, response)
  }

  /** Other settings, same counts; layers that did not change keep their state. Requests that run go on as they began. */
  update(config: RouteConfig, cluster: UpstreamCluster): void {
    this.config = config
    this.pipeline.reload([client, ...config.layers, cluster.way])
  }
}
