import type { Permit, Verdict } from 'floodwall'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'
import {
  Resilience4jBreaker,
  type Resilience4jOptions,
  type Resilience4jState,
} from '../../../src/compat/resilience4j/index.ts'
import { ask, VERDICTS } from '../../support/asks.ts'

// Random lives of the replica: calls that overlap and end late, hands that steer, clocks that step back. It never throws, a permit ends once,
// a half-open state lends no more than it may, and when all have gone the next call is admitted.

const INTERLEAVINGS = 10_000
const STATES = ['CLOSED', 'OPEN', 'HALF_OPEN', 'DISABLED', 'FORCED_OPEN', 'METRICS_ONLY'] as const
const DAY_MS = 86_400_000

class Walk {
  readonly gate: Resilience4jBreaker
  readonly world: VirtualRuntime
  private readonly random: () => number
  private readonly permitted: number
  private readonly size: number
  /** Late results give probes back that they never had: only without them is the number of probes a promise. */
  private readonly punctual: boolean
  private held: Permit[] = []
  /** Taken and not given back since it is half-open. */
  private probes = 0
  private now = 1000
  /** The largest number of probes that were taken or answered at once. */
  most = 0

  constructor(seed: number, punctual: boolean) {
    this.random = seeded(seed)
    this.punctual = punctual
    this.permitted = this.below(4) + 1
    this.size = this.below(8) + 2
    this.world = new VirtualRuntime({ seed, startAt: 1000 })
    this.gate = new Resilience4jBreaker(this.options(), this.world.env())
    this.gate.onEvent((event) => {
      if (event.type !== 'STATE_TRANSITION') return
      this.probes = 0
      // Of a call whose state has ended nobody reports: the permits are ended after the walk.
      if (this.punctual) this.late.push(...this.held.splice(0))
    })
  }

  private readonly late: Permit[] = []

  private options(): Resilience4jOptions {
    return {
      slidingWindowType: this.flip() ? 'COUNT_BASED' : 'TIME_BASED',
      slidingWindowSynchronizationStrategy: this.flip() ? 'SYNCHRONIZED' : 'LOCK_FREE',
      slidingWindowSize: this.size,
      minimumNumberOfCalls: this.below(4) + 1,
      failureRateThreshold: this.below(100) + 1,
      slowCallRateThreshold: this.below(100) + 1,
      slowCallDurationThreshold: 20,
      permittedNumberOfCallsInHalfOpenState: this.permitted,
      automaticTransitionFromOpenToHalfOpenEnabled: this.flip(),
      maxWaitDurationInHalfOpenState: this.flip() ? 0 : 200,
      transitionToStateAfterWaitDuration: this.flip() ? 'OPEN' : 'CLOSED',
      initialState: STATES[this.below(STATES.length)] as Resilience4jState,
      waitIntervalFunctionInOpenState: (attempt) => (attempt === 7 ? Number.NaN : attempt * 50),
      transitionOnResult: () => (this.below(50) === 0 ? { waitMs: 10 } : undefined),
    }
  }

  run(): void {
    for (let steps = this.below(30) + 5; steps > 0; steps--) this.step()
    for (const permit of [...this.held, ...this.late]) permit.settle('success', 1, this.now)
    this.check()
    this.gate.reset(this.now)
    if (!this.gate.idle(this.now)) throw new Error('all have ended, and it is not idle')
    this.gate.transitionTo('OPEN', this.now)
    if (!this.gate.tryAcquire(ask(this.now + DAY_MS)).ok) throw new Error('it refuses for ever')
  }

  private step(): void {
    const dice = this.below(20)
    if (dice < 9) this.acquire()
    else if (dice < 15) this.end()
    else if (dice < 16) this.steer()
    else this.now += dice < 19 ? this.below(60) : this.below(3) * 1000 - 500
    this.check()
  }

  private acquire(): void {
    const answer = this.gate.tryAcquire(ask(this.now))
    if (!answer.ok) {
      if (!(answer.retryAfterMs >= 0 && answer.retryAfterMs < Infinity) || answer.why === '')
        throw new Error(answer.why)
      return
    }
    this.held.push(answer)
    if (this.gate.state(this.now) === 'HALF_OPEN') this.probes++
    this.most = Math.max(this.most, this.probes)
    if (this.punctual && this.probes > this.permitted) throw new Error(`${this.probes} probes of ${this.permitted}`)
  }

  private end(): void {
    if (this.held.length === 0) return
    const [permit] = this.held.splice(this.below(this.held.length), 1) as [Permit]
    const verdict = VERDICTS[this.below(VERDICTS.length)] as Verdict
    const back = this.below(6) === 0
    if (back || verdict === 'ignored') this.probes--
    if (back) permit.cancel(this.now)
    else permit.settle(verdict, this.below(3) * 15, this.now)
    // A second end is none.
    permit.settle('failure', 1, this.now)
    permit.cancel(this.now)
  }

  private steer(): void {
    const to = STATES[this.below(STATES.length)] as Resilience4jState
    const before = this.gate.state(this.now)
    if (this.flip()) this.gate.reset(this.now)
    else
      try {
        this.gate.transitionTo(to, this.now)
      } catch (error) {
        if (!(error instanceof RangeError) || this.gate.state(this.now) !== before) throw error
      }
    // The same state anew is told to nobody.
    if (this.gate.state(this.now) === before) {
      this.probes = 0
      if (this.punctual) this.late.push(...this.held.splice(0))
    }
  }

  private check(): void {
    const m = this.gate.metrics(this.now)
    const most = this.gate.state(this.now) === 'HALF_OPEN' ? this.permitted : Infinity
    const sound =
      m.failedCalls <= m.bufferedCalls &&
      m.slowFailedCalls <= Math.min(m.slowCalls, m.failedCalls) &&
      m.slowCalls <= m.bufferedCalls &&
      m.bufferedCalls <= most &&
      [m.failureRate, m.slowCallRate].every((rate) => rate === -1 || (rate >= 0 && rate <= 100)) &&
      Object.values(m).every((number) => number >= -1)
    if (!sound) throw new Error(JSON.stringify(m))
  }

  private below(n: number): number {
    return Math.floor(this.random() * n)
  }

  private flip(): boolean {
    return this.random() < 0.5
  }
}

test.each([
  ['every call ends in its own state', true],
  ['calls end in whatever state they meet', false],
])(`${INTERLEAVINGS} interleavings, where %s`, (_, punctual) => {
  let most = 0
  for (let seed = 1; seed <= INTERLEAVINGS; seed++) {
    const walk = new Walk(seed, punctual)
    try {
      walk.run()
    } catch (cause) {
      throw new Error(`seed ${seed}`, { cause })
    }
    most = Math.max(most, walk.most)
  }
  // The bound was reached, or it would not have been tried.
  expect(most).toBeGreaterThanOrEqual(4)
})
