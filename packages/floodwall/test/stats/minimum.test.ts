import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { WindowedMaximum, WindowedMinimum } from '../../src/algorithms/stats/minimum.ts'
import {
  agree,
  beside,
  DAY_30,
  EventLog,
  MAX_TIMER,
  moved,
  moves,
  NOT_SAMPLES,
  SEEDED,
  samplesTo,
} from './event-log.ts'

describe('WindowedMinimum', () => {
  test('the worked example', () => {
    const least = new WindowedMinimum(10_000)
    least.record(20, 500)
    least.record(30, 4_200)
    expect(least.value(9_900)).toBe(20)
    expect(least.value(10_000)).toBe(30)
    expect(least.value(14_000)).toBe(undefined)
  })

  test('is undefined before the first sample, and after the last has expired', () => {
    const least = new WindowedMinimum(10_000)
    expect(least.value(0)).toBe(undefined)
    expect(least.value(DAY_30)).toBe(undefined)
    least.record(5, DAY_30)
    expect(least.value(DAY_30)).toBe(5)
    expect(least.value(2 * DAY_30)).toBe(undefined)
  })

  test('0 ms is a sample', () => {
    const least = new WindowedMinimum(10_000)
    least.record(7, 0)
    least.record(0, 0)
    expect(least.value(0)).toBe(0)
  })

  test('a sample on an edge belongs to the later bucket only', () => {
    const least = new WindowedMinimum(10_000)
    least.record(1, beside(5_000, -1))
    least.record(2, 5_000)
    expect(least.value(beside(14_000, -1))).toBe(1)
    expect(least.value(14_000)).toBe(2)
    expect(least.value(beside(15_000, -1))).toBe(2)
    expect(least.value(15_000)).toBe(undefined)
  })

  test('latencies that rise for long keep their minimum, 10,000 times', () => {
    const least = new WindowedMinimum(10_000, 10)
    for (let now = 0; now < 10_000; now++) least.record(100 + now, now)
    expect(least.value(9_999)).toBe(100)
    expect(least.value(10_000)).toBe(1_100)
  })

  test.each([MAX_TIMER, DAY_30, 1e15])('a gap of %d ms empties the window', (gap) => {
    const least = new WindowedMinimum(10_000)
    least.record(1, 3_000)
    least.record(9, 3_000 + gap)
    expect(least.value(3_000 + gap)).toBe(9)
  })

  test('one bucket forgets everything at each edge', () => {
    const least = new WindowedMinimum(1_000, 1)
    least.record(1, 999)
    expect(least.value(999)).toBe(1)
    expect(least.value(1_000)).toBe(undefined)
  })

  test('C06 an hour back, or no time at all: samples count as of the newest time', () => {
    const least = new WindowedMinimum(10_000)
    least.record(20, 7_200_000)
    for (const now of [3_600_000, NaN, Infinity, -1]) {
      expect(least.value(now)).toBe(20)
      least.record(15, now)
      expect(least.value(now)).toBe(15)
      least.clear(now)
      least.record(20, now)
    }
    expect(least.value(7_209_999)).toBe(20)
    expect(least.value(7_210_000)).toBe(undefined)
  })

  test('C06 latency samples -5, 0, NaN, Infinity: 0 is one, the others are dropped and counted', () => {
    const least = new WindowedMinimum(10_000)
    const most = new WindowedMaximum(10_000)
    for (const sample of NOT_SAMPLES) {
      least.record(sample, 0)
      most.record(sample, 0)
    }
    expect([least.value(0), most.value(0)]).toEqual([undefined, undefined])
    least.record(0, 0)
    most.record(0, 0)
    expect([least.value(0), most.value(0)]).toEqual([0, 0])
    expect([least.dropped, most.dropped]).toEqual([NOT_SAMPLES.length, NOT_SAMPLES.length])
  })

  test('clear forgets, keeps the time, and a second clear changes nothing', () => {
    const least = new WindowedMinimum(10_000)
    least.record(1, 500)
    least.clear(600)
    least.clear(600)
    expect(least.value(600)).toBe(undefined)
    least.record(3, 700)
    expect(least.value(700)).toBe(3)
    least.clear(50_000)
    least.record(4, 700) // back: still 50 s
    expect(least.value(59_999)).toBe(4)
    expect(least.value(60_000)).toBe(undefined)
  })

  test.each([
    [0, 10, 'spanMs is 0, expected milliseconds above 0'],
    [NaN, 10, 'spanMs is NaN,'],
    [Infinity, 10, 'spanMs is Infinity,'],
    [-1, 10, 'spanMs is -1,'],
    ['60', 10, 'spanMs is "60",'],
    [10_000, 0, 'buckets is 0, expected a whole number from 1 to 65536'],
    [10_000, 1.5, 'buckets is 1.5,'],
  ])('refuses a span of %s in %s buckets', (span, buckets, message) => {
    expect(() => new WindowedMinimum(span as number, buckets)).toThrow(RangeError)
    expect(() => new WindowedMaximum(span as number, buckets)).toThrow(message)
  })
})

describe('WindowedMaximum', () => {
  test('the largest leaves, the next largest follows', () => {
    const most = new WindowedMaximum(10_000)
    most.record(30, 500)
    most.record(20, 4_200)
    expect(most.value(9_900)).toBe(30)
    expect(most.value(10_000)).toBe(20)
    expect(most.value(14_000)).toBe(undefined)
  })

  test('a maximum of 0 is 0 and not -0', () => {
    const most = new WindowedMaximum(10_000)
    most.record(0, 0)
    expect(Object.is(most.value(0), 0)).toBe(true)
    most.clear(0)
    expect(most.value(0)).toBe(undefined)
  })
})

describe('both against a list of all samples', () => {
  test('100,000 random steps', () => {
    let taken = 0
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.constantFrom(1, 1000, 0.125, 250),
        fc.constantFrom(0, 12_345.625, MAX_TIMER, 1e12),
        fc.array(
          fc.record({
            move: moves,
            sample: fc.oneof(fc.nat(20), samplesTo(1e4)),
            act: fc.constantFrom('record', 'record', 'record', 'read', 'clear'),
          }),
          { minLength: 40, maxLength: 70, size: 'max' },
        ),
        (buckets, widthMs, start, steps) => {
          const least = new WindowedMinimum(buckets * widthMs, buckets)
          const most = new WindowedMaximum(buckets * widthMs, buckets)
          const log = new EventLog(buckets, widthMs)
          let at: number = start
          for (const { move, sample, act } of steps) {
            taken++
            at = moved(at, move, widthMs)
            const now = move.kind === 'odd' ? move.now : at
            if (act === 'record') {
              least.record(sample, now)
              most.record(sample, now)
              log.add(0, sample, now)
            } else if (act === 'clear') {
              for (const each of [least, most, log]) each.clear(now)
            }
            const list = log.amounts(0, now)
            agree(least.value(now), list.length === 0 ? undefined : Math.min(...list))
            agree(most.value(now), list.length === 0 ? undefined : Math.max(...list))
          }
        },
      ),
      SEEDED,
    )
    expect(taken).toBeGreaterThan(100_000)
  })
})
