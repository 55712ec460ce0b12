import * as v from 'valibot'
import { AlarmList } from '../core/alarms.ts'
import type { Call } from '../core/call.ts'
import type { Snapshot } from '../core/gate.ts'
import { type Kind, kindOf, snapshotOf } from '../core/layer.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import type { Env } from '../core/runtime.ts'
import { positiveSpan } from '../core/schema.ts'
import { Answer, type Step, stepFrom } from '../core/step.ts'
import { Due } from './due.ts'

// How long may one attempt take?
//
// The caller is freed when the time is over, the signal fires, and breakers further out hear `timeout` at once. The work may go on: its
// slots stay taken until it has really ended. All calls of a timeout wait in one list with one timer.

const timeoutOptions = v.strictObject({
  /** The time of each attempt. */
  after: positiveSpan,
})

export type TimeoutOptions = v.InferInput<typeof timeoutOptions>
type TimeoutSettings = v.InferOutput<typeof timeoutOptions>

const timeoutSnapshot = v.strictObject({ ...snapshotOf('timeout'), afterMs: v.number(), timeouts: v.number() })

class Timeout implements Policy {
  readonly kind = 'timeout'
  readonly path: string
  readonly alarms: AlarmList
  /** Attempts that took too long. */
  rung = 0

  constructor(settings: TimeoutSettings, env: Env) {
    this.path = env.path
    this.alarms = new AlarmList(settings.after, env)
  }

  run(call: Call, next: Next, done: Done): void {
    this.step(stepFrom(next))(call, new Answer(done))
  }

  step(inner: Step): Step {
    return (call, sink) => inner(call, new Due(call, this, sink))
  }

  inspect(): Snapshot {
    const { kind, path, alarms, rung } = this
    return { kind, path, afterMs: alarms.spanMs, timeouts: rung }
  }
}

/** Each attempt is given `after`; put it inside a retry. */
export const timeout: Kind<TimeoutOptions, TimeoutSettings> = kindOf({
  kind: 'timeout',
  options: timeoutOptions,
  snapshot: timeoutSnapshot,
  build: (settings, env) => new Timeout(settings, env),
})
