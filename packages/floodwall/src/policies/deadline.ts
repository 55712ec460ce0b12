import * as v from 'valibot'
import { AlarmList } from '../core/alarms.ts'
import type { Call } from '../core/call.ts'
import { showMs } from '../core/duration.ts'
import { type Refuser, Rejection, type Snapshot } from '../core/gate.ts'
import { type Kind, kindOf, snapshotOf } from '../core/layer.ts'
import { refused } from '../core/outcome.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import type { Env } from '../core/runtime.ts'
import { positiveSpan, spanOrZero } from '../core/schema.ts'
import { Answer, type Step, stepFrom } from '../core/step.ts'
import { Due } from './due.ts'

// How long may the whole operation take, queues, backoffs and all attempts included?
//
// Source: deadline propagation, "Site Reliability Engineering", ch. 22. A deadline only shrinks: who was called with 300 ms left has 300 ms,
// whatever `within` says. Work that cannot be done in the time that is left is refused before it starts.

const deadlineOptions = v.strictObject({
  /** The time of the whole operation. */
  within: positiveSpan,
  /** With less than this left, do not even start. Default 0: start while any time is left. */
  floor: v.optional(spanOrZero, 0),
})

export type DeadlineOptions = v.InferInput<typeof deadlineOptions>
type DeadlineSettings = v.InferOutput<typeof deadlineOptions>

const deadlineSnapshot = v.strictObject({ ...snapshotOf('deadline'), withinMs: v.number(), expired: v.number() })

class Deadline implements Policy, Refuser {
  readonly kind = 'deadline'
  readonly path: string
  private readonly env: Env
  readonly spanMs: number
  private readonly floorMs: number
  readonly alarms: AlarmList
  /** Operations that took too long. */
  rung = 0

  constructor(settings: DeadlineSettings, env: Env) {
    this.path = env.path
    this.env = env
    this.spanMs = settings.within
    this.floorMs = settings.floor
    this.alarms = new AlarmList(settings.within, env)
  }

  run(call: Call, next: Next, done: Done): void {
    this.step(stepFrom(next))(call, new Answer(done))
  }

  step(inner: Step): Step {
    return (call, sink) => {
      const now = this.env.now()
      const left = call.deadline - now
      if (left <= this.floorMs) sink.settle(refused(this.tooLate(left)))
      // The caller's own deadline comes first, and its owner ends the call.
      else if (left <= this.spanMs) inner(call, sink)
      else {
        call.shrinkDeadline(now + this.spanMs)
        inner(call, new Due(call, this, sink))
      }
    }
  }

  private tooLate(left: number): Rejection {
    return new Rejection(this, 'deadline', 0, Math.max(0, left), this.floorMs, true)
  }

  explain(rejection: Rejection): string {
    return `${showMs(rejection.value)} left before the deadline`
  }

  inspect(): Snapshot {
    const { kind, path, spanMs, rung } = this
    return { kind, path, withinMs: spanMs, expired: rung }
  }
}

/** The whole operation is given `within`, or what its caller has left. */
export const deadline: Kind<DeadlineOptions, DeadlineSettings> = kindOf({
  kind: 'deadline',
  options: deadlineOptions,
  snapshot: deadlineSnapshot,
  build: (settings, env) => new Deadline(settings, env),
})
