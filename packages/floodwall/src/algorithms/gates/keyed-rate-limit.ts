import { type Ask, type Gate, Permit, type Quota, Rejection, type Snapshot } from '../../core/gate.ts'
import { type Kind, kindOf } from '../../core/layer.ts'
import type { Verdict } from '../../core/outcome.ts'
import { type Env, envOf } from '../../core/runtime.ts'
import { parse } from '../../core/schema.ts'
import { systemRuntime } from '../../core/system.ts'
import { Debts } from '../keys/debts.ts'
import { KeyHash } from '../keys/hash.ts'
import { KeyLimit } from '../keys/key-limit.ts'
import { KeyOverrides } from '../keys/key-overrides.ts'
import type { Key } from '../keys/key-table.ts'
import { LearnedCost } from '../keys/learned-cost.ts'
import { OTHERS, Seats } from '../keys/seats.ts'
import { Whole } from '../keys/whole.ts'
import { quotaOf, windowOf } from '../rates/quota.ts'
import { costOf } from '../rates/rate.ts'
import type { KeyOf } from './keyed.ts'
import {
  type CostOf,
  type KeyedRateOptions,
  type KeyedRateSettings,
  keyedRateOptions,
  keyedRateSnapshot,
} from './keyed-rate-limit-settings.ts'
import { burstOf } from './rate-limit-settings.ts'

// How often, each of a million users?
//
// A GCRA for each key (keys/debts.ts), in a table that strangers cannot fill (keys/seats.ts): 41 bytes a key where a bucket each in a Map has some
// hundred. What is one decision here is put together there.
//
// Invariant: a key with a seat takes at most burst + rate · t in any span t, and all keys together at most max + 1 times that; with a whole,
// at most what the whole gives. A refusal takes nothing; what is cancelled goes back to who had it, and to nobody else.

export class KeyedRateLimit implements Gate {
  readonly kind = 'keyedRateLimit'
  readonly path: string
  readonly timed: boolean
  private readonly seats: Seats
  private readonly debts: Debts
  private readonly learned: LearnedCost | null
  private by: KeyOf | null = null
  private cost: CostOf | null = null
  private reserved = false
  /** Nothing but a limit for each key. */
  private plain = true
  /** The keys and patterns with a limit of their own. */
  private names: readonly string[]
  private whole: Whole | null = null

  constructor(options: KeyedRateOptions, env: Env = envOf(systemRuntime, 'keyedRateLimit')) {
    const settings = parse(keyedRateOptions, options, 'keyedRateLimit')
    const { random } = env
    this.path = env.path
    this.timed = settings.cost === 'learned'
    this.learned = this.timed ? new LearnedCost() : null
    const { limits, which, names } = limitsOf(settings)
    this.names = names
    this.debts = new Debts(limits, env.now(), this.timed)
    const hash = new KeyHash([random(), random(), random(), random()])
    this.seats = new Seats(this.debts, hash, settings.max, which, this.timed)
    this.set(settings, env.now())
  }

  private set({ by, cost, reserve, oversell }: KeyedRateSettings, now: number): void {
    this.by = by ?? null
    this.cost = typeof cost === 'function' ? cost : null
    this.reserved = reserve !== undefined
    if (oversell === undefined) this.whole = null
    else this.sell({ rate: oversell.rate as number, per: oversell.per, burst: oversell.burst }, now)
    this.plain = !this.timed && !this.reserved && this.cost === null && this.whole === null
  }

  private sell(
    pace: { readonly rate: number; readonly per: number; readonly burst: number | undefined },
    now: number,
  ): void {
    const burst = burstOf(pace)
    if (this.whole !== null) return this.whole.tokens.repace(pace, burst, now)
    this.whole = new Whole(pace, burst, this.path, now)
    this.seats.followers.splice(1, 1, this.whole)
  }

  tryAcquire(ask: Ask): Permit | Rejection {
    const { seats, debts } = this
    debts.move(ask.now)
    const slot = seats.of(this.by === null ? ask.key : this.keyOf(ask))
    if (!this.plain || slot <= OTHERS) return this.acquire(slot, ask)
    // The common way, in one piece: it is on the way of every call.
    const limit = debts.limitOf(slot)
    const cost = costOf(ask.cost)
    const waitMs = debts.take(slot, limit, cost, limit.aheadMs)
    if (waitMs === 0) return new Permit(this, seats.turnAt(slot), seats.tickets.tag(slot, cost, debts.now, false))
    return this.refuse(debts, slot, limit.aheadMs, waitMs)
  }

