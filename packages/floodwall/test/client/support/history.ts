import fc from 'fast-check'
import { Cluster } from '../../../src/algorithms/cluster/cluster.ts'
import type { Member } from '../../../src/algorithms/cluster/member.ts'
import { type BreakerState, breakerStates } from '../../../src/algorithms/gates/breaker-settings.ts'
import { type Checks, checks } from '../../../src/client/checks.ts'
import type { Ask, Permit } from '../../../src/core/gate.ts'
import type { Endpoint } from '../../../src/core/init.ts'
import type { Verdict } from '../../../src/core/outcome.ts'
import { seeded } from '../../../src/testing/random.ts'
import { VirtualRuntime } from '../../../src/testing/virtual-runtime.ts'

const IDS = ['a', 'b', 'c', 'd']
const VERDICTS: readonly Verdict[] = ['success', 'failure', 'timeout', 'overload', 'ignored']
const MOODS = ['pass', 'fail', 'hang', 'slow'] as const
const BY_HAND: readonly BreakerState[] = ['forcedOpen', 'disabled', 'metricsOnly']

const INTERVAL_MS = 700
const TIMEOUT_MS = 400
const ISOLATION = { consecutive: 2, openFor: '500ms', openAtMost: '4s', healthyAfter: '5s', probes: 2 } as const

/** One random life of a cluster of up to four endpoints, by seed. Every step is followed by a look at what must always hold. */
class History {
  readonly world: VirtualRuntime
  readonly cluster: Cluster
  private readonly random: () => number
  private checks: Checks | undefined
  private readonly moods = new Map<string, (typeof MOODS)[number]>()
  private readonly running = new Map<string, AbortSignal>()
  /** Timers of the fake probes, which are not the library's. */
  private slow = 0
  private overlaps = 0
  private held: Permit[] = []

  constructor(seed: number, active: boolean) {
    this.random = seeded(seed)
    this.world = new VirtualRuntime({ seed, startAt: 1000 })
    const isolatedAtMost = this.one([0, 0.5, 1])
    const whenOut = this.one(['recover', 'panic'] as const)
    const options = { isolation: ISOLATION, isolatedAtMost, whenOut, slowStart: 0, recovery: { hold: '1s' } } as const
    this.cluster = new Cluster(options, this.world.env('shop'))
    this.cluster.update(this.some())
    if (active) this.attach()
  }

  /** So many steps, each followed by a look. */
  live(steps: number): void {
    for (let i = 0; i < steps; i++) {
      this.step()
      this.look()
    }
  }

  /** The world is well from now on, and calls come: everybody must be back in choice, and stay. */
  heal(): void {
    this.moods.clear()
    const { cluster, world } = this
    for (const { breaker } of cluster.members) {
      if (BY_HAND.includes(breaker.state(world.now()))) breaker.steer('closed')
    }
    for (const permit of this.held.splice(0)) permit.cancel(world.now())
    for (let tick = 0; tick < 600 && this.missing().length > 0; tick++) {
      for (let i = 0; i < 3; i++) this.call('success', true)
      world.advance(100)
      if (tick % 8 === 0) this.look()
    }
    const missing = this.missing()
    if (missing.length > 0) throw new Error(`never came back: ${missing.map((m) => m.endpoint.id).join(', ')}`)
  }

  /** Nothing is left behind. */
  end(): void {
    this.checks?.close()
    this.world.advance(TIMEOUT_MS * 3)
    if (this.world.timers !== 0) throw new Error(`${this.world.timers} timers are left`)
  }

  private missing(): Member[] {
    return this.cluster.members.filter((m) => m.breaker.state(this.world.now()) !== 'closed')
  }

  private step(): void {
    const { cluster, world } = this
    const dice = this.random()
    if (dice < 0.3) this.call(this.one(VERDICTS), this.random() < 0.7)
    else if (dice < 0.55) world.advance(this.random() * this.one([50, 500, 5000]))
    else if (dice < 0.65) this.moods.set(this.one(IDS), this.one(MOODS))
    else if (dice < 0.72) this.held.splice(0, 1)[0]?.settle(this.one(VERDICTS), 5, world.now())
    else if (dice < 0.84) this.fault()
    else if (dice < 0.9) this.hand()
    else if (dice < 0.97) cluster.update(this.some())
    else if (this.checks !== undefined) {
      this.checks.close()
      this.attach()
    }
  }

