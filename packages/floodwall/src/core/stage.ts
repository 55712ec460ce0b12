import type { Call } from './call.ts'
import { type Duration, showMs, toMs } from './duration.ts'
import { ConfigError, rejectedError } from './errors.ts'
import { type Refuser, Rejection } from './gate.ts'
import { show } from './schema.ts'

// How long may this stage of the work take?
//
// A call goes through stages that each have a timeout of their own: a connection from the pool, connecting, writing, the first byte, the body.
// Each is given its own time or what is left of the whole, and is not begun when nothing is left: a query that is sent for a caller who has
// gone is the load that keeps an overloaded database where it is.
//
// Source: `shrinkDeadline`, which kratos' clients of caches ask before each write and each read.
//
// 300 ms left: a stage of 250 ms has 250, the next one, 120 ms later, has 180.

/**
 * Milliseconds that a stage may take: `stage`, or what is left of `call` where that is less. To be asked before the stage begins. Throws the
 * reason of a call that is over already, and a `RejectedError` with the code `deadline` when no more than `floor` (default 0) is left.
 */
export function shrinkDeadline(call: Call, stage: Duration, floor: Duration = 0): number {
  const [stageMs, floorMs] = [spanOf('stage', stage), spanOf('floor', floor)]
  if (call.cancelled) throw call.signal.reason
  const left = call.remainingMs
  if (left <= floorMs) throw rejectedError(new Rejection(refuserOf(call), 'deadline', 0, left, floorMs, true))
  return Math.min(stageMs, left)
}

function refuserOf(call: Call): Refuser {
  return {
    kind: 'stage',
    path: call.host.env.path,
    explain: ({ value }) => `${showMs(value)} left before the deadline, and the next stage was not begun`,
  }
}

function spanOf(name: string, span: Duration): number {
  const ms = toMs(span)
  if (Number.isNaN(ms)) {
    const expected = 'a span such as 250 (ms), "250ms" or "1.5s"'
    throw new ConfigError([{ path: `shrinkDeadline.${name}`, value: show(span), expected }])
  }
  return ms
}