  private acquire(slot: number, ask: Ask): Permit | Rejection {
    const { seats, whole } = this
    const book = seats.bookOf(slot)
    const row = Math.abs(slot)
    const limit = book.limitOf(row)
    const aheadMs = this.aheadMs(limit, ask)
    const kind = this.learned === null ? 0 : this.learned.kindOf(ask.method)
    const most = aheadMs / limit.unitMs
    // What may have nothing has no price to be learned: not even a call of no time passes.
    if (most === 0 && this.timed) return this.refuse(book, row, aheadMs, Number.POSITIVE_INFINITY)
    const cost = this.priceOf(ask, kind, most)
    const objection = whole?.objection(slot, cost, ask.now)
    if (objection !== undefined) return objection
    const waitMs = book.take(row, limit, cost, aheadMs)
    if (waitMs > 0 && !this.passesAbove(waitMs, cost)) return this.refuse(book, row, aheadMs, waitMs)
    whole?.take(slot, cost, ask.now)
    return this.permit(slot, cost, waitMs > 0, kind)
  }

  private refuse(book: Debts, row: number, aheadMs: number, waitMs: number): Rejection {
    const never = waitMs === Number.POSITIVE_INFINITY
    const most = aheadMs / book.limitOf(row).unitMs
    return new Rejection(this, 'rate', never ? 0 : waitMs, book.left(row, aheadMs), most, never)
  }

  /**
   * Its `generation` is how often seats had changed hands, or for learned costs the kind of the call: the seat is kept then. Below 0 it was taken above
   * the limit of its key, and `-1 - generation` is that number.
   */
  private permit(slot: number, cost: number, above: boolean, kind: number): Permit {
    const { seats } = this
    if (this.timed) seats.hold(slot)
    const mark = this.timed ? kind : seats.turnAt(slot)
    return new Permit(this, above ? -1 - mark : mark, seats.tickets.tag(slot, cost, this.debts.now, this.timed))
  }

  /** A key above its limit, while there is room for all; one that may never have so much has not. */
  private passesAbove(waitMs: number, cost: number): boolean {
    const { whole } = this
    if (whole === null || waitMs === Number.POSITIVE_INFINITY || !whole.hasRoom(cost)) return false
    whole.above++
    return true
  }

  /** A `by` that throws names nobody: the call goes with the others, and what was acquired before us is not lost. */
  private keyOf(ask: Ask): unknown {
    if (this.by === null) return ask.key
    try {
      return this.by(ask)
    } catch {
      return undefined
    }
  }

  private aheadMs(limit: KeyLimit, ask: Ask): number {
    return this.reserved ? (limit.aheadOf[ask.criticality] ?? limit.aheadMs) : limit.aheadMs
  }

  private priceOf(ask: Ask, kind: number, most: number): number {
    if (this.cost === null) {
      const said = costOf(ask.cost)
      // What is above a burst could never pass, and nobody would learn that it has become cheaper.
      return this.learned === null ? said : Math.min(most, this.learned.estimate(kind, said))
    }
    try {
      return costOf(this.cost(ask))
    } catch {
      return costOf(undefined)
    }
  }

  settled(permit: Permit, verdict: Verdict, tookMs: number, now: number): void {
    const { tag, generation } = permit
    const { seats, learned } = this
    const { tickets } = seats
    if (learned === null) return tickets.close(tag)
    const slot = tickets.slotOf(tag)
    const estimate = tickets.costOf(tag)
    tickets.close(tag)
    seats.release(slot)
    // A latency that is none corrects nothing: the estimate stands.
    if (!(tookMs >= 0)) return
    this.debts.move(now)
    if (generation >= 0) seats.bookOf(slot).correct(Math.abs(slot), estimate, tookMs)
    this.whole?.correct(slot, estimate, tookMs, now)
    if (verdict !== 'ignored') learned.record(markOf(permit), tookMs, now)
  }

