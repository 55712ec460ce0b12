import { ClassLine, rankOf } from '../algorithms/queues/class-line.ts'
import { Discipline } from '../algorithms/queues/discipline.ts'
import { AlarmList } from '../core/alarms.ts'
import type { Call } from '../core/call.ts'
import { showMs } from '../core/duration.ts'
import { type Reason, type Refuser, Rejection, type Snapshot } from '../core/gate.ts'
import { type Kind, kindOf } from '../core/layer.ts'
import { type Outcome, refused } from '../core/outcome.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import type { Env } from '../core/runtime.ts'
import { type QueueOptions, type QueueSettings, queueOptions, queueSnapshot } from './queue-options.ts'
import { OwnTimes } from './queue-times.ts'
import { Patience, Waiter } from './queue-waiter.ts'
import { Watch, waitedFor } from './queue-watch.ts'

// What if one may wait a little for a slot?
//
// A waiting room before the gates that follow it. Who waits holds nothing: when a slot comes free all gates are asked again, together, so
// no probe or token is taken for somebody who then waits on. Bounded by number and by time; a deadline or an abort leaves at once.
//
// Invariant: nobody waits while the gates would let him in, unless they changed their mind without saying so and without a time to ask again.

/** Of the calls that need not wait, one in so many is measured: two precise clock readings are more than the rest of the way. */
const MEASURE_ONE_IN = 16

class Queue implements Policy, Refuser {
  readonly kind = 'queue'
  readonly path: string
  private readonly env: Env
  private settings: QueueSettings
  private readonly line = new ClassLine<Waiter>()
  private readonly discipline: Discipline
  private alarms: AlarmList
  private readonly own: OwnTimes
  private readonly watched: Watch
  private draining = false
  private closed = false
  private calls = 0
  private tickets = 0
  private admitted = 0
  private timedOut = 0
  private tooLate = 0
  private displaced = 0

  constructor(settings: QueueSettings, env: Env) {
    this.path = env.path
    this.env = env
    this.settings = settings
    this.alarms = new AlarmList(settings.atMost, env)
    this.own = new OwnTimes(env, this)
    this.watched = new Watch(env, () => this.wake())
    this.discipline = new Discipline(settings, env.now())
  }

  /** Other settings, same line: who waits keeps his place and the patience he came with. */
  reconfigure(settings: QueueSettings): void {
    if (settings.atMost !== this.settings.atMost) this.alarms = new AlarmList(settings.atMost, this.env)
    this.settings = settings
    this.discipline.settings = settings
  }

  run(call: Call, next: Next, done: Done): void {
    // Who comes while others wait goes behind them, also when a slot happens to be free.
    if (this.line.size > 0) return this.enqueue(call, next, done, null)
    const since = this.calls++ % MEASURE_ONE_IN === 0 ? this.env.precise() : -1
    const { tickets } = this
    next(call, (outcome) => {
      if (since >= 0) this.measure(outcome, since)
      const rejection = waitedFor(outcome)
      if (rejection === undefined) done(outcome)
      else this.enqueue(call, next, done, rejection)
    })
    if (tickets === this.tickets) this.discipline.backlog.passed()
  }

  private measure({ verdict }: Outcome<unknown>, since: number): void {
    if (verdict !== 'success') return
    const now = this.env.precise()
    this.discipline.service.record(now - since, now)
  }

  private enqueue(call: Call, next: Next, done: Done, rejection: Rejection | null): void {
    if (this.closed) return done(this.over())
    const { discipline, line } = this
    const now = this.env.precise()
    const rank = rankOf(call.criticality)
    const newestFirst = discipline.newestFirst(now)
    if (call.deadline !== Number.POSITIVE_INFINITY) {
      const needsMs = discipline.needsMs(line.before(rank, newestFirst), now)
      if (call.deadline - now < needsMs) return done(this.late(call.deadline - now, needsMs))
    }
    let leaves: Waiter | undefined
    if (line.size >= this.settings.size) {
      leaves = line.last(newestFirst)
      if (leaves === undefined || leaves.rank <= rank) return done(this.full())
      // He hears of it last: what he does then may bring others here.
      leaves.call.resume()
      this.takeOut(leaves)
      this.displaced++
    }
    const waiter = new Waiter(call, done, rank, this.tickets++, now)
    waiter.go = this.env.bind(() => next(call, (outcome) => this.answer(waiter, outcome)))
    this.limit(waiter, now)
    const first = line.waitingOf(rank) === 0
    discipline.backlog.came(line.size === 0, now)
    line.push(waiter)
    if (rejection !== null) this.watched.add(rejection)
    this.listen(waiter)
    leaves?.done(this.full())
    // Nobody of the class had asked the gates: there may be slots that they keep for this one.
    if (first && rejection === null) this.wake()
  }

  /** Until when the waiter waits. */
  private limit(waiter: Waiter, now: number): void {
    const patienceMs = this.discipline.patienceMs(now)
    const needsMs = this.discipline.needsMs(0, now)
    // The last moment to go, were the slot his own. Without a measured time the deadline itself takes him out.
    const latest = needsMs > 0 ? waiter.call.deadline - needsMs : Number.POSITIVE_INFINITY
    waiter.late = latest < now + patienceMs
    if (waiter.late || patienceMs < this.settings.atMost) {
      waiter.dueAt = waiter.late ? latest : now + patienceMs
      this.own.add(waiter)
    } else waiter.alarm = new Patience(waiter, this.alarms, this)
  }

  /** From here an abort or a deadline takes the waiter out of the line. */
  private listen(waiter: Waiter): void {
    waiter.call.wait((cancelled) => {
      this.takeOut(waiter)
      this.tidy()
      waiter.done(cancelled)
    })
  }

