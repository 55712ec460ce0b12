import { GRAIN, type Pace } from './rate.ts'
import { type ByteShare, Turn, TurnHeap } from './turn-heap.ts'

// Whose bytes go next, if many streams share one rate?
//
// Source: a token bucket for how much, self-clocked fair queueing (Golestani, INFOCOM 1994) for who. A piece of at most a quantum begins, in virtual time,
// where the last one of its share ended, or now if that is over; the one that ends first goes first. Virtual time is the end of what went last. So who has
// taken much comes later than who has taken little, whatever the sizes of their pieces are, and who comes new begins with the others. Each piece that goes
// moves virtual time on, so that newcomers, however many, do not keep anybody waiting for ever.
//
// 10 MB/s, burst 1 MB: one file passes 1 MB at once, then 16 KiB each 1.6 ms. A second one comes: each has 5 MB/s from there on. A message of 200 bytes
// meets both: it ends before their next quantum does, and waits for 20 µs.
//
// Timers ring late, and a line that earned no more than its burst meanwhile would lose its rate. While somebody waits it earns on, for 100 ms at most.
//
// Invariant: in any span t at most max(burst, quantum + rate · 100 ms) + rate · t goes, and burst + rate · t where nobody is called late. Of two shares
// that wait all the time, one gets at most two quanta more than the other, in any span. Nobody waits for ever.

/** A record of TLS: less is more calls of the system for the same bytes, more is a longer wait for those who have little. */
const QUANTUM = 16_384
/** What idling saves, and how late a timer may be: ten times a turn of an event loop that is healthy. */
const WINDOW_MS = 100
/** A packet of Ethernet: what is smaller is no burst. */
const LEAST_BURST = 1500
/** A clock and a division may be so much too early: 1 µs. */
const EARLY_MS = 0.001

/** What may go at once, where nobody said: what 100 ms are worth. */
export function byteBurst({ rate, per, burst }: Pace & { readonly burst?: number | undefined }): number {
  return burst ?? Math.max(LEAST_BURST, (rate / per) * WINDOW_MS)
}

export class ByteLine {
  /** The most that is ever asked for at once. */
  quantum = 0
  /** The burst. */
  most = 0
  private perMs = 0
  private tokens: number
  private at: number
  /** When somebody was seen waiting last. */
  private waitedAt = Number.NEGATIVE_INFINITY
  private virtual = 0
  private serial = 0
  private readonly turns = new TurnHeap()

  constructor(pace: Pace, burst: number, now: number) {
    this.set(pace, burst)
    this.tokens = burst
    this.at = now
  }

  private set({ rate, per }: Pace, burst: number): void {
    this.perMs = rate / per
    this.most = burst
    this.quantum = Math.min(QUANTUM, Math.max(1, Math.floor(burst)))
  }

  /** Another rate from `now` on; who waits keeps his place. */
  reconfigure(pace: Pace, burst: number, now: number): void {
    this.earn(now)
    this.set(pace, burst)
    this.tokens = Math.min(this.tokens, this.cap)
  }

  get waiting(): number {
    return this.turns.size
  }

  /** Who goes next. */
  get first(): Turn | undefined {
    return this.turns.first
  }

  get perSecond(): number {
    return this.perMs * 1000
  }

  /** With somebody in the line, what he could not be given in time is not lost. */
  private get cap(): number {
    const { first } = this.turns
    return first === undefined ? this.most : Math.max(this.most, first.bytes + this.perMs * WINDOW_MS)
  }

  private earn(now: number): void {
    if (!(now > this.at)) return
    const tokens = this.tokens + (now - this.at) * this.perMs
    this.at = now
    if (this.turns.size > 0) this.waitedAt = now
    // What was late is his who goes on at once: his reader may need a moment to take what has passed.
    else if (this.tokens > this.most && now - this.waitedAt <= WINDOW_MS) return
    this.tokens = Math.min(this.cap, tokens)
  }

  private has(bytes: number): boolean {
    return this.tokens + this.perMs * EARLY_MS + GRAIN >= bytes
  }

  /** Takes `bytes`, at most a quantum, at once; false, and nothing was taken, when somebody waits or they are not there. */
  takes(share: ByteShare, bytes: number, now: number): boolean {
    if (this.turns.size > 0) return false
    this.earn(now)
    if (!this.has(bytes)) return false
    this.virtual = Math.max(this.virtual, share.served) + bytes
    share.served = this.virtual
    this.tokens -= bytes
    return true
  }

  /** Waits for `bytes`, at most a quantum. `go` is the turn's, and not called from here. */
  enter(share: ByteShare, bytes: number, now: number, go: () => void): Turn {
    this.earn(now)
    share.served = Math.max(this.virtual, share.served) + bytes
    const turn = new Turn(share, bytes, go, share.served, this.serial++)
    this.turns.push(turn)
    return turn
  }

  /** The next one whose bytes are there, and have been taken; undefined: nobody's yet. */
  next(now: number): Turn | undefined {
    this.earn(now)
    const { first } = this.turns
    if (first === undefined || !this.has(first.bytes)) return undefined
    this.virtual = first.finish
    this.tokens -= first.bytes
    this.turns.remove(first)
    return first
  }

  /** Milliseconds until {@link next} has somebody; Infinity: nobody waits. */
  waitMs(now: number): number {
    this.earn(now)
    const { first } = this.turns
    return first === undefined ? Number.POSITIVE_INFINITY : Math.max(0, (first.bytes - this.tokens) / this.perMs)
  }

  /** He does not wait any more: his place goes to those behind him. The second time, and when his turn has come, nothing happens. */
  leave(turn: Turn, now: number): void {
    this.earn(now)
    if (!this.turns.remove(turn)) return
    const { share, finish, bytes } = turn
    if (share.served === finish) share.served = finish - bytes
  }

  /** Gives back what was taken and did not go. */
  give(share: ByteShare, bytes: number, now: number): void {
    this.earn(now)
    this.tokens = Math.min(Math.max(this.cap, this.tokens), this.tokens + bytes)
    share.served = Math.max(0, share.served - bytes)
  }

  /** What could go now at once. */
  left(now: number): number {
    this.earn(now)
    return this.tokens
  }

  /** Nobody would notice if it were forgotten and made anew. */
  idle(now: number): boolean {
    return this.turns.size === 0 && this.left(now) >= this.most
  }
}
