import { missing } from '../rates/rate.ts'
import type { KeyLimit } from './key-limit.ts'

// How much of its limit has each key taken, a million of them?
//
// The state of a GCRA (rates/gcra.ts) is one number: the time until which the key has paid. Here they lie side by side, in rows of 16 bytes with
// what else a decision writes or tells: whether it was used, whose turn it is. A row is in one line of memory, and among 10^5 keys each line is a good
// part of the price. Which of the limits is its own lies apart: where there is one, nobody has to wait for the row to know it. All times are told from
// one epoch, at which the table was made: after a year a double still has steps of 4 ns, a thousandth of what one of 10^5 a second is worth. There
// is one newest time for all; one before it counts as it.
//
// 10/s, burst 3, three at once: the key has paid until 300 ms, the most that it may; the next can go at 100 ms.
//
// Invariant: of each slot, as of a GCRA: at most burst + rate · t in any span t.

/** A row in doubles, and in whole numbers of 32 bits. */
const TIMES = 2
const MARKS = 4
/** Marks of a row: whether it was used; whose turn. */
const USED = 2
const TURN = 3

export class Debts {
  /** The newest time. */
  now: number
  limits: readonly KeyLimit[]
  private readonly epoch: number
  /** Before this a unit was worth something else. */
  private pricedAt = Number.NEGATIVE_INFINITY
  /** Rows of a time and two marks, which lie in the same bytes. */
  private times: Float64Array = new Float64Array(0)
  private marks: Int32Array = new Int32Array(0)
  /** Which of the limits, by slot. */
  private which: Uint16Array = new Uint16Array(0)
  /** Slots that are assigned, by limit. */
  private assigned: number[]
  /** The most that a key may owe, in bursts. */
  private readonly bursts: number

  /** `corrected`: a cost may turn out to be higher than was taken, and up to a burst more is owed then. */
  constructor(limits: readonly KeyLimit[], now: number, corrected = false) {
    this.limits = limits
    this.epoch = now
    this.now = now
    this.bursts = corrected ? 2 : 1
    this.assigned = limits.map(() => 0)
  }

  /** Others at the same time: one slot for each limit. */
  beside(limits: readonly KeyLimit[] = this.limits): Debts {
    const others = new Debts(limits, this.epoch, this.bursts > 1)
    others.now = this.now
    others.resize(limits.length - 1)
    for (const row of limits.keys()) others.assign(row, row, 0)
    return others
  }

  /** How far ahead of the clock a key with `limit` can ever be. */
  mostMs({ aheadMs }: KeyLimit): number {
    return aheadMs * this.bursts
  }

  /** Room for slots up to `last`. */
  resize(last: number): void {
    this.put(grown(this.times, new Float64Array(TIMES * (last + 1))))
    this.which = grown(this.which, new Uint16Array(last + 1))
  }

  private put(times: Float64Array): void {
    this.times = times
    this.marks = new Int32Array(times.buffer)
  }

  move(now: number): void {
    if (now > this.now) this.now = now
  }

  limitOf(slot: number): KeyLimit {
    return this.limits[this.whichOf(slot)] as KeyLimit
  }

  /** Which of the limits is its own. */
  whichOf(slot: number): number {
    return this.limits.length === 1 ? 0 : this.which[slot]!
  }

  private setWhich(slot: number, which: number): void {
    this.which[slot] = which
    this.unuse(slot)
  }

  isUsed(slot: number): boolean {
    return this.marks[MARKS * slot + USED] !== 0
  }

  /** It was used since the last look. Said without a look whether it is known: that would have to wait for the row. */
  use(slot: number): void {
    this.marks[MARKS * slot + USED] = 1
  }

  unuse(slot: number): void {
    this.marks[MARKS * slot + USED] = 0
  }

  /** Whose it is, in changes of hands. */
  turnOf(slot: number): number {
    return this.marks[MARKS * slot + TURN]!
  }

  setTurn(slot: number, turn: number): void {
    this.marks[MARKS * slot + TURN] = turn
  }

  /** The slot has a new key, which takes over `leadMs` of what the one before it owed. */
  assign(slot: number, which: number, leadMs: number): void {
    this.setWhich(slot, which)
    this.set(slot, this.limits[which] as KeyLimit, leadMs)
    this.assigned[which]!++
  }

  /** The slot has no key any more. */
  vacate(slot: number): void {
    this.assigned[this.whichOf(slot)]!--
  }

