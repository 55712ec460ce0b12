import type { FloodEvent } from './event.ts'
import type { Reason, Refuser, Rejection } from './gate.ts'

/** At most one event per second, refuser and reason; the counts lose nothing. */
const EVENT_EVERY_MS = 1000

/** Refusers that are told apart: a keyed gate can have a million. The rest is counted together. */
const MOST_REFUSERS = 64

interface Tally {
  readonly path: string
  readonly reason: Reason
  count: number
  sinceEvent: number
  nextEventAt: number
}

/** Counts what was refused, and tells of it now and then. */
export class Refusals {
  private readonly byRefuser = new Map<Refuser | null, Map<Reason, Tally>>()
  private readonly shadow: boolean
  /** The one before: floods are monotonous. */
  private last: Tally | null = null
  private lastRefuser: Refuser | null = null

  /** `shadow`: nothing was refused, it would have been. */
  constructor(shadow = false) {
    this.shadow = shadow
  }

  /** Counts one; `emit` is undefined when nobody listens. */
  add(rejection: Rejection, now: number, emit: ((event: FloodEvent) => void) | undefined): void {
    const { last } = this
    const same = last !== null && this.lastRefuser === rejection.gate && last.reason === rejection.reason
    const tally = same ? last : this.tallyOf(rejection)
    this.last = tally
    this.lastRefuser = rejection.gate
    tally.count++
    tally.sinceEvent++
    if (emit === undefined || now < tally.nextEventAt) return
    const { path, reason, sinceEvent } = tally
    tally.nextEventAt = now + EVENT_EVERY_MS
    tally.sinceEvent = 0
    emit({ type: 'refused', at: now, path, reason, count: sinceEvent, why: rejection.why, shadow: this.shadow })
  }

  private tallyOf(rejection: Rejection): Tally {
    let { gate } = rejection as { gate: Refuser | null }
    let byReason = this.byRefuser.get(gate)
    if (byReason === undefined) {
      if (this.byRefuser.size >= MOST_REFUSERS) gate = null
      byReason = this.byRefuser.get(gate)
      if (byReason === undefined) this.byRefuser.set(gate, (byReason = new Map()))
    }
    let tally = byReason.get(rejection.reason)
    if (tally === undefined) {
      const path = gate === null ? 'others' : gate.path
      tally = { path, reason: rejection.reason, count: 0, sinceEvent: 0, nextEventAt: Number.NEGATIVE_INFINITY }
      byReason.set(rejection.reason, tally)
    }
    return tally
  }

  inspect(): { path: string; reason: Reason; count: number }[] {
    const rows = [...this.byRefuser.values()].flatMap((byReason) => [...byReason.values()])
    return rows.map(({ path, reason, count }) => ({ path, reason, count }))
  }
}