  private takeOut(waiter: Waiter): void {
    this.line.remove(waiter)
    this.disarm(waiter)
  }

  private disarm(waiter: Waiter): void {
    const { alarm } = waiter
    if (alarm === null) this.own.remove(waiter)
    else alarm.alarms.remove(alarm)
  }

  /** Nobody waits: a gate that outlives us must not keep us. */
  private tidy(): void {
    if (this.line.size > 0 || this.draining) return
    this.discipline.backlog.end()
    this.watched.stop()
  }

  /** A loop, not a recursion: a waiter that ends at once frees the slot for the next while we are still here. */
  private wake(): void {
    if (this.draining) return
    this.draining = true
    try {
      // A class that cannot go does not keep the ones below it from slots that are theirs.
      for (let waiter = this.pick(0); waiter !== undefined; ) {
        const went = this.admit(waiter)
        waiter = this.pick(went ? 0 : waiter.rank + 1)
      }
    } finally {
      this.draining = false
    }
    this.tidy()
  }

  private pick(fromRank: number): Waiter | undefined {
    if (this.line.size === 0) return undefined
    const now = this.env.precise()
    return this.line.next(this.discipline.newestFirst(now), fromRank)
  }

  /** False when the gates refused him again. */
  private admit(waiter: Waiter): boolean {
    const now = this.env.precise()
    const reason = this.judge(waiter, now)
    if (reason !== undefined) {
      this.send(waiter, reason, now)
      return true
    }
    this.line.remove(waiter)
    if (!waiter.call.resume()) return true
    waiter.refusedAgain = false
    waiter.trying = true
    waiter.wentAt = now
    waiter.go()
    waiter.trying = false
    if (!waiter.refusedAgain) {
      if (waiter.answered || waiter.call.running) this.disarm(waiter)
      this.admitted++
      this.discipline.backlog.went(now)
      return true
    }
    this.rejoin(waiter)
    return false
  }

  /** Why it is no use to let him go now. */
  private judge({ call, since }: Waiter, now: number): Reason | undefined {
    if (call.deadline - now < this.discipline.needsMs(0, now)) return 'deadline'
    return this.discipline.sheds(now - since, now) ? 'queue-timeout' : undefined
  }

  private rejoin(waiter: Waiter): void {
    const now = this.env.precise()
    this.line.back(waiter, this.discipline.newestFirst(now))
    this.listen(waiter)
  }

  private answer(waiter: Waiter, outcome: Outcome<unknown>): void {
    const rejection = this.closed ? undefined : waitedFor(outcome)
    if (rejection === undefined || waiter.impatient) {
      waiter.answered = true
      this.disarm(waiter)
      this.measure(outcome, waiter.wentAt)
      return waiter.done(outcome)
    }
    this.watched.add(rejection)
    if (waiter.trying) waiter.refusedAgain = true
    else {
      // A step between us and the gate (an `around`) took its time to say so.
      this.admitted--
      this.rejoin(waiter)
    }
  }

  /** @internal The waiter's time is over. */
  expire(waiter: Waiter): void {
    if (waiter.inLine) this.send(waiter, waiter.late ? 'deadline' : 'queue-timeout', this.env.precise())
    else waiter.impatient = true
  }

  /** Sends a waiter away. */
  private send(waiter: Waiter, reason: Reason, now: number): void {
    if (!waiter.call.resume()) return
    this.takeOut(waiter)
    this.tidy()
    if (reason === 'deadline') {
      waiter.done(this.late(waiter.call.deadline - now, this.discipline.needsMs(0, now)))
    } else {
      this.timedOut++
      const waitedMs = waiter.alarm?.alarms.spanMs ?? now - waiter.since
      waiter.done(refused(new Rejection(this, reason, 0, waitedMs, waitedMs)))
    }
  }

  private late(remainingMs: number, needsMs: number): Outcome<never> {
    this.tooLate++
    return refused(new Rejection(this, 'deadline', 0, Math.max(0, remainingMs), needsMs))
  }

  private full({ size } = this.settings): Outcome<never> {
    return refused(new Rejection(this, 'queue-full', 0, size, size))
  }

  private over(): Outcome<never> {
    return refused(new Rejection(this, 'closed', 0, 0, 0, true))
  }

  close(): void {
    this.closed = true
    for (let waiter = this.line.next(false); waiter !== undefined; waiter = this.line.next(false)) {
      this.takeOut(waiter)
      this.tidy()
      if (waiter.call.resume()) waiter.done(this.over())
    }
  }

  explain({ reason, value, limit }: Rejection): string {
    if (reason === 'queue-full') return `${value} wait already, in ${limit} places`
    if (reason === 'queue-timeout') return `waited ${showMs(value)} for a slot`
    if (reason === 'deadline') return `${showMs(value)} remain, and it would take ${showMs(limit)}`
    return 'it was closed'
  }

  get waiting(): number {
    return this.line.size
  }

  inspect(now: number): Snapshot {
    const { kind, path, waiting, admitted, timedOut, tooLate, displaced } = this
    const state = this.discipline.inspect(now)
    return { kind, path, waiting, size: this.settings.size, ...state, admitted, timedOut, tooLate, displaced }
  }
}

/** Lets calls wait for a slot of the gates that follow. */
export const queue: Kind<QueueOptions, QueueSettings> = kindOf({
  kind: 'queue',
  options: queueOptions,
  snapshot: queueSnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof Queue)) return new Queue(settings, env)
    previous.reconfigure(settings)
    return previous
  },
})
