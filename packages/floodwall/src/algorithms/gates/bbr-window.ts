import { isSample } from '../stats/sample.ts'
import { slotAt } from '../stats/slot.ts'

// How much can it do at best, how long does one take at best, and how much is asked for?
//
// Source: the window of BBR-style shedding in kratos' article: over 5 s in buckets of 100 ms, the most completions of a bucket and the least of the
// buckets' average response times. Their product is, by Little's law, how many are inside when all is well.
//
// One bucket alone may say something that was never true. After a stall of 900 ms the ninety that waited end in one bucket: 900 a second, of
// which there are 100. And a bucket of two completions has an average of two. So what is looked at is a stretch: as many buckets as it takes until
// it holds `atLeast` completions and is as long as they took on average. Mostly that is one. If the window ends first, what is there counts when it is
// half of the window: an old bucket has been looked at when it was newer.
//
// 90 completions that took 450 ms on average, in one bucket after nine empty ones: 90 in 500 ms, 180 a second. Ten of 50 ms: 100 a second.
//
// Invariant: the peak is the greatest rate of a stretch, the least time the least average of one. Neither looks at the bucket that is still filling,
// and nothing from before the window is in either.

/** What is asked for is looked at over so many buckets: a second by default. */
const LATELY = 10

export class BbrWindow {
  readonly widthMs: number
  /** Completions a millisecond at best, and milliseconds that they took at best; 0 while no stretch is whole. */
  peak = 0
  leastMs = 0
  /** Calls a millisecond that were asked for lately. */
  demand = 0
  private readonly atLeast: number
  private readonly asked: number[]
  private readonly passes: number[]
  private readonly tookMs: number[]
  /** Index and number of the current bucket, and the first instant of the next. */
  private at = 0
  private slot = 0
  private until = 0
  /** The bucket in which the first call was asked for after a window of silence, and whether such a silence lasts. */
  private began = 0
  private silent = true

  constructor(overMs: number, buckets: number, atLeast: number) {
    this.widthMs = overMs / buckets
    this.atLeast = atLeast
    const empty = () => Array.from({ length: buckets }, () => 0.5).fill(0)
    this.asked = empty()
    this.passes = empty()
    this.tookMs = empty()
  }

  /** A call is asked for; brings the window up to date. */
  ask(now: number): void {
    if (now >= this.until) this.turn(now)
    if (this.silent) this.speak()
    this.asked[this.at]! += 1
  }

  private speak(): void {
    this.silent = false
    this.began = this.slot
  }

  /** A call has completed, well. */
  pass(tookMs: number, now: number): void {
    if (now >= this.until) this.turn(now)
    if (!isSample(tookMs)) return
    this.passes[this.at]! += 1
    this.tookMs[this.at]! += tookMs
  }

  /** Brings it up to date for a reader. */
  look(now: number): void {
    if (now >= this.until) this.turn(now)
  }

  get empty(): boolean {
    return this.peak === 0 && this.demand === 0 && this.asked[this.at] === 0 && this.passes[this.at] === 0
  }

  private turn(now: number): void {
    const slot = slotAt(now, this.widthMs)
    // After an infinite `now` every later one would be a step back, and the window would never move again.
    if (slot === Number.POSITIVE_INFINITY) return
    const { length } = this.passes
    for (let gap = Math.min(slot - this.slot, length); gap > 0; gap--) {
      this.at = this.at + 1 === length ? 0 : this.at + 1
      this.asked[this.at] = 0
      this.passes[this.at] = 0
      this.tookMs[this.at] = 0
    }
    this.slot = slot
    this.until = (slot + 1) * this.widthMs
    this.compute()
  }

  /** Each 100 ms, and not for each call. */
  private compute(): void {
    const { length } = this.passes
    this.peak = 0
    this.leastMs = 0
    for (let newest = 1; newest < length; newest++) if (this.passes[this.before(newest)] !== 0) this.stretch(newest)
    this.silent = this.asked.every((calls) => calls === 0)
    const lately = Math.max(1, Math.min(LATELY, length - 1, this.slot - this.began))
    let asked = 0
    for (let back = 1; back <= lately; back++) asked += this.asked[this.before(back)]!
    this.demand = asked / (lately * this.widthMs)
  }

  /** The shortest stretch that ends with this bucket. */
  private stretch(newest: number): void {
    const { widthMs, atLeast } = this
    const { length } = this.passes
    let passes = 0
    let tookMs = 0
    let spanMs = 0
    for (let back = newest; back < length; back++) {
      const i = this.before(back)
      passes += this.passes[i]!
      tookMs += this.tookMs[i]!
      spanMs += widthMs
      if (passes >= atLeast && spanMs * passes >= tookMs) return this.compare(passes, tookMs, spanMs)
    }
    if (passes >= atLeast && 2 * newest <= length) this.compare(passes, tookMs, spanMs)
  }

  private compare(passes: number, tookMs: number, spanMs: number): void {
    const meanMs = tookMs / passes
    if (this.peak === 0 || meanMs < this.leastMs) this.leastMs = meanMs
    if (passes > this.peak * spanMs) this.peak = passes / spanMs
  }

  /** The index of the bucket so many before the current one. */
  private before(back: number): number {
    const i = this.at - back
    return i < 0 ? i + this.passes.length : i
  }
}
