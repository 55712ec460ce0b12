import { Pacer } from '../algorithms/rates/pacer.ts'
import { costOf } from '../algorithms/rates/rate.ts'
import type { Call } from '../core/call.ts'
import { showMs } from '../core/duration.ts'
import { type Refuser, Rejection, type Snapshot } from '../core/gate.ts'
import { type Kind, kindOf } from '../core/layer.ts'
import { type Outcome, refused } from '../core/outcome.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import type { Env } from '../core/runtime.ts'
import { Answer, type Sink, type Step, stepFrom } from '../core/step.ts'
import { PaceLine, PaceWaiter } from './pace-line.ts'
import { type PaceOptions, type PaceSettings, paceBurst, paceOptions, paceSnapshot } from './pace-options.ts'

// How does a crowd become a steady stream?
//
// A line before the rest, which lets one go each 1/rate. How long he would wait is known when he comes: if that is too long, for the options or
// for his deadline, he is told at once. Who leaves the line leaves his turn to those behind him.
//
// A timer rings late, and for 100,000 a second it would have to ring each 10 µs. So turns follow from each other and not from when the timer
// rang: all whose turn has come go then, and the stream has its rate whatever the timers do.
//
// Invariant: first come, first served; nobody waits longer than he was told; turns are at most burst + rate · t in any span t.

/** A timer and a division may be so much too early, and are on time all the same: 1 µs. */
const ON_TIME_MS = 0.001

class Pace implements Policy, Refuser {
  readonly kind = 'pace'
  readonly path: string
  private readonly env: Env
  private settings: PaceSettings
  private pacer: Pacer
  private readonly line = new PaceLine()
  private cancelTimer: (() => void) | null = null
  private draining = false
  private closed = false
  private passed = 0
  private paced = 0
  private refused = 0
  private tooLate = 0

  constructor(settings: PaceSettings, env: Env) {
    this.path = env.path
    this.env = env
    this.settings = settings
    this.pacer = new Pacer(settings, paceBurst(settings), env.now())
  }

  /** Another pace from now on: who waits keeps his place, and what he was promised may become later. */
  reconfigure(settings: PaceSettings): void {
    const now = this.env.precise()
    const { first } = this.line
    this.settings = settings
    this.pacer.reconfigure(settings, paceBurst(settings), now)
    if (first === null) return
    first.dueAt = now + this.pacer.delay(0, now)
    this.arm()
  }

  run(call: Call, next: Next, done: Done): void {
    this.step(stepFrom(next))(call, new Answer(done))
  }

  step(inner: Step): Step {
    return (call, sink) => {
      const cost = costOf(call.cost)
      // What costs nothing has nothing to wait for.
      if (cost === 0 || (this.line.size === 0 && this.pacer.take(cost, this.env.now()) === 0)) {
        this.passed++
        inner(call, sink)
      } else this.enqueue(call, cost, inner, sink)
    }
  }

  private enqueue(call: Call, cost: number, inner: Step, sink: Sink): void {
    const { line, env, settings } = this
    if (this.closed) return sink.settle(this.over())
    const now = env.precise()
    const waitMs = this.waitOf(cost, now)
    const fault = this.judge(waitMs, cost, call.deadline - now)
    if (fault !== undefined) return sink.settle(refused(fault))
    if (line.size >= settings.size) {
      this.refused++
      const retryAfterMs = Math.max(0, (line.first as PaceWaiter).dueAt - now)
      return sink.settle(refused(new Rejection(this, 'queue-full', retryAfterMs, line.size, settings.size)))
    }
    const waiter = new PaceWaiter(call, sink, cost, now)
    waiter.go = env.bind(() => inner(call, sink))
    line.push(waiter)
    call.wait((cancelled) => {
      this.leave(waiter)
      sink.settle(cancelled)
    })
    if (line.first !== waiter) return
    this.promise(waiter, now)
    this.arm()
  }

  /** How long who comes now would wait, in milliseconds; Infinity: for ever. */
  private waitOf(cost: number, now: number): number {
    const { first, behind } = this.line
    if (first === null) return this.pacer.delay(cost, now)
    return Math.max(0, first.dueAt - now) + (behind + cost) / this.perMs
  }

