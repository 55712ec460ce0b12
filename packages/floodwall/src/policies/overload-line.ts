import { ClassLine, RankedPlace } from '../algorithms/queues/class-line.ts'
import { Expiries, type Expiring } from '../algorithms/queues/expiries.ts'
import type { Call } from '../core/call.ts'
import type { Env } from '../core/runtime.ts'
import type { Sink } from '../core/step.ts'

/** A call that waits. */
export class Waiter extends RankedPlace implements Expiring {
  readonly call: Call
  readonly sink: Sink
  readonly since: number
  /** Begins its work, in its own async context. */
  go: () => void = () => {}
  dueAt = 0
  spot = -1

  constructor(call: Call, sink: Sink, rank: number, ticket: number, since: number) {
    super(rank, ticket)
    this.call = call
    this.sink = sink
    this.since = since
  }

  /** In all, before it was seen and here. */
  waitedMs(now: number): number {
    return this.call.waitedMs + now - this.since
  }
}

/**
 * Who waits: by class, each with the time at which it is of no use any more. One timer for all of them, and none when nobody waits.
 */
export class OverloadLine {
  readonly places = new ClassLine<Waiter>()
  private readonly expiries = new Expiries<Waiter>()
  private readonly env: Env
  private readonly expire: (waiter: Waiter, now: number) => void
  private cancelTimer: (() => void) | null = null
  private ringsAt = Number.POSITIVE_INFINITY

  constructor(env: Env, expire: (waiter: Waiter, now: number) => void) {
    this.env = env
    this.expire = expire
  }

  get size(): number {
    return this.places.size
  }

  /** How long the oldest of the lowest class that waits has waited. */
  delayMs(now: number): number {
    return Math.max(0, this.places.last(true)?.waitedMs(now) ?? 0)
  }

  /** Who goes next: of the highest class that waits the oldest, or from the class `newestFrom` down the newest. */
  next(newestFrom: number): Waiter | undefined {
    const oldest = this.places.next(false)
    return oldest === undefined || oldest.rank < newestFrom ? oldest : this.places.next(true)
  }

  add(waiter: Waiter): void {
    this.places.push(waiter)
    this.expiries.add(waiter)
    this.arm()
  }

  /** One whose time was over, and who may stay all the same: where he stood. */
  back(waiter: Waiter): void {
    this.places.back(waiter, false)
    this.expiries.add(waiter)
    this.arm()
  }

  /** False when it was not in the line. */
  remove(waiter: Waiter): boolean {
    if (!this.places.remove(waiter)) return false
    this.expiries.remove(waiter)
    if (this.places.size === 0) this.disarm()
    return true
  }

  /** Everybody's time ends anew. */
  retime(dueAt: (waiter: Waiter) => number, now: number): void {
    const all: Waiter[] = []
    for (let waiter = this.expiries.take(Infinity); waiter !== undefined; waiter = this.expiries.take(Infinity))
      all.push(waiter)
    for (const waiter of all) {
      waiter.dueAt = dueAt(waiter)
      this.expiries.add(waiter)
    }
    this.sweep(now)
  }

  /** Sends away whose time is over. */
  sweep(now: number): void {
    // An answer may bring others here, and take others out.
    while (this.expiries.nextAt <= now) {
      const waiter = this.expiries.take(now)
      if (waiter === undefined) break
      this.places.remove(waiter)
      this.expire(waiter, now)
    }
    if (this.places.size === 0) this.disarm()
    else this.arm()
  }

  private arm(): void {
    const at = this.expiries.nextAt
    // One that rings too early looks, and sleeps again: cheaper than to set it anew for everybody who leaves.
    if (this.ringsAt <= at) return
    this.disarm()
    this.ringsAt = at
    this.cancelTimer = this.env.after(Math.max(0, at - this.env.precise()), this.ring)
  }

  private disarm(): void {
    this.cancelTimer?.()
    this.cancelTimer = null
    this.ringsAt = Number.POSITIVE_INFINITY
  }

  private readonly ring = (): void => {
    this.cancelTimer = null
    this.ringsAt = Number.POSITIVE_INFINITY
    const now = this.env.precise()
    // Node's timers may ring up to a millisecond early.
    this.sweep(Math.max(now, Math.min(this.expiries.nextAt, now + 1)))
  }
}
