import type { CounterCache } from '../../algorithms/sketches/counter-cache.ts'
import { lru } from '../../algorithms/sketches/lru.ts'
import { type SentinelHotspotValues, valueOf } from './hotspot-rule.ts'

// May this value pass, as one hotspot rule of Sentinel would say?
//
// A replica of the traffic shaping of hot parameters in alibaba/sentinel-golang (commit f7a7f957), to compare with. Reject has a bucket for each
// value that is filled anew once more than the duration has passed; Throttling has the time at which the last one passes, in whole milliseconds;
// Concurrency a count, which is checked here and moved by who calls.
//
// 10/s, no burst: 9 at 999 ms and 10 at 1001 ms pass, if the first one passed at 0.
//
// Invariant: given the same calls at the same milliseconds, answers, tokens and times are Sentinel's. With its faults: twice the threshold at a border;
// 600/s is 1000/s, and above 1000/s one by one is no limit; the first of each value passes whatever the limit; a value that was evicted is forgotten,
// what it owes and who is inside.

/** Tables of Sentinel: so many values for each second of the duration, and at most. */
const PER_SECOND = 4000
const MOST = 20_000

/** What is known of a value. Null: that behaviour has no such number. */
export interface HotspotCounter {
  tokens: number | null
  /** When it was filled last, or the last one passes. */
  lastMs: number
  inFlight: number
}

export class HotspotController {
  readonly rule: SentinelHotspotValues
  readonly counters: CounterCache<unknown, HotspotCounter>
  private readonly specific: ReadonlyMap<unknown, number>

  /** @param counters those of another rule about the same, or new ones */
  constructor(rule: SentinelHotspotValues, counters?: CounterCache<unknown, HotspotCounter>) {
    this.rule = rule
    this.counters = counters ?? lru({ capacity: capacityOf(rule) })
    this.specific = new Map(
      rule.specificItems.map(({ valKind, valStr, threshold }) => [valueOf(valKind, valStr), threshold]),
    )
  }

  private limitOf(value: unknown): number {
    return this.specific.get(value) ?? this.rule.threshold
  }

  /** Milliseconds to wait; -1: refused. */
  check(value: unknown, batch: number, now: number): number {
    const limit = this.limitOf(value)
    if (this.rule.metricType === 0) return this.checkInside(value, limit)
    if (limit <= 0) return -1
    return this.rule.controlBehavior === 1
      ? this.throttle(value, batch, limit, now)
      : this.take(value, batch, limit, now)
  }

  private checkInside(value: unknown, limit: number): number {
    const known = this.counters.addIfAbsent(value, { tokens: null, lastMs: 0, inFlight: 0 })
    return known === undefined || known.inFlight + 1 <= limit ? 0 : -1
  }

  private get durationMs(): number {
    return this.rule.durationInSec * 1000
  }

  private take(value: unknown, batch: number, limit: number, now: number): number {
    const most = limit + this.rule.burstCount
    if (batch > most) return -1
    const known = this.counters.addIfAbsent(value, { tokens: most - batch, lastMs: now, inFlight: 0 })
    if (known === undefined) return 0
    const passedMs = now - known.lastMs
    const tokens = known.tokens ?? 0
    const isOver = passedMs > this.durationMs
    const earned = isOver ? Math.floor((passedMs * limit) / this.durationMs) : 0
    const left = (isOver ? Math.min(most, earned + tokens) : tokens) - batch
    if (left < 0) return -1
    known.tokens = left
    if (isOver) known.lastMs = now
    return 0
  }

  private throttle(value: unknown, batch: number, limit: number, now: number): number {
    const costMs = Math.floor((batch * this.durationMs) / limit)
    const fresh: HotspotCounter = { tokens: null, lastMs: now, inFlight: 0 }
    const known = this.counters.addIfAbsent(value, fresh)
    const earliest = now - this.durationMs
    const lastMs = known === undefined || known.lastMs < earliest ? earliest : known.lastMs
    const counter = known ?? fresh
    const waitMs = lastMs + costMs - now
    if (waitMs > 0 && waitMs >= this.rule.maxQueueingTimeMs) return -1
    counter.lastMs = waitMs > 0 ? now + waitMs : now
    return Math.max(0, waitMs)
  }

  /** Somebody with this value is in, or has left: on whatever counter the value has then. */
  move(value: unknown, by: 1 | -1): void {
    const counter = this.counters.get(value)
    if (counter !== undefined) counter.inFlight += by
  }

  /** What is counted, least recently used first. */
  get table(): readonly (readonly [value: unknown, counter: HotspotCounter])[] {
    // A look counts as a use; at all of them in their order it changes nothing.
    return this.counters.keys().map((value) => [value, this.counters.get(value) as HotspotCounter])
  }
}

function capacityOf({ paramsMaxCapacity, metricType, durationInSec }: SentinelHotspotValues): number {
  if (paramsMaxCapacity > 0) return paramsMaxCapacity
  return metricType === 1 ? Math.min(MOST, PER_SECOND * durationInSec) : PER_SECOND
}