  private get perMs(): number {
    return this.settings.rate / this.settings.per
  }

  /** Why there is no use in waiting. */
  private judge(waitMs: number, cost: number, remainingMs: number): Rejection | undefined {
    const { atMost } = this.settings
    if (waitMs > atMost) {
      this.refused++
      // Also if nobody were before him.
      const never = waitMs === Number.POSITIVE_INFINITY || !((cost - this.pacer.most) / this.perMs <= atMost)
      return new Rejection(this, 'rate', never ? 0 : waitMs - atMost, never ? cost : waitMs, atMost, never)
    }
    if (waitMs <= remainingMs) return undefined
    this.tooLate++
    return new Rejection(this, 'deadline', 0, Math.max(0, remainingMs), waitMs)
  }

  /** The first knows his turn: it follows from the one before, as long as somebody waited. */
  private promise(waiter: PaceWaiter, at: number): void {
    waiter.dueAt = at + this.pacer.reserve(waiter.cost, at, Number.MAX_VALUE)
  }

  private leave(waiter: PaceWaiter): void {
    const isFirst = this.line.first === waiter
    this.line.remove(waiter)
    if (!isFirst) return
    const now = this.env.precise()
    this.pacer.give(waiter.cost, waiter.dueAt, now)
    const { first } = this.line
    if (first !== null) this.promise(first, now)
    this.arm()
  }

  private arm(): void {
    this.cancelTimer?.()
    this.cancelTimer = null
    const { first } = this.line
    if (first === null || this.draining) return
    this.cancelTimer = this.env.after(Math.max(0, first.dueAt - this.env.precise()), this.wake)
  }

  private readonly wake = (): void => {
    this.cancelTimer = null
    this.draining = true
    try {
      const now = this.env.precise() + ON_TIME_MS
      for (let { first } = this.line; first !== null && first.dueAt <= now; { first } = this.line) this.release(first)
    } finally {
      this.draining = false
    }
    this.arm()
  }

  private release(waiter: PaceWaiter): void {
    const { line } = this
    line.remove(waiter)
    // Before he goes: he may bring others here.
    if (line.first !== null) this.promise(line.first, Math.max(waiter.dueAt, line.first.since))
    if (!waiter.call.resume()) return
    this.paced++
    waiter.go()
  }

  private over(): Outcome<never> {
    return refused(new Rejection(this, 'closed', 0, 0, 0, true))
  }

  close(): void {
    this.closed = true
    for (let { first } = this.line; first !== null; { first } = this.line) {
      this.line.remove(first)
      if (first.call.resume()) first.sink.settle(this.over())
    }
    this.arm()
  }

  explain({ reason, value, limit, never }: Rejection): string {
    if (reason === 'queue-full') return `${value} wait already, in ${limit} places`
    if (reason === 'deadline') return `${showMs(value)} remain, and its turn would come in ${showMs(limit)}`
    if (reason === 'closed') return 'it was closed'
    const { rate, per } = this.settings
    if (never) return `costs ${value}, and at ${rate} per ${showMs(per)} that takes more than ${showMs(limit)}`
    return `its turn would come in ${showMs(value)}, and ${showMs(limit)} is the longest wait`
  }

  get waiting(): number {
    return this.line.size
  }

  inspect(now: number): Snapshot {
    const { kind, path, waiting, passed, paced, refused: no, tooLate, perMs } = this
    const waitMs = perMs === 0 ? 0 : this.waitOf(1, now)
    const { size } = this.settings
    return { kind, path, waiting, size, waitMs, perSecond: perMs * 1000, passed, paced, refused: no, tooLate }
  }
}

/** Lets calls go at a steady pace: who comes too early waits for his turn. */
export const pace: Kind<PaceOptions, PaceSettings> = kindOf({
  kind: 'pace',
  options: paceOptions,
  snapshot: paceSnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof Pace)) return new Pace(settings, env)
    previous.reconfigure(settings)
    return previous
  },
})
