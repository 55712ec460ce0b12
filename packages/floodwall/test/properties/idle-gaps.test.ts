import { Breaker, type BreakerOptions, Throttle, type Verdict } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { ThrottleWindow } from '../../src/algorithms/gates/throttle-window.ts'
import { RetryHistogram } from '../../src/algorithms/retry/histogram.ts'
import { CountRing } from '../../src/algorithms/stats/count-ring.ts'
import { Ewma, PeakEwma, TimeEwma } from '../../src/algorithms/stats/ewma.ts'
import { WindowedMaximum, WindowedMinimum } from '../../src/algorithms/stats/minimum.ts'
import { RecentHistogram } from '../../src/algorithms/stats/recent-histogram.ts'
import { TimeRing } from '../../src/algorithms/stats/time-ring.ts'
import { CostWindow } from '../../src/algorithms/trips/error-cost-window.ts'
import { Hanging } from '../../src/algorithms/trips/hanging.ts'
import { LockFreeTimeWindow, TimeWindow } from '../../src/compat/resilience4j/window.ts'
import { LeapArray } from '../../src/compat/sentinel/leap-array.ts'
import { ask } from '../support/asks.ts'

// C05 (d) for everything that remembers: what the first use after a gap does is counted, in reads and writes of lists. It is the same after a week, a
// month and 30,000 years as after the span of the window. A loop that touched no list would still not end: 10^15 ms are 10^12 turns.

const SPAN_MS = 10_000
const GAPS = [7 * 86_400_000, 2_147_483_648, 2_592_000_000, 1e15]

interface Subject {
  /** What is inside. */
  readonly of: object
  /** One event, and whatever is read on every call. */
  use(now: number): void
  /** The most operations that one use may take, after whatever gap: about four for each cell. */
  readonly most: number
}

const ring = (of: object, use: (now: number) => void, most: number): Subject => ({ of, use, most })

const costs = {
  short: { lastCalls: 200, over: SPAN_MS, maxErrorRate: 0.3, minEvidence: 7 },
  long: { lastCalls: 3000, over: SPAN_MS, maxErrorRate: 0.15, minEvidence: 30 },
  epsilon: 0.02,
  maxFailedLatencyMultiple: 2,
  minErrorCost: 0.05,
  accumulate: 'sum',
  secondStage: false,
} as const

const subjects: Readonly<Record<string, () => Subject>> = {
  TimeRing() {
    const of = new TimeRing(10, SPAN_MS / 10, 2)
    return ring(of, (now) => of.count(1, now), 90)
  },
  CountRing() {
    const of = new CountRing(100, 2)
    return ring(of, () => of.push(1), 10)
  },
  WindowedMinimum() {
    const of = new WindowedMinimum(SPAN_MS)
    return ring(of, (now) => of.record(5, now), 50)
  },
  WindowedMaximum() {
    const of = new WindowedMaximum(SPAN_MS)
    return ring(of, (now) => of.record(5, now), 50)
  },
  Ewma() {
    const of = new Ewma(0.1)
    return ring(of, () => of.record(5), 0)
  },
  TimeEwma() {
    const of = new TimeEwma(SPAN_MS)
    return ring(of, (now) => of.record(5, now), 0)
  },
  PeakEwma() {
    const of = new PeakEwma(SPAN_MS)
    return ring(of, (now) => of.record(5, now), 0)
  },
  RecentHistogram() {
    const of = new RecentHistogram(SPAN_MS)
    // Two times 464 buckets are emptied.
    return ring(of, (now) => of.record(5, now), 950)
  },
  ThrottleWindow() {
    const of = new ThrottleWindow(SPAN_MS, 10)
    return ring(
      of,
      (now) => {
        of.countFailed(now)
        of.drop(2, now)
      },
      170,
    )
  },
  RetryHistogram() {
    const of = new RetryHistogram(SPAN_MS)
    return ring(of, (now) => of.count(0, now), 650)
  },
  Hanging() {
    const of = new Hanging(SPAN_MS)
    return ring(of, (now) => of.end(of.begin(now)), 40)
  },
  CostWindow() {
    const of = new CostWindow(costs.short, costs)
    return ring(of, (now) => of.failure(1, now), 0)
  },
  'resilience4j, time window'() {
    const of = new TimeWindow(10, 0)
    return ring(of, (now) => of.record(true, true, 5, now), 220)
  },
  'resilience4j, lock-free time window'() {
    const of = new LockFreeTimeWindow(10, 0)
    return ring(of, (now) => of.record(true, true, 5, now), 220)
  },
  'Sentinel, leap array'() {
    const of = new LeapArray(SPAN_MS, 10, 0)
    return ring(of, (now) => of.add(true, now), 60)
  },
}

