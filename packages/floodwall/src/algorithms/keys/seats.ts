import { type Debts, grown, moved } from './debts.ts'
import type { KeyHash } from './hash.ts'
import type { KeyLimit } from './key-limit.ts'
import { type Key, KeyTable, NOBODY } from './key-table.ts'
import { Shares } from './shares.ts'
import { Tickets } from './tickets.ts'

// Who has a seat, when there are more keys than seats?
//
// Source: Space-Saving (Metwally, Agrawal and El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams", 2005): a newcomer takes the
// place of the smallest count and goes on from it. Found as by the clock of Corbató (1968), a few seats from where the last search ended: one
// that owes nothing, if possible one that was not used since the last look; else of those looked at the one that owes least, and the newcomer takes
// over its debt. Who owes more than the newcomer ever may stays, and so does a key with a call out whose cost is still to be corrected; where
// all of them stay, the newcomer shares one seat with all others of its limit. Those who may owe for longer have a part of the seats (shares.ts).
//
// 10/s, burst 10, two seats: a and b have taken 10 each, c comes and has 0 left, as a had. An attacker with three keys gets what two get.
//
// Invariant: eviction never makes the debt of a seat smaller, so that all keys of a limit take at most what `max + 1` of them may; nobody who comes
// owes more than his own limit lets him.

/** Slot 0 is shared by all who have no seat, with the limit of most keys; -n by those with the limit n. */
export const OTHERS = 0
/** As in gates/keyed.ts: enough to find one that owes little, at a price that is bounded. */
const LOOKS = 8
/** Seats that are passed by on the way: empty ones, and those of keys that stay. */
const STEPS = 64
/** Seats that there is room for at the beginning. */
const FIRST_SEATS = 16
/** Changes of hands are counted from 1 again after so many: a permit has 31 bits for it. */
const LAST_TURN = 0x7fffffff
/** A table with as few in so many seats is made anew: looks would meet empty seats. */
const SPARSE = 4

export class Seats {
  readonly debts: Debts
  readonly tickets: Tickets = new Tickets()
  /** Who keeps something by slot, and has to hear when slots have other numbers. */
  readonly followers: { renumber(to: Int32Array): void }[] = [this.tickets]
  max: number
  /** Keys that made room; newcomers that took over a debt; calls of keys without a seat. */
  evicted = 0
  inherited = 0
  shared = 0
  /** The debts of the shared seats, by limit. */
  private others: Debts
  private reloads = 0
  /** Which limit a key has. */
  private which: (key: Key) => number
  private readonly hash: KeyHash
  private readonly keeps: boolean
  private table: KeyTable
  private shares: Shares
  private room = 0
  /** Permits that are out and keep it. */
  private held = new Int32Array(0)
  /** Changes of hands so far. */
  private turn = 0
  private hand = 0

  /** `keeps`: permits keep their seats until they have ended. */
  constructor(debts: Debts, hash: KeyHash, max: number, which: (key: Key) => number, keeps: boolean) {
    this.debts = debts
    this.hash = hash
    this.max = max
    this.which = which
    this.keeps = keeps
    this.others = debts.beside()
    this.table = new KeyTable(hash)
    this.shares = this.sharesOf()
    this.makeRoom(FIRST_SEATS)
  }

  private sharesOf(): Shares {
    const { debts } = this
    return new Shares(debts.limits, this.max, (limit) => debts.mostMs(limit))
  }

  private makeRoom(last: number): void {
    this.room = last
    this.debts.resize(last)
    if (this.keeps) this.held = grown(this.held, new Int32Array(last + 1))
  }

  get size(): number {
    return this.table.size
  }

  /** Where the debt of a slot is written, in the row `Math.abs(slot)`. */
  bookOf(slot: number): Debts {
    if (slot > 0) return this.debts
    this.others.move(this.debts.now)
    return this.others
  }

  /** The slot of `key`, undefined when it has none yet; the shared one for what is nobody's key. */
  known(key: unknown): number | undefined {
    const slot = this.table.find(key)
    if (slot === NOBODY) return OTHERS
    return slot === 0 ? undefined : slot
  }

  /** The limit that `key` has, or would have. */
  limitFor(key: Key): KeyLimit {
    return this.debts.limits[this.which(key)] as KeyLimit
  }

  /** The slot of `key`, from now on if it had none; 0 and below: a shared one. */
  of(key: unknown): number {
    const slot = this.table.find(key)
    if (slot > 0) {
      this.debts.use(slot)
      return slot
    }
    const seat = slot === NOBODY ? OTHERS : this.admit(key as Key)
    if (seat <= OTHERS) this.shared++
    return seat
  }

  /** The table has just not found `key`. */
  private admit(key: Key): number {
    const which = this.which(key)
    const from = this.shares.fullFrom(which)
    if (from === 0 && this.table.size < this.max) return this.sit(key, which, 0)
    const leaver = this.search(this.debts.limits[which] as KeyLimit, from)
    if (leaver === 0) return -which
    const leadMs = this.debts.leadMs(leaver)
    if (leadMs > 0) this.inherited++
    this.evict(leaver)
    const { table } = this
    this.thin(which)
    // A table that was made anew has looked for others.
    if (this.table !== table) this.table.find(key)
    return this.sit(key, which, leadMs)
  }

  private sit(key: Key, which: number, leadMs: number): number {
    const slot = this.table.add(key)
    if (slot === 0) return -which
    if (slot > this.room) this.makeRoom(Math.max(slot, Math.min(2 * this.room, this.max)))
    // Who comes once has not been used since: a crowd of strangers does not drive out those who come again.
    this.debts.assign(slot, which, leadMs)
    this.shares.count(which, 1)
    this.debts.setTurn(slot, this.nextTurn())
    return slot
  }