  /** What all assigned slots together may take, in units per second. */
  get perSecond(): number {
    return this.limits.reduce((sum, { perSecond }, which) => sum + perSecond * this.assigned[which]!, 0)
  }

  private clockOf(limit: KeyLimit): number {
    return limit.frozen ? 0 : this.now - this.epoch
  }

  /** Milliseconds that it is ahead of the clock; 0: it owes nothing. Of a limit whose clock stands still: what was taken. */
  leadMs(slot: number, limit: KeyLimit = this.limitOf(slot)): number {
    const leadMs = this.times[TIMES * slot]! - this.clockOf(limit)
    return leadMs > 0 ? leadMs : 0
  }

  /** Takes `cost`: 0 when it was taken; else nothing was, and it is the milliseconds until it could be; Infinity: never. As `Rate.take`. */
  take(slot: number, limit: KeyLimit, cost: number, aheadMs: number): number {
    const clock = this.clockOf(limit)
    const owed = this.times[TIMES * slot]!
    const paidAt = owed < clock ? clock : owed
    const price = cost * limit.unitMs
    const waitMs = paidAt + price - clock - aheadMs
    if (waitMs <= limit.grainMs) {
      this.times[TIMES * slot] = paidAt + price
      return 0
    }
    return price > aheadMs || limit.frozen ? Number.POSITIVE_INFINITY : waitMs
  }

  /** Gives back what was taken at `takenAt` and not used, as `Rate.give`. */
  give(slot: number, cost: number, takenAt: number): void {
    if (takenAt < this.pricedAt) return
    const limit = this.limitOf(slot)
    const sinceMs = limit.frozen ? 0 : this.now - takenAt
    this.set(slot, limit, this.leadMs(slot, limit) - missing(cost * limit.unitMs, sinceMs, 1))
  }

  /** What was taken as `estimate` has cost `actual`; what is owed on top of a burst is a burst at most. */
  correct(slot: number, estimate: number, actual: number): void {
    const limit = this.limitOf(slot)
    const leadMs = this.leadMs(slot, limit) + (actual - estimate) * limit.unitMs
    this.set(slot, limit, Math.min(leadMs, this.mostMs(limit)))
  }

  private set(slot: number, limit: KeyLimit, leadMs: number): void {
    this.times[TIMES * slot] = this.clockOf(limit) + Math.max(0, leadMs)
  }

  /** Units that could be taken at once, by who may be `aheadMs` ahead; below 0 while a debt is paid off. */
  left(slot: number, aheadMs: number = this.limitOf(slot).aheadMs): number {
    const limit = this.limitOf(slot)
    return (aheadMs - this.leadMs(slot, limit)) / limit.unitMs
  }

  /** Other limits from now on: what was taken stays taken, in units; `which` tells the new limit of a slot, `slots` are those in use. */
  reprice(limits: readonly KeyLimit[], slots: Iterable<number>, which: (slot: number) => number): void {
    const before = this.limits
    this.limits = limits
    this.assigned = limits.map(() => 0)
    for (const slot of slots) {
      const old = before[this.which[slot]!] as KeyLimit
      const taken = this.leadMs(slot, old) / old.unitMs
      const own = which(slot)
      const limit = limits[own] as KeyLimit
      if (limit.unitMs !== old.unitMs) this.pricedAt = this.now
      this.setWhich(slot, own)
      this.assigned[own]!++
      this.set(slot, limit, Math.min(taken * limit.unitMs, this.mostMs(limit)))
    }
  }

  /** Slots have other numbers now, and there is room up to `last`. */
  renumber(to: Int32Array, last: number): void {
    this.put(moved(this.times, new Float64Array(TIMES * (last + 1)), to, TIMES))
    this.which = moved(this.which, new Uint16Array(last + 1), to)
  }
}

type Column = Float64Array | Int32Array | Uint16Array

/** `into` with what `from` holds at its beginning. */
export function grown<T extends Column>(from: T, into: T): T {
  into.set(from)
  return into
}

/** `into` with the rows of `from`, each `width` long, where `to` says; one that goes to 0 is left out, and 0 stays. */
export function moved<T extends Column>(from: T, into: T, to: Int32Array, width = 1): T {
  for (let slot = 0; slot < to.length; slot++) {
    const row = to[slot]!
    if (row === 0 && slot > 0) continue
    for (let i = 0; i < width; i++) into[width * row + i] = from[width * slot + i] ?? 0
  }
  return into
}
