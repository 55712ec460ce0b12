import { LONGEST_KEY } from '../keys/hash.ts'
import type { Pace } from './rate.ts'

// A line for each caller, if callers can be invented?
//
// Lines of callers who are here are never given away. One that nobody uses and that owes nothing can be forgotten: a new one would be the same. So a full
// table is no amnesty: who leaves and comes again finds what he has used up. Who finds no place shares a line with the others who found none.
//
// max 3, with a and b busy, c gone for a minute: d has the place of c. e comes, and has that of the others.
//
// Invariant: at most max lines and one; no caller has more than one, and none is made anew that owed anything.

/** How many are looked at when one comes: more than one, so that a table shrinks again after a crowd, and few, so that a crowd costs nothing. */
const LOOKS = 4

/** What a table is made of. */
export interface KeyLine {
  idle(now: number): boolean
  reconfigure(pace: Pace, burst: number): void
}

/** The place of one caller. */
export class KeySeat<L extends KeyLine> {
  readonly key: string | number | undefined
  readonly line: L
  users = 0

  constructor(key: string | number | undefined, line: L) {
    this.key = key
    this.line = line
  }
}

export class KeyLines<L extends KeyLine> {
  /** Callers that found no place of their own, ever. */
  shared = 0
  max: number
  private readonly make: () => L
  private readonly seats = new Map<string | number, KeySeat<L>>()
  /** Nobody uses them now; first who has not been looked at for longest. */
  private readonly resting = new Set<KeySeat<L>>()
  private others: KeySeat<L> | null = null

  constructor(max: number, make: () => L) {
    this.max = max
    this.make = make
  }

  get size(): number {
    return this.seats.size
  }

  /** The place of `key`, until {@link close}. What is no key is one of the others. */
  open(key: unknown, now: number): KeySeat<L> {
    const seat = this.find(key, now)
    seat.users++
    this.resting.delete(seat)
    return seat
  }

  private find(key: unknown, now: number): KeySeat<L> {
    if (!isKey(key)) return this.other()
    const known = this.seats.get(key)
    if (known !== undefined) return known
    this.forget(now)
    if (this.seats.size >= this.max) return this.other()
    const seat = new KeySeat(key, this.make())
    this.seats.set(key, seat)
    return seat
  }

  private other(): KeySeat<L> {
    this.shared++
    this.others ??= new KeySeat(undefined, this.make())
    return this.others
  }

  private forget(now: number): void {
    let looks = 0
    for (const seat of this.resting) {
      if (looks++ === LOOKS) return
      this.resting.delete(seat)
      // Who owes something is behind the others then, and hides nobody.
      if (seat.line.idle(now)) this.seats.delete(seat.key as string | number)
      else this.resting.add(seat)
    }
  }

  /** One use of it has ended. */
  close(seat: KeySeat<L>): void {
    if (--seat.users === 0 && seat !== this.others) this.resting.add(seat)
  }

  reconfigure(max: number, pace: Pace, burst: number): void {
    this.max = max
    for (const { line } of this.seats.values()) line.reconfigure(pace, burst)
    this.others?.line.reconfigure(pace, burst)
  }
}

function isKey(key: unknown): key is string | number {
  if (typeof key === 'string') return key !== '' && key.length <= LONGEST_KEY
  return typeof key === 'number' && !Number.isNaN(key)
}
