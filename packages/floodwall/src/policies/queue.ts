import * as v from 'valibot'
import { Place, WaitList } from '../algorithms/queues/wait-list.ts'
import { Alarm, AlarmList } from '../core/alarms.ts'
import type { Call } from '../core/call.ts'
import { showMs } from '../core/duration.ts'
import { type Gate, type Refuser, Rejection, type Snapshot } from '../core/gate.ts'
import { type Kind, kindOf, snapshotOf } from '../core/layer.ts'
import { type Outcome, refused } from '../core/outcome.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import type { Env } from '../core/runtime.ts'
import { count, oneOf, positiveSpan } from '../core/schema.ts'

// What if one may wait a little for a slot?
//
// A waiting room before the gates that follow it. Who waits holds nothing: when a slot comes free all gates are asked again, together, so
// no probe or token is taken for somebody who then waits on. Bounded by number and by time; a deadline or an abort leaves at once.

const queueOptions = v.strictObject({
  /** Places. Default 100. */
  size: v.optional(count, 100),
  /** The longest wait. Default 1 s. */
  atMost: v.optional(positiveSpan, '1s'),
  /** `fifo`: the longest waiting first. `lifo`: the newest first, whose caller is most likely still there. Default `fifo`. */
  order: v.optional(oneOf('fifo', 'lifo'), 'fifo'),
})

export type QueueOptions = v.InferInput<typeof queueOptions>
type QueueSettings = v.InferOutput<typeof queueOptions>

const queueSnapshot = v.strictObject({
  ...snapshotOf('queue'),
  waiting: v.number(),
  size: v.number(),
  admitted: v.number(),
  timedOut: v.number(),
})

/** A waiting call: a place in the line, and an alarm at the end of its patience. */
class Waiter extends Place {
  readonly call: Call
  readonly next: Next
  readonly done: Done
  readonly patience: Patience
  /** Where its patience runs: a reload may bring another span for those who come later. */
  readonly alarms: AlarmList
  readonly ticket: number
  /** Asks the gates again, in the waiter's own async context. */
  go: () => void = () => {}
  /** The gates said "not yet" once more. */
  refusedAgain = false
  trying = false
  answered = false
  /** Its patience ended while an asynchronous step between us and the gates had it. */
  impatient = false

  constructor(call: Call, next: Next, done: Done, room: Queue, alarms: AlarmList, ticket: number) {
    super()
    this.call = call
    this.next = next
    this.done = done
    this.alarms = alarms
    this.ticket = ticket
    this.patience = new Patience(this, room)
    alarms.add(this.patience)
  }
}

class Patience extends Alarm {
  private readonly waiter: Waiter
  private readonly room: Queue

  constructor(waiter: Waiter, room: Queue) {
    super()
    this.waiter = waiter
    this.room = room
  }

  override ring(): void {
    this.room.expire(this.waiter)
  }
}

class Queue implements Policy, Refuser {
  readonly kind = 'queue'
  readonly path: string
  private readonly env: Env
  private settings: QueueSettings
  private readonly line = new WaitList<Waiter>()
  private alarms: AlarmList
  /** The gates that waiters wait for, with the way to stop listening. */
  private readonly watched = new Map<Gate, () => void>()
  private draining = false
  private closed = false
  private tickets = 0
  private admitted = 0
  private timedOut = 0

  constructor(settings: QueueSettings, env: Env) {
    this.path = env.path
    this.env = env
    this.settings = settings
    this.alarms = new AlarmList(settings.atMost, env)
  }

  /** Other settings, same line: who waits keeps his place and the patience he came with. */
  reconfigure(settings: QueueSettings): void {
    if (settings.atMost !== this.settings.atMost) this.alarms = new AlarmList(settings.atMost, this.env)
    this.settings = settings
  }

  run(call: Call, next: Next, done: Done): void {
    // Who comes while others wait goes behind them, also when a slot happens to be free.
    if (this.line.size > 0) return this.enqueue(call, next, done, undefined)
    next(call, (outcome) => {
      const gate = waitedFor(outcome)
      if (gate === undefined) done(outcome)
      else this.enqueue(call, next, done, gate)
    })
  }

  private enqueue(call: Call, next: Next, done: Done, gate: Gate | undefined): void {
    const { size } = this.settings
    if (this.closed) return done(this.over())
    if (this.line.size >= size) return done(refused(new Rejection(this, 'queue-full', 0, this.line.size, size)))
    const waiter = new Waiter(call, next, done, this, this.alarms, this.tickets++)
    waiter.go = this.env.bind(() => next(call, (outcome) => this.answer(waiter, outcome)))
    this.line.push(waiter)
    if (gate !== undefined) this.watch(gate)
    this.listen(waiter)
  }

