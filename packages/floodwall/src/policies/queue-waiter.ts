import { RankedPlace } from '../algorithms/queues/class-line.ts'
import { type Expiring } from '../algorithms/queues/expiries.ts'
import { Alarm, type AlarmList } from '../core/alarms.ts'
import type { Call } from '../core/call.ts'
import type { Done } from '../core/policy.ts'

/** Hears that the time of a waiter is over. */
export interface Host {
  expire(waiter: Waiter): void
}

/** A waiting call: a place in the line, and a time at which it gives up. */
export class Waiter extends RankedPlace implements Expiring {
  readonly call: Call
  readonly done: Done
  /** When it came, on the precise clock. */
  readonly since: number
  /** When it gives up, where it has a time of its own; Infinity when it has the patience that all have. */
  dueAt = Number.POSITIVE_INFINITY
  spot = -1
  /** At its own time it is too late for its deadline; else it has waited as long as it may. */
  late = false
  /** The patience that all have. A reload may bring another span for those who come later. */
  alarm: Patience | null = null
  /** Asks the gates again, in the waiter's own async context. */
  go: () => void = () => {}
  /** When it was last let out. */
  wentAt = 0
  /** The gates said "not yet" once more. */
  refusedAgain = false
  trying = false
  answered = false
  /** Its patience ended while an asynchronous step between us and the gates had it. */
  impatient = false

  constructor(call: Call, done: Done, rank: number, ticket: number, since: number) {
    super(rank, ticket)
    this.call = call
    this.done = done
    this.since = since
  }
}

/** The end of a patience that all have alike. */
export class Patience extends Alarm {
  readonly alarms: AlarmList
  private readonly waiter: Waiter
  private readonly host: Host

  constructor(waiter: Waiter, alarms: AlarmList, host: Host) {
    super()
    this.waiter = waiter
    this.alarms = alarms
    this.host = host
    alarms.add(this)
  }

  override ring(): void {
    this.host.expire(this.waiter)
  }
}
