import * as v from 'valibot'
import { type SketchKey, TopK } from '../algorithms/sketches/top-k.ts'
import type { Env } from '../core/runtime.ts'
import { count, positiveSpan, share } from '../core/schema.ts'

// Which keys are hot?
//
// Those among the k most frequent of late that make up at least a share of all calls: of a million keys in turn each is among the first k for a
// moment, and none of them is hot. A least number of calls keeps an idle service from calling its only visitor a crowd.
//
// share 0.01, atLeast 10, half-life 10 s: at 1000 calls a second a key is hot from 10 a second on; at 10 a second from 0.7 on.

/** More are not looked through each second, and not shown. */
const MOST_K = 1000

/** The options that say what is hot; `k` and `least` are their defaults. */
export function heatOptions(k: number, least: number) {
  return {
    /** Keys that are told apart; no more can be hot at once. */
    k: v.optional(v.pipe(count, v.maxValue(MOST_K, `a whole number from 1 to ${MOST_K}`)), k),
    /** After this a call counts for half. Default 10 s. */
    halfLife: v.optional(positiveSpan, '10s'),
    /** Of all calls of late: what makes a key hot. */
    share: v.optional(share, least),
    /** Calls of late, faded: with fewer no key is hot. Default 10. */
    atLeast: v.optional(count, 10),
  }
}

export interface HeatSettings {
  readonly k: number
  readonly halfLife: number
  readonly share: number
  readonly atLeast: number
}

/** A key, how often it comes, and its part of all. */
export interface Warmth<K extends SketchKey> {
  readonly key: K
  /** Calls per second, as if it had always come like this. */
  readonly perSecond: number
  /** Of all calls of late, from 0 to 1. */
  readonly share: number
  readonly hot: boolean
}

export class Heat<K extends SketchKey = SketchKey> {
  private readonly settings: HeatSettings
  private readonly top: TopK<K>
  /** Calls per second that a call of late stands for: a steady rate r settles at r · half-life / ln 2. */
  private readonly perCall: number

  /** `previous`: its keys are taken over with their counts. */
  constructor(settings: HeatSettings, env: Env, previous?: Heat<K>) {
    this.settings = settings
    this.perCall = (1000 * Math.LN2) / settings.halfLife
    this.top = new TopK<K>({ k: settings.k, halfLifeMs: settings.halfLife }, env.random)
    const now = env.now()
    // Rates stay; where the half-life is another, so many calls are another number of late.
    const factor = previous === undefined ? 0 : settings.halfLife / previous.settings.halfLife
    for (const { key, count } of previous?.top.list(now) ?? []) this.top.add(key, now, count * factor)
  }

  /** Counts a call; true when its key is hot now. */
  add(key: K, now: number): boolean {
    return this.isEnough(this.top.add(key, now), now)
  }

  /** True when `key` is hot, or at least `part` as much as hot. */
  isHot(key: K, now: number, part = 1): boolean {
    return this.top.has(key) && this.isEnough(this.top.count(key, now), now, part)
  }

  private isEnough(calls: number, now: number, part = 1): boolean {
    const { atLeast, share: least } = this.settings
    return calls >= atLeast * part && calls >= least * part * this.top.total(now)
  }

  /** How warm `key` is; all zero when it is not among the k. */
  warmth(key: K, now: number): Warmth<K> {
    return this.warmthOf(key, this.top.has(key) ? this.top.count(key, now) : 0, now)
  }

  /** All calls per second. */
  perSecond(now: number): number {
    return this.top.total(now) * this.perCall
  }

  /** The k, most frequent first. */
  list(now: number): Warmth<K>[] {
    return this.top.list(now).map(({ key, count: calls }) => this.warmthOf(key, calls, now))
  }

  private warmthOf(key: K, calls: number, now: number): Warmth<K> {
    const total = this.top.total(now)
    // A sum and its part are rounded each by itself.
    const part = total > 0 ? Math.min(1, calls / total) : 0
    return { key, perSecond: calls * this.perCall, share: part, hot: this.isEnough(calls, now) }
  }

  /** True when nothing is left of what was counted. */
  idle(now: number): boolean {
    return this.top.total(now) < 0.5
  }
}
