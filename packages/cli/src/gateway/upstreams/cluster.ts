import { balance, type Call, type Done, type Layer, type Next, type Pipeline, type Policy, pipeline } from 'floodwall'
import type { ClusterConfig } from '../config/cluster-options.ts'
import type { Limits } from '../config/limits.ts'
import { wire } from '../exchange/edges.ts'
import { firstByte } from '../exchange/first-byte.ts'
import { Upstream } from './upstream.ts'

// The servers of one cluster, and what all routes to them share: who is isolated, the slots and breakers of each, its connections.
//
// A route has a pipeline of its own, and its last layer hands the call over to this one's balancer. So what a route sees of a server, every
// route sees; and a route that is added or removed changes nothing for the others.

export class UpstreamCluster {
  readonly name: string
  /** Where it stands, in what layers print. */
  readonly path: string
  /** Never called itself: it owns the balancer's events, state and end. */
  readonly pipeline: Pipeline
  private config: ClusterConfig
  private limits: Limits
  private readonly fault: (error: unknown) => void
  private members: ReadonlyMap<string, Upstream>
  private balancer: Policy
  /** Calls of routes that lead here, wherever they wait. */
  calls = 0
  /** What comes after the last layer; the same for every pipeline, since the work travels in the call. */
  private work: Next | null = null

  constructor(config: ClusterConfig, limits: Limits, fault: (error: unknown) => void) {
    this.name = config.name
    this.path = config.name
    this.config = config
    this.limits = limits
    this.fault = fault
    this.members = this.membersOf(config, new Map())
    this.pipeline = pipeline(config.name, [this.layer()])
    this.balancer = this.pipeline.find('balance') as Policy
  }

  get upstreams(): readonly Upstream[] {
    return [...this.members.values()]
  }

  /** The last layer of every route to this cluster. */
  get way(): Layer {
    const build = (): Policy => ({ kind: 'forward', path: this.path, run: this.run })
    return { kind: 'forward', options: Object.freeze({ to: this }), build }
  }

  /** Other servers or layers: who stays keeps state and connections; who goes ends its connections when the last request has. */
  update(config: ClusterConfig, limits: Limits): void {
    this.config = config
    this.limits = limits
    const before = this.members
    this.members = this.membersOf(config, before)
    this.pipeline.reload([this.layer()])
    this.balancer = this.pipeline.find('balance') as Policy
    for (const [id, upstream] of before) if (this.members.get(id) !== upstream) upstream.retire()
  }

  /** Drops every connection at once. */
  async close(): Promise<void> {
    this.pipeline.close()
    await Promise.all(this.upstreams.map((upstream) => upstream.close()))
  }

  /** It is not in the settings any more: connections end when the last request on them has. */
  retire(): void {
    for (const upstream of this.upstreams) upstream.retire()
  }

  /** True while something of it runs, or may come here still. */
  get busy(): boolean {
    return this.calls > 0 || this.upstreams.some(({ active }) => active > 0)
  }

  private readonly run = (call: Call, next: Next, done: Done): void => {
    this.work ??= next
    this.balancer.run(call, this.work, done)
  }

  private layer(): Layer {
    const { balance: options, each } = this.config
    return balance({ ...options, endpoints: [...this.upstreams], each: [...each, firstByte, wire] })
  }

  private membersOf(
    { targets, tls }: ClusterConfig,
    before: ReadonlyMap<string, Upstream>,
  ): ReadonlyMap<string, Upstream> {
    const made = targets.map((target): [string, Upstream] => {
      const known = before.get(target.id)
      if (known?.origin !== target.origin) {
        return [target.id, new Upstream(target, this.limits, tls, this.fault)]
      }
      known.update(this.limits, tls)
      return [target.id, known]
    })
    return new Map(made)
  }
}
