import type { Snapshot } from '../../core/gate.ts'
import type { Verdict } from '../../core/outcome.ts'
import type { Estimator } from './estimator.ts'
import { LoadCurve } from './load-curve.ts'

// How many calls at once does the work bear, before they only wait for each other inside?
//
// Source: Kleinrock's knee ("Power and Deterministic Rules of Thumb", 1979) found as TCP Vegas finds it (Brakmo, Peterson, 1995): with n
// inside that take `took` each, n / took are done a millisecond, and n * base / took of them are being worked on; the others wait. By Little's
// law that product is the number of workers, whatever their number is. The limit is this knee and some room for chance, more where service
// times vary (Pollaczek and Khinchine). The baseline comes from calls that began with at most half of the limit inside (`load-curve.ts`).
//
// 4 workers of 20 ms, limit 8: calls take 40 ms, and 8 * 20 / 40 = 4 are worked on. The limit becomes 5 or 6.
//
// It begins with 4 and one more for each success while the limit holds somebody back, until calls take half as long again (slow start). It
// never lowers the limit to look what would happen. How far the baseline may follow the work is said in `load-curve.ts`.
//
// Calls that were dropped lower it where the others are slow as well, or where a quarter is dropped. A few among calls as fast as ever come from
// somebody else: a rate limit further in, a user who leaves. What was borne before is not forgotten: as soon as calls are fast again, it starts
// slowly up to half of that (as TCP does up to its threshold, RFC 5681, 3.1), and from there on as ever.
//
// Invariant: LEAST <= limit <= most, or 1 where that is the most; only successes are measurements, only timeouts and overloads are drops.

/** With 1, calls at the limit and calls of a caller who asks one at a time look alike. Where no more is allowed there is nothing to tell apart. */
const LEAST = 2
/** What is added at once while calls are not slower: "not slower" is within a tenth. */
const FLAT = 1.1
/** Slow start ends when calls take so much longer. By chance as well: from there on it still grows by a third with each window. */
const SLOWER = 1.5
/** Then calls that began with more inside are no witnesses: they met those who came right after them. */
const FIRST_CALLS = 2
/** A soft knee: an event loop whose handlers await needs so much more than workers do, to be busy for 97 % of the time. */
const ROOM = 0.75
/** From this share of the limit on, it is what held back others: half of it while it doubles. */
const NEAR = 0.8
const NEAR_AT_FIRST = 0.5
/** Halfway to what was found: windows are noisy. The whole way where it is far below. */
const STEP = 0.5
const FAR = 0.7
/** A window with so much less inside, in which calls are faster by less than this share of what they would be behind a queue. */
const FEWER = 0.2
const FASTER = 0.4
/** With exponential times a window of 16 says less than this by chance once in six; a full server's, hardly ever. */
const BETTER = 0.77
/** This share of drops says too much by itself, on average over some windows: a window is as few as 16 calls. */
const MANY = 0.25
const MANY_WEIGHT = 0.3
/** Of what was borne before it was lowered. */
const REGAINED = 0.5

export interface KneeSettings {
  readonly start: number
  readonly most: number
}

const NO_SETTINGS: KneeSettings = { start: 4, most: 1000 }

export class Knee implements Estimator {
  readonly kind = 'knee'
  /** The limit has met the work's own once. */
  settled = false
  /** Milliseconds that calls wait inside, behind each other: as of the last window. */
  queueMs = 0
  private exact: number
  private most: number
  /** What was borne without calls becoming slower, as far as is remembered. */
  private borne = 0
  /** Added in this window, by what was borne before. */
  private regained = 0
  private readonly curve = new LoadCurve()
  /** The window: calls, those that began at the limit, their times, what was inside, drops. */
  private calls = 0
  private limited = 0
  private took = 0
  private inside = 0
  private drops = 0
  /** The share of drops, of the last windows. */
  private dropped = 0
  /** Of the last window in which the limit was met. */
  private lastInside = 0
  private lastTook = 0
  /** Windows in a row in which less was inside, in vain. */
  private inVain = 0
  private better = 0
  /** Calls of a window: two turns of everybody, so that it lasts two service times or more; at first, where the limit doubles, one. */
  private wanted = 8
  constructor({ start, most }: KneeSettings = NO_SETTINGS) {
    this.most = most
    this.exact = this.within(start)
  }

  /** Another most. */
  limitTo(most: number): void {
    this.most = most
    this.exact = this.within(this.exact)
  }

  get limit(): number {
    return Math.floor(this.exact + 0.5)
  }

  /** Mean service time without a queue; 0 while nothing is known. */
  get baseMs(): number {
    return this.curve.mean
  }

  get deviationMs(): number {
    return this.curve.deviation
  }