  private fault(): void {
    const member = this.member()
    if (member === undefined) return
    if (this.random() < 0.6) this.cluster.connectFailed(member, this.one(['refused', 'timeout']), 'ECONNREFUSED')
    else this.cluster.isolate(member.endpoint.id, this.one([undefined, 0, 300, 3000]), 'somebody says so')
  }

  private hand(): void {
    this.member()?.breaker.steer(this.one(breakerStates))
  }

  private call(verdict: Verdict, atOnce: boolean): void {
    const { cluster, world } = this
    const now = world.now()
    const ask: Ask = { now, deadline: Number.POSITIVE_INFINITY, criticality: 'critical', cost: 1, key: '' }
    const placed = cluster.place(ask, () => false)
    if (!placed.ok || placed.panic) return
    const permit = placed.member.tryAcquire(ask)
    if (!permit.ok) return
    if (atOnce) permit.settle(verdict, 5, now)
    else this.held.push(permit)
  }

  private attach(): void {
    const probe = (endpoint: Endpoint, signal: AbortSignal) => this.probe(endpoint.id, signal)
    const options = { kind: probe, interval: INTERVAL_MS, timeout: TIMEOUT_MS, rise: this.one([1, 2]), fall: 2 }
    this.checks = checks(this.cluster, options, this.world)
  }

  private probe(id: string, signal: AbortSignal): unknown {
    const before = this.running.get(id)
    // Not thrown here, where it would only be a check that failed.
    if (before?.aborted === false) this.overlaps++
    const mood = this.moods.get(id) ?? 'pass'
    if (mood === 'pass' || mood === 'fail') return mood === 'pass'
    this.running.set(id, signal)
    // Some hear the signal and some do not; both have had their time.
    if (mood === 'hang') return { then() {} }
    return {
      then: (resolve: (well: boolean) => void) => {
        this.slow++
        this.world.after(this.random() * TIMEOUT_MS * 2, () => {
          this.slow--
          if (this.running.get(id) === signal) this.running.delete(id)
          resolve(this.random() < 0.5)
        })
      },
    }
  }

  private look(): void {
    const { cluster, world, checks } = this
    if (this.overlaps > 0) throw new Error('two checks of one endpoint at once')
    const { members } = cluster
    if (checks === undefined) {
      for (const { breaker, endpoint } of members) {
        const byHand = breaker.state(world.now()) === 'forcedOpen'
        if (breaker.out && !byHand && !Number.isFinite(breaker.until)) throw new Error(`${endpoint.id} is out for good`)
      }
      return
    }
    // One thing is pending for each member, a timer or a check with its deadline, and nothing for anybody else.
    const timers = world.timers - this.slow
    if (timers !== members.length) throw new Error(`${timers} timers for ${members.length} members`)
    const endpoints = checks.inspect().endpoints as { id: string; checking: boolean; nextInMs: number }[]
    for (const [i, { endpoint, breaker }] of members.entries()) {
      const checkup = endpoints.find((e) => e.id === endpoint.id)
      if (checkup === undefined) throw new Error(`nobody checks ${endpoint.id}, member ${i}`)
      const left = Number.isFinite(breaker.until) ? breaker.until - world.now() : 0
      const latest = Math.max(INTERVAL_MS * 1.1, breaker.out ? left : 0) + 1e-6
      if (!checkup.checking && checkup.nextInMs > latest) throw new Error(`${endpoint.id} is looked at too late`)
      if (!checkup.checking && breaker.out && checkup.nextInMs < left - 1e-6)
        throw new Error(`${endpoint.id} is looked at while it should sleep`)
    }
    if (endpoints.length !== members.length) throw new Error('a dropped one is still checked')
  }

  private member(): Member | undefined {
    return this.cluster.members[Math.floor(this.random() * this.cluster.members.length)]
  }

  private some(): Endpoint[] {
    return IDS.filter(() => this.random() < 0.7).map((id) => ({ id }))
  }

  private one<const T>(choices: readonly T[]): T {
    return choices[Math.floor(this.random() * choices.length)] as T
  }
}

/** So many lives, by seeds that are the same in every run. Throws at the first that breaks a promise, with its seed. */
export function lives(active: boolean, runs: number, steps: number): void {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const history = new History(seed, active)
      history.live(steps)
      history.heal()
      history.end()
    }),
    { seed: 20_240_607 + steps, numRuns: runs },
  )
}
