import {
  answered,
  balance,
  type Call,
  Cluster,
  type ClusterOptions,
  type Done,
  type Endpoint,
  failed,
  type Layer,
  type Outcome,
  type Pipeline,
  pipeline,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'

/** What an endpoint does: answers or fails after so many milliseconds, refuses connections, or never answers. */
export type Behaviour = { readonly ok: boolean; readonly ms: number } | 'refuse' | 'hang'

export const well: Behaviour = { ok: true, ms: 20 }
export const broken: Behaviour = { ok: false, ms: 20 }

/** A cluster of fake endpoints under virtual time, driven through a pipeline. */
export class Scene {
  readonly world: VirtualRuntime
  readonly cluster: Cluster
  readonly pipeline: Pipeline
  readonly behaviour = new Map<string, Behaviour>()
  readonly hits = new Map<string, number>()
  readonly outcomes: Outcome<unknown>[] = []

  constructor(endpoints: readonly Endpoint[], options: ClusterOptions = {}, outer: readonly Layer[] = [], seed = 1) {
    this.world = new VirtualRuntime({ seed, startAt: 100_000 })
    this.cluster = new Cluster({ slowStart: 0, ...options }, this.world.env('shop'))
    this.cluster.update(endpoints)
    this.pipeline = pipeline('shop', [...outer, balance({ cluster: this.cluster })], { runtime: this.world })
  }

  set(behaviour: Behaviour, ...ids: string[]): void {
    for (const id of ids.length > 0 ? ids : this.cluster.members.map((m) => m.endpoint.id))
      this.behaviour.set(id, behaviour)
  }

  /** One call; its outcome joins `outcomes`. */
  call(): void {
    this.pipeline.start(this.work, (outcome) => void this.outcomes.push(outcome), { idempotent: true })
  }

  /** `perSecond` calls for `seconds`, evenly. */
  flow(seconds: number, perSecond: number): Outcome<unknown>[] {
    const from = this.outcomes.length
    for (let i = 0; i < seconds * perSecond; i++) this.world.after((i * 1000) / perSecond, () => this.call())
    this.world.advance(seconds * 1000)
    return this.outcomes.slice(from)
  }

  private readonly work = (call: Call, done: Done): void => {
    const id = call.endpoint?.id ?? '?'
    this.hits.set(id, (this.hits.get(id) ?? 0) + 1)
    const does = this.behaviour.get(id) ?? well
    if (does === 'hang') return
    if (does === 'refuse')
      return done(failed(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), 'failure', false))
    this.world.after(does.ms, () => done(does.ok ? answered(id) : failed(new Error(`${id} is broken`))))
  }

  /** Ids of those out of choice. */
  get isolated(): string[] {
    return this.cluster.members.filter((m) => m.isolated).map((m) => m.endpoint.id)
  }

  get states(): string[] {
    return this.world.events.flatMap((e) => (e.type === 'state' ? [`${e.path}: ${e.from} -> ${e.to}`] : []))
  }
}

export function fleet(n: number, prefix = 'h'): Endpoint[] {
  return Array.from({ length: n }, (_, i) => ({ id: `${prefix}${i + 1}` }))
}

/** The share of outcomes that were answered. */
export function goodShare(outcomes: readonly Outcome<unknown>[]): number {
  return outcomes.filter((o) => o.ok).length / Math.max(1, outcomes.length)
}