  private nextTurn(): number {
    if (this.turn === LAST_TURN) {
      this.turn = 0
      for (const slot of this.taken()) this.debts.setTurn(slot, 0)
    }
    return ++this.turn
  }

  private evict(slot: number): void {
    this.table.remove(slot)
    this.shares.count(this.debts.whichOf(slot), -1)
    this.debts.vacate(slot)
    this.evicted++
  }

  /** A seat for somebody with `limit`, whose key has to go; of those from a level on. */
  private search(limit: KeyLimit, from: number): number {
    const { debts } = this
    // Where the clock stands still nothing is paid off, and nothing can be taken over.
    const mostMs = limit.frozen ? 0 : debts.mostMs(limit)
    let idle = 0
    let least = 0
    let leastMs = Number.POSITIVE_INFINITY
    for (let step = 0, look = 0; step < STEPS && look < LOOKS; step++) {
      const slot = this.next()
      if (!this.mayGo(slot, from)) continue
      const his = debts.limitOf(slot)
      const leadMs = debts.leadMs(slot, his)
      if (leadMs > 0 && (his.frozen || leadMs > mostMs)) continue
      look++
      if (leadMs === 0) {
        if (!debts.isUsed(slot)) return slot
        if (idle === 0) idle = slot
      } else if (leadMs < leastMs) {
        least = slot
        leastMs = leadMs
      }
      debts.unuse(slot)
    }
    return idle === 0 ? least : idle
  }

  private mayGo(slot: number, from: number): boolean {
    if (this.table.keyOf(slot) === undefined || this.isHeld(slot)) return false
    return from === 0 || this.shares.levelOf(this.debts.whichOf(slot)) >= from
  }

  private next(): number {
    this.hand = this.hand >= this.table.high ? 1 : this.hand + 1
    return this.hand
  }

  private isHeld(slot: number): boolean {
    return this.keeps && this.held[slot]! > 0
  }

  /** More seats than there should be, since a reload: who owes nothing goes when he is met. */
  private thin(which: number): void {
    for (let look = 0; look < LOOKS; look++) {
      const from = this.shares.fullFrom(which)
      if (from === 0 && this.table.size < this.max) break
      const slot = this.next()
      if (this.mayGo(slot, from) && this.debts.leadMs(slot) === 0) this.evict(slot)
    }
    if (this.table.size * SPARSE < this.table.high && this.table.high > FIRST_SEATS * SPARSE) this.renumber()
  }

  /** What a permit needs to know whether its seat has changed hands when it ends. The seat is not asked: that would have to wait for its row. */
  turnAt(slot: number): number {
    return slot > 0 ? this.turn : this.reloads
  }

  /** Whether the seat is still that of the key that it was at `turn`. Turns above the present one are from before they were counted anew. */
  isSame(slot: number, turn: number): boolean {
    return slot > 0 ? this.debts.turnOf(slot) <= turn && turn <= this.turn : turn === this.reloads
  }

  hold(slot: number): void {
    if (slot > 0) this.held[slot]!++
  }

  release(slot: number): void {
    if (slot > 0) this.held[slot]!--
  }

  /** Slots that belong to a key. */
  private *taken(): Generator<number> {
    for (let slot = 1; slot <= this.table.high; slot++) if (this.table.keyOf(slot) !== undefined) yield slot
  }

  /**
   * Other limits, same keys; `alike`: the names of those with a limit of their own are the same. Fewer seats: as many as owe nothing go at once, the
   * others when they are met.
   */
  reconfigure(limits: readonly KeyLimit[], max: number, which: (key: Key) => number, alike: boolean): void {
    const { table, debts } = this
    this.which = which
    this.max = max
    this.shareAnew(limits, alike)
    debts.reprice(limits, this.taken(), (slot) => (alike ? debts.whichOf(slot) : which(table.keyOf(slot) as Key)))
    this.shares = this.sharesOf()
    for (const slot of this.taken()) this.shares.count(debts.whichOf(slot), 1)
    for (let slot = table.high; slot > 0 && table.size > max; slot--)
      if (this.mayGo(slot, 0) && debts.leadMs(slot) === 0) this.evict(slot)
    if (table.size * 2 < table.high) this.renumber()
  }

  /** The shared seat of most keys keeps what was taken, and so do the others where they are for the same keys. */
  private shareAnew(limits: readonly KeyLimit[], alike: boolean): void {
    const { others } = this
    others.move(this.debts.now)
    others.reprice(limits, alike ? limits.keys() : [OTHERS], (row) => row)
    if (alike) return
    this.reloads++
    this.tickets.unshare()
    this.others = this.debts.beside(limits)
    this.others.assign(OTHERS, OTHERS, others.leadMs(OTHERS))
  }

  /** The same keys in as many seats as they need. */
  private renumber(): void {
    const { table } = this
    const to = new Int32Array(table.high + 1)
    this.table = new KeyTable(this.hash)
    for (let slot = 1; slot <= table.high; slot++) {
      const key = table.keyOf(slot)
      if (key === undefined) continue
      this.table.find(key)
      to[slot] = this.table.put(key)
    }
    this.room = Math.max(FIRST_SEATS, this.table.high)
    this.debts.renumber(to, this.room)
    if (this.keeps) this.held = moved(this.held, new Int32Array(this.room + 1), to)
    this.hand = 0
    for (const follower of this.followers) follower.renumber(to)
  }

  /** Nothing is owed, nothing is out. */
  idle(): boolean {
    const { debts, others } = this
    others.move(debts.now)
    for (const row of others.limits.keys()) if (others.leadMs(row) > 0) return false
    for (const slot of this.taken()) if (this.isHeld(slot) || debts.leadMs(slot) > 0) return false
    return true
  }
}