  /** Back to the key that it was taken for, if that still has its seat. */
  cancelled(permit: Permit, now: number): void {
    const { tag, generation } = permit
    const { seats } = this
    const { tickets } = seats
    const slot = tickets.slotOf(tag)
    const cost = tickets.costOf(tag)
    const takenAt = tickets.timeOf(tag)
    tickets.close(tag)
    if (this.timed) seats.release(slot)
    this.debts.move(now)
    const isHis = this.timed || seats.isSame(slot, markOf(permit))
    if (isHis && generation >= 0) seats.bookOf(slot).give(Math.abs(slot), cost, takenAt)
    this.whole?.give(isHis ? slot : undefined, cost, takenAt, now)
  }

  /** What its key has of its own limit; of one without a seat, what it would have. */
  quota(ask: Ask): Quota | undefined {
    if (this.timed) return undefined
    const { seats } = this
    this.debts.move(ask.now)
    const key = this.keyOf(ask)
    const slot = seats.known(key)
    const limit = slot === undefined ? seats.limitFor(key as Key) : seats.bookOf(slot).limitOf(slot)
    const leadMs = slot === undefined ? 0 : seats.bookOf(slot).leadMs(slot, limit)
    const aheadMs = this.aheadMs(limit, ask)
    const most = aheadMs / limit.unitMs
    const waitFor = (cost: number) => (limit.frozen ? Number.POSITIVE_INFINITY : cost * limit.unitMs + leadMs - aheadMs)
    return quotaOf(most, windowOf(limit.pace, most), (aheadMs - leadMs) / limit.unitMs, waitFor)
  }

  /** Other settings from `now` on: each key keeps what it has taken. */
  reconfigure(settings: KeyedRateSettings, now: number): void {
    this.debts.move(now)
    const { limits, which, names } = limitsOf(settings)
    const alike = names.length === this.names.length && names.every((name, i) => name === this.names[i])
    this.names = names
    this.seats.reconfigure(limits, settings.max, which, alike)
    this.set(settings, now)
  }

  explain({ value, limit, never }: Rejection): string {
    const left = Math.floor(value * 100) / 100
    const most = Math.floor(limit * 100) / 100
    return `${never ? 'it costs more than its key can ever have' : 'it costs more than its key has'}: ${left} of ${most} left`
  }

  idle(now: number): boolean {
    this.debts.move(now)
    return this.seats.idle() && (this.whole === null || this.whole.tokens.idle(now))
  }

  inspect(now: number): Snapshot {
    const { kind, path, seats, debts, whole } = this
    debts.move(now)
    const { max, evicted, inherited, shared } = seats
    const { burst, perSecond } = debts.limits[0] as KeyLimit
    const others = seats.bookOf(OTHERS).left(OTHERS)
    const all = whole === null ? null : whole.shown(debts.perSecond, now)
    return { kind, path, keys: seats.size, max, burst, perSecond, evicted, inherited, shared, others, whole: all }
  }
}

function markOf({ generation }: Permit): number {
  return generation < 0 ? -1 - generation : generation
}

/** The limits of `settings`, that of most keys first, and which of them a key has. */
function limitsOf({ rate, per, burst, overrides = {}, reserve }: KeyedRateSettings): {
  readonly limits: readonly KeyLimit[]
  readonly which: (key: Key) => number
  readonly names: readonly string[]
} {
  const names = Object.keys(overrides)
  const own = new KeyOverrides(names)
  const all = [{ rate, per, burst }, ...Object.values(overrides)]
  const isSingle = (which: number) => names[which - 1]?.includes('*') === false
  const limits = all.map((each, which) => new KeyLimit(each, burstOf(each), reserve, isSingle(which)))
  return { limits, which: (key) => own.find(key) + 1, names }
}

/** A limit for each key, of a million: `keyedRateLimit({ rate: 10, max: 1_000_000 })`. */
export const keyedRateLimit: Kind<KeyedRateOptions, KeyedRateSettings> = kindOf({
  kind: 'keyedRateLimit',
  options: keyedRateOptions,
  snapshot: keyedRateSnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof KeyedRateLimit) || previous.timed !== (settings.cost === 'learned'))
      return new KeyedRateLimit(settings, env)
    previous.reconfigure(settings, env.now())
    return previous
  },
})