const rules: Readonly<Record<string, BreakerOptions>> = {
  'failure rate': { over: SPAN_MS },
  'failure rate of calls': { lastCalls: 100 },
  'slow rate': { over: SPAN_MS, slowRate: 0.5, slowAfter: 100 },
  'error count': { over: SPAN_MS, errorCount: 1000 },
  consecutive: { consecutive: 1000, atLeast: 1000 },
  'error cost': { errorCost: {} },
  'all of them': { slowRate: 0.5, slowAfter: 100, errorCost: {}, consecutive: 1000, ramp: '10s' },
}

/** A gate, asked and told. A few calls, so that it stays as it is. */
function gateSubject(gate: Breaker | Throttle, most: number): Subject {
  const verdicts: Verdict[] = ['success', 'failure', 'timeout', 'success']
  let i = 0
  return {
    of: gate,
    most,
    use(now) {
      const answer = gate.tryAcquire(ask(now))
      if (answer.ok) answer.settle(verdicts[i++ % verdicts.length]!, 5, now)
    },
  }
}

/** Counts what is done to the lists inside, however deep. */
function watch(root: object): { operations: number } {
  const seen = { operations: 0 }
  const known = new Set<object>()
  const visit = (owner: object) => {
    if (known.has(owner)) return
    known.add(owner)
    for (const [name, value] of Object.entries(owner)) {
      if (typeof value !== 'object' || value === null || value instanceof VirtualRuntime) continue
      if (Array.isArray(value) || ArrayBuffer.isView(value)) Reflect.set(owner, name, counted(value, seen))
      visit(value)
    }
  }
  visit(root)
  return seen
}

function counted(list: object, seen: { operations: number }): object {
  const { length } = list as ArrayLike<unknown>
  return new Proxy(list, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target)
      // A method may look at each of them.
      seen.operations += typeof value === 'function' ? length : 1
      return typeof value === 'function' ? value.bind(target) : value
    },
    set(target, key, value) {
      seen.operations++
      return Reflect.set(target, key, value)
    },
  })
}

/** The operations of the first use after a gap. */
function costOf(make: () => Subject, gapMs: number): number {
  const { of, use } = make()
  for (let at = 0; at <= SPAN_MS; at += 500) use(at)
  const seen = watch(of)
  use(SPAN_MS + gapMs)
  return seen.operations
}

const world = new VirtualRuntime()
const all: Readonly<Record<string, () => Subject>> = {
  ...subjects,
  ...Object.fromEntries(
    Object.entries(rules).map(([name, rule]) => [
      `a breaker by ${name}`,
      () => gateSubject(new Breaker({ failureRate: 1, ...rule, jitter: 0 }, world.env()), 700),
    ]),
  ),
  'a throttle': () => gateSubject(new Throttle({ over: SPAN_MS }, world.env()), 700),
}

describe('C05 (d) the cost of a gap does not depend on its length', () => {
  test.each(Object.entries(all))('%s', (_, make) => {
    // One and a half spans: everything has gone.
    const once = costOf(make, 1.5 * SPAN_MS)
    expect(GAPS.map((gap) => costOf(make, gap))).toEqual(GAPS.map(() => once))
    expect(once).toBeLessThanOrEqual(make().most)
  })

  test('operations are counted: more buckets cost more', () => {
    const cost = (buckets: number) =>
      costOf(() => {
        const of = new TimeRing(buckets, SPAN_MS / buckets, 2)
        return ring(of, (now) => of.count(1, now), 0)
      }, 1e9)
    expect(cost(20) - cost(10)).toBeGreaterThan(30)
    expect(costOf(all['a breaker by slow rate']!, 1e9)).toBeGreaterThan(50)
  })
})
