import * as v from 'valibot'
import { AlarmList } from '../core/alarms.ts'
import type { Moment } from '../core/aside.ts'
import type { Call } from '../core/call.ts'
import { dueAt, showMs } from '../core/duration.ts'
import { type Refuser, Rejection, type Snapshot } from '../core/gate.ts'
import { type Kind, kindOf, snapshotOf } from '../core/layer.ts'
import { refused } from '../core/outcome.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import type { Env } from '../core/runtime.ts'
import { positiveSpan, spanOrZero } from '../core/schema.ts'
import { Answer, type Sink, type Step, stepFrom } from '../core/step.ts'
import { Due } from './due.ts'
import { Early } from './early.ts'
import { Median } from './median.ts'

// How long may the whole operation take, queues, backoffs and all attempts included?
//
// Source: deadline propagation, "Site Reliability Engineering", ch. 22. A deadline only shrinks: who was called with 300 ms left has 300 ms,
// whatever `within` says. Work that cannot be done in the time that is left is refused before it starts.
//
// Within 400 ms, margin 20 ms: a caller with 2 s left gives 400 ms, one with 300 ms left gives 280 ms.

const spanOrMedian = v.union([v.literal('p50'), spanOrZero], 'a span such as 250 (ms), "250ms" or "1.5s", or "p50"')

const deadlineOptions = v.strictObject({
  /** The time of the whole operation. */
  within: positiveSpan,
  /** Kept back of what the caller has left: for the way back, or for a lesser answer. Default 0. */
  margin: v.optional(spanOrZero, 0),
  /** With no more than this left, do not even start; `'p50'`: what half of the answers of the last 30 s took. Default 0. */
  floor: v.optional(spanOrMedian, 0),
})

export type DeadlineOptions = v.InferInput<typeof deadlineOptions>
type DeadlineSettings = v.InferOutput<typeof deadlineOptions>

const deadlineSnapshot = v.strictObject({
  ...snapshotOf('deadline'),
  withinMs: v.number(),
  /** With no more than this left a call is refused, now. */
  floorMs: v.number(),
  expired: v.number(),
})

class Deadline implements Policy, Refuser {
  readonly kind = 'deadline'
  readonly path: string
  private readonly env: Env
  readonly spanMs: number
  private readonly marginMs: number
  private readonly floorMs: number
  /** Where the floor follows what is observed. */
  readonly median: Median | null
  readonly alarms: AlarmList
  /** Operations that took too long. */
  rung = 0
  private end: Moment = { at: 0 }

  constructor({ within, margin, floor }: DeadlineSettings, env: Env, median: Median | null) {
    this.path = env.path
    this.env = env
    this.spanMs = within
    this.marginMs = margin
    this.floorMs = floor === 'p50' ? 0 : floor
    this.median = floor === 'p50' ? (median ?? new Median()) : null
    this.alarms = new AlarmList(within, env)
  }

  run(call: Call, next: Next, done: Done): void {
    this.step(stepFrom(next))(call, new Answer(done))
  }

  step(inner: Step): Step {
    const { median, env } = this
    if (median === null) {
      return (call, sink) => {
        const now = env.now()
        // The common call, for which nobody further out has said anything.
        if (call.deadline === Number.POSITIVE_INFINITY) this.within(call, sink, inner, now)
        else this.bound(call, sink, inner, this.floorMs, now)
      }
    }
    return (call, sink) => {
      const now = env.now()
      this.bound(call, median.measure(env, sink), inner, median.at(now), now)
    }
  }

  private within(call: Call, sink: Sink, inner: Step, now: number): void {
    call.shrinkTo(this.endOf(now))
    inner(call, new Due(call, this, sink))
  }

  private bound(call: Call, sink: Sink, inner: Step, floorMs: number, now: number): void {
    const left = call.deadline - now - this.marginMs
    if (left <= floorMs) sink.settle(refused(new Rejection(this, 'deadline', 0, Math.max(0, left), floorMs, true)))
    else if (left > this.spanMs) this.within(call, sink, inner, now)
    // The caller's own deadline comes first, and its owner ends the call.
    else if (this.marginMs === 0) inner(call, sink)
    else {
      call.shrinkDeadline(dueAt(now, left))
      inner(call, new Early(call, left, this.env, sink))
    }
  }

  /** The clock stands still for a while, and calls that begin together end together: one box for all of them. */
  private endOf(now: number): Moment {
    const at = dueAt(now, this.spanMs)
    if (this.end.at !== at) this.end = { at }
    return this.end
  }

  explain({ value, limit }: Rejection): string {
    const left = `${showMs(value)} left before the deadline`
    return this.median === null ? left : `${left}, and half of the answers took ${showMs(limit)} or more`
  }

  inspect(now: number): Snapshot {
    const { kind, path, spanMs, floorMs, median, rung } = this
    return { kind, path, withinMs: spanMs, floorMs: median?.at(now) ?? floorMs, expired: rung }
  }
}

/** The whole operation is given `within`, or what its caller has left. */
export const deadline: Kind<DeadlineOptions, DeadlineSettings> = kindOf({
  kind: 'deadline',
  options: deadlineOptions,
  snapshot: deadlineSnapshot,
  build: (settings, env, previous) =>
    new Deadline(settings, env, previous instanceof Deadline ? previous.median : null),
})
