import { describe, expect, test } from 'vitest'
import {
  CALLS,
  CountWindow,
  FAILED,
  LockFreeTimeWindow,
  type Resilience4jWindow,
  SLOW,
  SLOW_FAILED,
  TimeWindow,
  TOTAL_MS,
} from '../../../src/compat/resilience4j/window.ts'
import { Vectors } from '../../support/vectors.ts'

type Config = { readonly implementation: string; readonly windowSize: number; readonly createdAt_t_ms: number }
type Totals = readonly [calls: number, failed: number, slow: number, slowFailed: number]
type Step = readonly [
  ...(readonly [atMs: number, op: string, durationMs: number | null]),
  ...Totals,
  ...(readonly [failureRate: number, slowCallRate: number, totalMs: number, averageMs: number]),
]

const vectors = new Vectors<Config, Step>('resilience4j-windows.json')

function windowOf({ implementation, windowSize, createdAt_t_ms }: Config): Resilience4jWindow {
  if (implementation.endsWith('FixedSizeSlidingWindowMetrics')) return new CountWindow(windowSize)
  if (implementation === 'SlidingTimeWindowMetrics') return new TimeWindow(windowSize, 0)
  return new LockFreeTimeWindow(windowSize, createdAt_t_ms)
}

function act(window: Resilience4jWindow, [at, op, durationMs]: Step): void {
  if (op !== 'snapshot') window.record(op.endsWith('ERROR'), op.startsWith('SLOW'), durationMs as number, at)
}

const totals = (window: Resilience4jWindow, at: number): Totals => [
  window.total(CALLS, at),
  window.total(FAILED, at),
  window.total(SLOW, at),
  window.total(SLOW_FAILED, at),
]

/** As the original computes them: floats of 32 bits, and a division of whole numbers. */
function rates([calls, failed, slow]: Totals, totalMs: number): readonly number[] {
  if (calls === 0) return [0, 0, totalMs, 0]
  const rate = (count: number) => Math.fround((count * 100) / calls)
  return [rate(failed), rate(slow), totalMs, Math.trunc(totalMs / calls)]
}

/**
 * When the wall clock steps back the original throws a second of calls out at every reading and pushes its window into the future: it
 * drains although no time passes. The right answer: time stands until the clock has caught up, and nothing is lost. Calls, failed.
 */
const RIGHT: Readonly<Record<string, readonly (readonly [calls: number, failed: number])[]>> = {
  'time-clock-step-back': [
    ...([1, 2] as const).map((n) => [n, n] as const),
    // At 103.5 s all four are there, and so they are 5 s earlier, however often one looks.
    ...([[3, 2], ...Array<[number, number]>(4).fill([4, 3])] as [number, number][]),
    // One error more at 98.5 s: it belongs to the newest second, since nobody knows better. Looking costs nothing.
    ...Array<[number, number]>(4).fill([5, 4]),
    ...([
      [6, 4],
      [7, 4],
    ] as [number, number][]),
    // The clock has caught up: at 104 s second 100 is out, at 105 s second 101; at 110 s all are.
    ...([
      [6, 3],
      [5, 2],
      [0, 0],
    ] as [number, number][]),
  ],
  'time-clock-step-back-one-second': [
    ...[1, 2, 3, 4, 5].map((n) => [n, n] as const),
    ...[6, 7, 8, 9, 10, 10, 11, 12, 13, 13].map((n) => [n, 5] as const),
    // The ordinary course of a window of 10 s: a second goes for each that comes.
    ...[12, 11, 10].map((n, i) => [n, 4 - i] as const),
  ],
}

describe('the windows replay resilience4j', () => {
  test.each(vectors.cases)('$name: $description', (recorded) => {
    const window = windowOf(recorded.config)
    const right = RIGHT[recorded.name]
    expect(right !== undefined).toBe(recorded.tags?.includes('upstream-defect') === true)
    if (right !== undefined) expect(right.length).toBe(recorded.steps.length)
    vectors.replay(recorded, (step, index) => {
      act(window, step)
      const [at, , , ...expected] = step
      const got = totals(window, at)
      if (right === undefined) expect([...got, ...rates(got, window.total(TOTAL_MS, at))]).toEqual(expected.map(fround))
      else expect(got.slice(0, 2)).toEqual(right[index])
    })
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches; in 2 of ${vectors.cases.length} cases the right answer is another`)
    expect(vectors.replayed).toBe(vectors.steps)
    expect(vectors.cases.length).toBe(17)
  })
})

/** Rates are recorded in the decimals of a float; sums of milliseconds are small enough to stay as they are. */
function fround(value: number): number {
  return Math.fround(value)
}
