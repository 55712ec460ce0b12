import { showMs } from '../../core/duration.ts'
import { type Refuser, Rejection } from '../../core/gate.ts'
import { GRAIN, type Pace } from '../rates/rate.ts'
import { Tokens } from '../rates/tokens.ts'
import { fade } from '../stats/fade.ts'
import { grown, moved } from './debts.ts'

// Who goes first, when limits add up to more than there is?
//
// Source: dynamic thresholds of shared buffers (Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches",
// 1998): each may use up to a share of what is free, so that the threshold falls by itself as far as it must. What is free are the tokens of the
// whole. While more than half of them are there, everybody passes, above his own limit too. Below, own limits hold, and a key passes only if it has
// taken less than the level in about the last second: what the whole gives in a second, times the cube of the share of that half that is left. (In
// proportion, a level for many would leave next to nothing for a burst of the others.) The more all take, the lower the level, until as much
// passes as there is: it comes to rest at the water level of max-min fairness, and who takes less than that is not touched.
//
// The whole 1200/s, burst 1200; a hundred keys take 10/s each, one wants 1000/s. It gets 200/s; the tokens come to rest where the level is 200: at
// 0.55 of the half, 330, which is what is there for a burst of the others.
//
// Invariant: all keys together take at most burst + rate · t of the whole in any span t.

/** Over about the last second: long enough for the calls of one user, short enough to forgive. */
const OVER_MS = 1000
/** All who have no seat of their own are one here. */
const OTHERS = 0
/** Share of the burst beyond which there is room for all. */
const ROOM = 0.5

export class Whole implements Refuser {
  readonly kind = 'keyedRateLimit'
  readonly path: string
  /** Calls above the limit of their key that passed; calls of keys above the level that did not. */
  above = 0
  levelled = 0
  readonly tokens: Tokens
  /** By slot: what was taken, faded, as of a time. It stays when the key changes, or many names would be a way around the level. */
  private taken = new Float64Array(0)
  private takenAt = new Float64Array(0)

  constructor(pace: Pace, burst: number, path: string, now: number) {
    this.path = `${path}/whole`
    this.tokens = new Tokens(pace, burst, now)
  }

  private resize(slot: number): void {
    const length = Math.max(16, 2 * this.taken.length, slot + 1)
    this.taken = grown(this.taken, new Float64Array(length))
    this.takenAt = grown(this.takenAt, new Float64Array(length))
  }

  renumber(to: Int32Array): void {
    this.taken = moved(this.taken, new Float64Array(to.length), to)
    this.takenAt = moved(this.takenAt, new Float64Array(to.length), to)
  }

  /** True when there is room for those above their own limit. */
  hasRoom(cost: number): boolean {
    return this.tokens.tokens - cost >= ROOM * this.tokens.most
  }

  /** Units that a key may have taken in the last second; Infinity while there is room. */
  private get level(): number {
    const { tokens, most, perMs } = this.tokens
    const share = tokens / (ROOM * most)
    return share >= 1 ? Number.POSITIVE_INFINITY : share * share * share * perMs * OVER_MS
  }

  /** Units that the key of `slot` has taken in about the last second. */
  private takenBy(slot: number, now: number): number {
    const taken = this.taken[slot]
    return taken === undefined ? 0 : taken * fade(Math.max(0, now - this.takenAt[slot]!) / OVER_MS)
  }

  /** Takes `cost` for the key of a slot; the whole has it. */
  take(of: number, cost: number, now: number): void {
    this.tokens.tokens -= cost
    this.note(of, cost, now)
  }

  /** Gives back what was taken and not used; `of` is undefined where the slot is not its key's any more. */
  give(of: number | undefined, cost: number, takenAt: number, now: number): void {
    this.tokens.give(cost, takenAt, now)
    if (of !== undefined) this.note(of, -cost, now)
  }

  /** What the key of a slot took as `estimate` has cost `actual`. */
  correct(of: number, estimate: number, actual: number, now: number): void {
    this.tokens.correct(estimate, actual, now)
    this.note(of, actual - estimate, now)
  }

  private note(of: number, units: number, now: number): void {
    const slot = Math.max(OTHERS, of)
    if (slot >= this.taken.length) this.resize(slot)
    this.taken[slot] = Math.max(0, this.takenBy(slot, now) + units)
    this.takenAt[slot] = Math.max(now, this.takenAt[slot]!)
  }

  /** Why the key of `slot` gets nothing of the whole now, whatever its own limit; undefined when it does. */
  objection(of: number, cost: number, now: number): Rejection | undefined {
    if (this.tokens.left(now) + GRAIN < cost) return this.refuse(cost)
    const { level } = this
    if (level === Number.POSITIVE_INFINITY) return undefined
    const taken = this.takenBy(Math.max(OTHERS, of), now)
    return taken < level ? undefined : this.refuseAbove(taken, level)
  }

  /** The whole has less than `cost`. */
  private refuse(cost: number): Rejection {
    const waitMs = this.tokens.waitFor(cost)
    const never = waitMs === Number.POSITIVE_INFINITY
    return new Rejection(this, 'rate', never ? 0 : waitMs, this.tokens.tokens, this.tokens.most, never)
  }

  /** Until what it has taken has faded to the present level; a level of nothing will rise, and tells nothing. */
  private refuseAbove(taken: number, level: number): Rejection {
    this.levelled++
    const waitMs = level > 0 ? OVER_MS * Math.log(taken / level) : 0
    return new Rejection(this, 'rate', waitMs, taken, level)
  }

  explain({ value, limit, never }: Rejection): string {
    const shown = (units: number) => Math.floor(units * 100) / 100
    if (never) return `it costs more than the ${limit} that all keys together can ever save up`
    if (value < limit) return `of all keys together ${shown(value)} of ${limit} are left`
    return `all keys together want too much: its own took ${shown(value)} in ${showMs(OVER_MS)}, and ${shown(limit)} is what each can have`
  }

  /** For inspect(); `sold` is what the keys that are seated may take, in units per second. */
  shown(sold: number, now: number): Record<string, number> {
    const { tokens, above, levelled } = this
    const perSecond = tokens.perMs * 1000
    return { tokens: tokens.left(now), burst: tokens.most, perSecond, oversold: sold / perSecond, above, levelled }
  }
}
