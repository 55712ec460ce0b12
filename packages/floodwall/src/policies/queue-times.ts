import { Expiries } from '../algorithms/queues/expiries.ts'
import type { Env } from '../core/runtime.ts'
import type { Host, Waiter } from './queue-waiter.ts'

/**
 * The waiters who have a time of their own, and one timer for all of them. It is set when the turn is over: who comes and goes within a turn
 * costs no timer, and once the turn is over there is a timer if and only if somebody waits.
 */
export class OwnTimes {
  private readonly env: Env
  private readonly host: Host
  private readonly expiries = new Expiries<Waiter>()
  private cancelTimer: (() => void) | null = null
  private ringsAt = Number.POSITIVE_INFINITY
  private planned = false

  constructor(env: Env, host: Host) {
    this.env = env
    this.host = host
  }

  add(waiter: Waiter): void {
    this.expiries.add(waiter)
    if (waiter.dueAt < this.ringsAt) this.plan()
  }

  remove(waiter: Waiter): void {
    if (this.expiries.remove(waiter) && this.expiries.size === 0) this.plan()
  }

  private plan(): void {
    if (this.planned) return
    this.planned = true
    this.env.soon(this.endOfTurn)
  }

  private readonly endOfTurn = (): void => {
    this.planned = false
    const { nextAt } = this.expiries
    // One that rings early finds nobody, and sleeps on.
    if (nextAt >= this.ringsAt && nextAt !== Number.POSITIVE_INFINITY) return
    this.cancelTimer?.()
    this.sleep(nextAt, 0)
  }

  private sleep(until: number, leastMs: number): void {
    this.ringsAt = until
    const ms = Math.max(leastMs, until - this.env.precise())
    this.cancelTimer = until === Number.POSITIVE_INFINITY ? null : this.env.after(ms, this.sweep)
  }

  private readonly sweep = (): void => {
    this.cancelTimer = null
    this.ringsAt = Number.POSITIVE_INFINITY
    const now = this.env.precise()
    // Node's timers may come early: then at least 1 ms more.
    const leastMs = this.expiries.nextAt > now ? 1 : 0
    for (let due = this.expiries.take(now); due !== undefined; due = this.expiries.take(now)) this.host.expire(due)
    if (this.expiries.size > 0) this.sleep(this.expiries.nextAt, leastMs)
  }
}