  sample(tookMs: number, inFlight: number, verdict: Verdict): void {
    if (verdict === 'failure' || verdict === 'ignored') return
    this.calls++
    // It may have grown since the call began.
    const atLimit = inFlight >= this.exact * (this.settled ? NEAR : NEAR_AT_FIRST)
    if (atLimit) this.limited++
    if (verdict !== 'success') this.drops++
    else if (tookMs >= 0) {
      this.curve.record(tookMs, inFlight)
      this.took += tookMs
      this.inside += inFlight
      if (this.baseMs === 0) this.curve.read(1)
      if (atLimit && !this.settled) this.exact = Math.min(this.most, this.exact + 1)
      else if (atLimit && this.isRegaining(tookMs)) {
        this.exact = Math.min(this.most, this.exact + 1)
        this.regained++
      }
    }
    if (this.calls >= this.wanted) this.close()
  }

  private close(): void {
    const { calls, limited, drops } = this
    const answered = calls - drops
    const took = answered === 0 ? 0 : this.took / answered
    const inside = answered === 0 ? 0 : this.inside / answered
    this.calls = this.limited = this.took = this.inside = this.drops = 0
    this.curve.read(this.settled ? Math.max(1, this.exact / 3) : FIRST_CALLS)
    this.adjust(calls, limited, drops, took, inside)
    this.wanted = this.settled ? Math.max(16, 2 * this.limit) : Math.max(8, this.limit)
  }

  private adjust(calls: number, limited: number, drops: number, took: number, inside: number): void {
    this.dropped += (drops / calls - this.dropped) * MANY_WEIGHT
    if (drops > 0 && this.dropped >= MANY) return this.cut(drops / calls)
    const base = this.baseMs
    this.learn(calls, limited, took, inside)
    if (drops > 0 && took >= base * SLOWER) this.cut(drops / calls)
  }

  /** It was lowered far, and what it was lowered for is over: the last window was not slow, this call is not, and none was dropped since. */
  private isRegaining(tookMs: number): boolean {
    if (this.drops > 0 || this.exact >= this.borne * REGAINED) return false
    const slow = this.baseMs * (SLOWER - 1)
    return this.queueMs < slow && tookMs - this.baseMs < slow
  }

  private cut(share: number): void {
    this.exact = this.within(this.exact * (1 - 0.5 * share))
    this.settled = true
  }

  private learn(calls: number, limited: number, took: number, inside: number): void {
    const base = this.baseMs
    this.queueMs = Math.max(0, took - base)
    if (took <= 0) return
    const isSlower = took >= base * SLOWER
    const isMet = limited * 2 >= calls
    // It does not bear as much any more.
    if (isSlower && this.regained > 0) this.borne = this.exact
    else if (!isSlower && isMet) this.borne = Math.max(this.borne, this.exact)
    this.regained = 0
    const knee = (inside * base) / took
    const found = knee + this.room(knee)
    // Nobody was held back by it: nothing is learned of a limit that is not met, but that it is too high where they wait inside all the same.
    if (isSlower ? !isMet && found >= this.exact : !isMet || !this.settled) return
    if (isMet && (this.isSlowerWork(inside, took) || this.isFasterWork(took))) this.curve.restart(took, inside)
    // Not before it is known: with more inside all would look as slow as ever.
    else if (this.better > 0) return
    else if (this.settled) {
      const wanted = took < base * FLAT ? Math.max(found, this.exact + this.room(this.exact)) : found
      this.exact += (wanted - this.exact) * (wanted < this.exact * FAR ? 1 : STEP)
    } else this.exact = found
    this.settled = true
    this.exact = this.within(this.exact)
  }

  private within(limit: number): number {
    return Math.min(this.most, Math.max(LEAST, limit))
  }

  /** Twice in a row fewer were inside, and calls no faster: they did not wait, the work itself has become slower. */
  private isSlowerWork(inside: number, took: number): boolean {
    const fewer = 1 - inside / this.lastInside
    const faster = 1 - took / this.lastTook
    this.inVain = fewer > FEWER && faster < FASTER * fewer && took > this.baseMs * FLAT ? this.inVain + 1 : 0
    this.lastInside = inside
    this.lastTook = took
    if (this.inVain < 2) return false
    this.inVain = 0
    return true
  }

  /** Twice in a row the full server was faster than an empty one is said to be. */
  private isFasterWork(took: number): boolean {
    this.better = took < this.baseMs * BETTER ? this.better + 1 : 0
    if (this.better < 2) return false
    this.better = 0
    return true
  }

  private room(knee: number): number {
    const { mean, deviation } = this.curve
    const spread = mean > 0 ? deviation / mean : 0
    return Math.max(1 + Math.min(1, spread * spread), ROOM * knee)
  }

  inspect(): Snapshot {
    const { kind, limit, baseMs, queueMs, settled } = this
    return { kind, path: kind, limit, baseMs, queueMs, settled }
  }
}