  /** From here an abort or a deadline takes the waiter out of the line. */
  private listen(waiter: Waiter): void {
    waiter.call.wait((cancelled) => {
      this.leave(waiter)
      waiter.done(cancelled)
    })
  }

  private leave(waiter: Waiter): void {
    this.line.remove(waiter)
    waiter.alarms.remove(waiter.patience)
    // Nobody waits: a gate that outlives us must not keep us.
    if (this.line.size === 0 && !this.draining) this.unwatch()
  }

  private watch(gate: Gate): void {
    if (!this.watched.has(gate)) this.watched.set(gate, gate.onFree?.(this.wake) ?? (() => {}))
  }

  private unwatch(): void {
    for (const stop of this.watched.values()) stop()
    this.watched.clear()
  }

  /** A loop, not a recursion: a waiter that ends at once frees the slot for the next while we are still here. */
  private readonly wake = (): void => {
    if (this.draining) return
    this.draining = true
    try {
      for (let waiter = this.pick(); waiter !== undefined; waiter = this.pick()) {
        if (!this.admit(waiter)) break
      }
    } finally {
      this.draining = false
    }
    if (this.line.size === 0) this.unwatch()
  }

  private pick(): Waiter | undefined {
    return this.settings.order === 'fifo' ? this.line.oldest : this.line.newest
  }

  private admit(waiter: Waiter): boolean {
    this.line.remove(waiter)
    if (!waiter.call.resume()) return true
    waiter.refusedAgain = false
    waiter.trying = true
    waiter.go()
    waiter.trying = false
    if (!waiter.refusedAgain) {
      if (waiter.answered || waiter.call.running) waiter.alarms.remove(waiter.patience)
      this.admitted++
      return true
    }
    this.rejoin(waiter)
    return false
  }

  private rejoin(waiter: Waiter): void {
    if (this.settings.order === 'fifo') this.line.unshift(waiter, (other) => other.ticket < waiter.ticket)
    else this.line.push(waiter)
    this.listen(waiter)
  }

  private answer(waiter: Waiter, outcome: Outcome<unknown>): void {
    const gate = this.closed ? undefined : waitedFor(outcome)
    if (gate === undefined || waiter.impatient) {
      waiter.answered = true
      waiter.alarms.remove(waiter.patience)
      return waiter.done(outcome)
    }
    this.watch(gate)
    if (waiter.trying) waiter.refusedAgain = true
    else {
      // A step between us and the gate (an `around`) took its time to say so.
      this.admitted--
      this.rejoin(waiter)
    }
  }

  /** @internal The waiter's patience is over. */
  expire(waiter: Waiter): void {
    if (!waiter.inLine) {
      waiter.impatient = true
      return
    }
    if (!waiter.call.resume()) return
    this.leave(waiter)
    this.timedOut++
    const { spanMs } = waiter.alarms
    waiter.done(refused(new Rejection(this, 'queue-timeout', 0, spanMs, spanMs)))
  }

  private over(): Outcome<never> {
    return refused(new Rejection(this, 'closed', 0, 0, 0, true))
  }

  close(): void {
    this.closed = true
    for (let waiter = this.line.oldest; waiter !== undefined; waiter = this.line.oldest) {
      this.leave(waiter)
      if (waiter.call.resume()) waiter.done(this.over())
    }
  }

  explain(rejection: Rejection): string {
    if (rejection.reason === 'queue-full') return `${rejection.value} wait already, in ${rejection.limit} places`
    if (rejection.reason === 'queue-timeout') return `waited ${showMs(rejection.value)} for a slot`
    return 'it was closed'
  }

  get waiting(): number {
    return this.line.size
  }

  inspect(): Snapshot {
    const { kind, path, waiting, admitted, timedOut } = this
    return { kind, path, waiting, size: this.settings.size, admitted, timedOut }
  }
}

/** The gate whose no is worth waiting for, if any. */
function waitedFor(outcome: Outcome<unknown>): Gate | undefined {
  const { rejection } = outcome
  if (rejection === undefined || rejection.never) return undefined
  const gate = rejection.gate as Partial<Gate>
  return gate.onFree === undefined ? undefined : (gate as Gate)
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
