import type { ClusterOptions, Endpoint } from 'floodwall'
import { Cluster } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { type CheckOptions, type Checks, checks } from '../../../src/client/index.ts'
import { ask } from '../../support/asks.ts'

/** How a fake endpoint takes a check. */
export type Mood = 'well' | 'ill' | 'hang'

/** A cluster under virtual time whose checks are answered by hand, and logged. */
export class Ward {
  readonly world = new VirtualRuntime({ seed: 3, startAt: 1000 })
  readonly cluster: Cluster
  readonly checks: Checks
  readonly moods = new Map<string, Mood>()
  /** Each check: whose, and when. */
  readonly log: { readonly id: string; readonly at: number }[] = []
  readonly signals: AbortSignal[] = []
  /** Answers the hanging checks, oldest first. */
  readonly answers: ((well: boolean) => void)[] = []

  constructor(endpoints: readonly Endpoint[], options: ClusterOptions = {}, plan: CheckOptions = {}) {
    const isolation = { consecutive: 3, openFor: '1s', openAtMost: '8s', jitter: 0, probes: 1 } as const
    this.cluster = new Cluster({ isolation, slowStart: 0, ...options }, this.world.env('shop'))
    this.cluster.update(endpoints)
    this.checks = checks(this.cluster, { kind: this.probe, ...plan }, this.world)
  }

  private readonly probe = ({ id }: Endpoint, signal: AbortSignal): unknown => {
    this.log.push({ id, at: this.world.now() })
    this.signals.push(signal)
    const mood = this.moods.get(id) ?? 'well'
    if (mood === 'hang') return { then: (resolve: (well: boolean) => void) => void this.answers.push(resolve) }
    return mood === 'well'
  }

  /** Lets it pass; the checks in it. */
  pass(ms: number): typeof this.log {
    const from = this.log.length
    this.world.advance(ms)
    return this.log.slice(from)
  }

  /** One call that goes where the cluster says, and ends so; its reason when the cluster refuses. */
  call(verdict: 'success' | 'failure' = 'success'): string {
    const now = this.world.now()
    const placed = this.cluster.place(ask(now), () => false)
    if (!placed.ok) return placed.reason
    const permit = placed.member.tryAcquire(ask(now))
    if (!permit.ok) return permit.reason
    permit.settle(verdict, 5, now)
    return placed.member.endpoint.id
  }

  state(id = 'a'): string {
    return this.cluster.members.find((m) => m.endpoint.id === id)?.breaker.state(this.world.now()) ?? 'gone'
  }

  steer(id: string, to: 'closed' | 'open' | 'forcedOpen' | 'disabled'): void {
    this.cluster.members.find((m) => m.endpoint.id === id)?.breaker.steer(to)
  }

  /** What `inspect()` says of one endpoint. */
  of(id = 'a'): Record<string, unknown> {
    const all = this.checks.inspect().endpoints as Record<string, unknown>[]
    return all.find((e) => e.id === id) ?? {}
  }
}

export const one: readonly Endpoint[] = [{ id: 'a' }]
