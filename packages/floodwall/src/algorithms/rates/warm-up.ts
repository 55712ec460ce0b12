import { GRAIN, missing, type Pace, type Reservable, unitOf } from './rate.ts'

// How often, if the target was idle and is cold?
//
// Source: the warm-up of alibaba/Sentinel, which is that of Guava's SmoothWarmingUp: caches and pools of a target that was idle are empty, so
// the rate begins at a part of itself and grows while it is used. Here on the schedule of the GCRA, continuous instead of once a second.
//
// 30/s, 5 s, cold factor 3: from cold a unit is worth 100 ms (10/s), after 75 of them in 5 s 33 ms (30/s). Idle for 5 s, and it is cold again.
// Traffic of a fifth of the rate keeps it as it is, more warms it.
//
// Invariant: a unit is worth at least what it is when warm, so that burst + rate · t holds for any span t; and who costs no more than the burst
// passes once nothing is owed, however cold it is. Sentinel refuses all for ever where the cold rate is below one call a second.

/** How long it takes to warm up, in milliseconds, and how many times slower it is from cold. */
export interface Warming {
  readonly over: number
  readonly coldFactor: number
}

export class WarmUp implements Reservable {
  readonly kind = 'warmUp'
  readonly most: number
  private readonly unitMs: number
  private readonly aheadMs: number
  /** Units that are taken on the way from cold to warm. */
  private readonly way: number
  /** How much more a unit costs for each unit of {@link cold}. */
  private readonly slopeMs: number
  private readonly coolPerMs: number
  private at: number
  /** Milliseconds owed, at {@link at}. */
  private owedMs = 0
  /** Units from here to warm. */
  private cold: number

  constructor(pace: Pace, burst: number, { over, coldFactor }: Warming, now: number) {
    this.most = burst
    this.unitMs = unitOf(pace)
    this.aheadMs = burst * this.unitMs
    this.way = (2 * over) / (this.unitMs * (1 + coldFactor))
    this.slopeMs = this.way === 0 ? 0 : ((coldFactor - 1) * this.unitMs) / this.way
    this.coolPerMs = this.way / over
    this.cold = this.way
    this.at = now
  }

  private move(now: number): void {
    if (!(now > this.at)) return
    const idleMs = now - this.at - this.owedMs
    this.at = now
    if (idleMs < 0) {
      this.owedMs = -idleMs
      return
    }
    this.owedMs = 0
    this.cold = Math.min(this.way, this.cold + idleMs * this.coolPerMs)
  }

  /** What `cost` is worth from `cold` on: each unit warms a little. */
  private priceMs(cost: number, cold: number): number {
    const dear = Math.min(cost, cold)
    return cost * this.unitMs + dear * this.slopeMs * (cold - dear / 2)
  }

  take(cost: number, now: number): number {
    return this.reserve(cost, now, 0)
  }

  reserve(cost: number, now: number, atMostMs: number): number {
    this.move(now)
    if (cost > this.most || (cost > 0 && this.unitMs === Number.POSITIVE_INFINITY)) return Number.POSITIVE_INFINITY
    if (cost === 0) return 0
    const price = this.priceMs(cost, this.cold)
    // Once nothing is owed he may go, and those after him wait for the rest of his price.
    const waitMs = Math.max(0, this.owedMs + Math.min(0, price - this.aheadMs))
    const goes = waitMs <= GRAIN * this.unitMs
    if (!goes && waitMs > atMostMs) return waitMs
    this.owedMs += price
    this.cold = Math.max(0, this.cold - cost)
    return goes ? 0 : waitMs
  }

  /**
   * The way back that he has gone; from warm there is none: whoever changes his mind there has not cooled anything. Later, what he had to pay is not
   * known any more, but for what it is when warm.
   */
  give(cost: number, takenAt: number, now: number): void {
    this.move(now)
    if (cost === 0) return
    const sinceMs = this.at - takenAt
    const cold = this.cold === 0 ? 0 : Math.min(this.way, this.cold + cost)
    const price = sinceMs > 0 ? cost * this.unitMs : this.priceMs(cost, cold)
    this.owedMs = Math.max(0, this.owedMs - missing(price, sinceMs, 1))
    this.cold = cold
  }

  /** What single units could take now: each makes the next one cheaper. */
  left(now: number): number {
    this.move(now)
    if (this.unitMs === Number.POSITIVE_INFINITY) return 0
    const freeMs = this.aheadMs - this.owedMs
    const toWarmMs = this.priceMs(this.cold, this.cold)
    if (freeMs >= toWarmMs) return this.cold + (freeMs - toWarmMs) / this.unitMs
    const firstMs = this.unitMs + this.cold * this.slopeMs
    if (freeMs <= 0 || this.slopeMs === 0) return freeMs / firstMs
    return (firstMs - Math.sqrt(Math.max(0, firstMs * firstMs - 2 * this.slopeMs * freeMs))) / this.slopeMs
  }

  /** From 0, cold, to 1. */
  warmth(now: number): number {
    this.move(now)
    return this.way === 0 ? 0 : 1 - this.cold / this.way
  }

  /** As warm as its predecessor. */
  warmTo(warmth: number): void {
    this.cold = this.way * (1 - warmth)
  }

  /** The present rate, in units per millisecond. */
  perMs(now: number): number {
    this.move(now)
    return 1 / (this.unitMs + this.cold * this.slopeMs)
  }

  idle(now: number): boolean {
    this.move(now)
    return this.owedMs === 0 && this.cold >= this.way
  }
}
