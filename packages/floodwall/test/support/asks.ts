import type { Ask, Gate, Permit, Rejection, Verdict } from 'floodwall'

/** Every way in which work can have ended. */
export const VERDICTS = ['success', 'failure', 'timeout', 'overload', 'ignored'] as const satisfies readonly Verdict[]

/** What a gate is asked at `now`, when nobody said more. */
export function ask(now: number, more: Partial<Ask> = {}): Ask {
  return { now, deadline: Number.POSITIVE_INFINITY, criticality: 'critical', cost: 1, key: '', ...more }
}

/** The permit; throws with the gate's own words when there is none. */
export function admitted(gate: Gate, now: number, more: Partial<Ask> = {}): Permit {
  const answer = gate.tryAcquire(ask(now, more))
  if (!answer.ok) throw new Error(`refused (${answer.reason}) where it must admit: ${answer.why}`)
  return answer
}

/** The refusal; throws when the gate admits. */
export function rejected(gate: Gate, now: number, more: Partial<Ask> = {}): Rejection {
  const answer = gate.tryAcquire(ask(now, more))
  if (answer.ok) throw new Error(`${gate.path} admitted where it must refuse`)
  return answer
}

/** Asks `times` times at `now`; the permits that came of it. */
export function offered(gate: Gate, times: number, now: number, more: Partial<Ask> = {}): Permit[] {
  const permits: Permit[] = []
  for (let i = 0; i < times; i++) {
    const answer = gate.tryAcquire(ask(now, more))
    if (answer.ok) permits.push(answer)
  }
  return permits
}
