import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Hanging } from '../../src/algorithms/trips/hanging.ts'

/** The eighth of the limit in which an instant lies. */
const eighth = (at: number, limitMs: number) => Math.floor(at / (limitMs / 8))

describe('calls that hang', () => {
  test('the worked example: begun at 130 ms with a limit of 800 ms, late from 1000 ms on', () => {
    const hanging = new Hanging(800)
    const serial = hanging.begin(130)
    expect([130, 930, 999.999, 1000, 5000].map((now) => hanging.late(now))).toEqual([0, 0, 0, 1, 1])
    hanging.end(serial)
    expect(hanging.late(5000)).toBe(0)
  })

  test.each([0, 1, 99, 100, 799, 1e12, 1e12 + 99])('begun at %d: late after the limit and an eighth at most', (at) => {
    for (const limitMs of [800, 1000, 250, 8]) {
      const hanging = new Hanging(limitMs)
      hanging.begin(at)
      expect(hanging.late(at + limitMs)).toBe(at % (limitMs / 8) === 0 ? 0 : hanging.late(at + limitMs))
      expect(hanging.late(at + limitMs * 1.125)).toBe(1)
    }
  })

  test('never before the limit is over: who would end in time is not suspected', () => {
    const hanging = new Hanging(800)
    for (let at = 0; at < 100; at++) hanging.begin(at)
    expect(hanging.late(899)).toBe(0)
    expect(hanging.late(900)).toBe(100)
  })

  test('each ends once, young or late, in any order', () => {
    const hanging = new Hanging(80)
    const old = [hanging.begin(0), hanging.begin(1), hanging.begin(2)]
    const young = [hanging.begin(85), hanging.begin(95)]
    expect(hanging.late(95)).toBe(3)
    hanging.end(young[0]!)
    hanging.end(old[2]!)
    expect(hanging.late(95)).toBe(2)
    hanging.end(old[0]!)
    hanging.end(old[1]!)
    expect(hanging.late(95)).toBe(0)
    expect(hanging.late(1000)).toBe(1)
    hanging.end(young[1]!)
    expect(hanging.late(1000)).toBe(0)
  })

  test('a month without a call costs nine steps, and all are late after it', () => {
    const hanging = new Hanging(0.001)
    const serials = Array.from({ length: 5 }, (_, i) => hanging.begin(i * 0.0001))
    // Were the cost that of the gap, this would be 2 · 10^13 steps.
    expect(hanging.late(2_592_000_000)).toBe(5)
    for (const serial of serials) hanging.end(serial)
    expect(hanging.late(2_592_000_001)).toBe(0)
  })

  test('C06 a clock that steps back loses nobody, and a reading that is no time stops nothing', () => {
    const hanging = new Hanging(80)
    hanging.begin(1000)
    const back = hanging.begin(500)
    for (const now of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -5]) {
      hanging.end(hanging.begin(now))
      expect(hanging.late(now)).toBe(0)
    }
    expect(hanging.late(1090)).toBe(2)
    hanging.end(back)
    expect(hanging.late(1090)).toBe(1)
  })

  test('cleared, it knows nobody', () => {
    const hanging = new Hanging(80)
    for (const at of [0, 50, 100]) hanging.begin(at)
    hanging.clear()
    expect(hanging.late(1000)).toBe(0)
    hanging.begin(1000)
    expect([hanging.late(1089), hanging.late(1090)]).toEqual([0, 1])
  })

  test('a serial fits beside a method, also after 20 million eighths', () => {
    const hanging = new Hanging(8)
    let kept = hanging.begin(0)
    for (let at = 0; at < 2_000_000; at++) {
      hanging.end(kept)
      // Nine at a time is as fast as it turns.
      kept = hanging.begin(at * 9)
      if (kept < 0 || kept >= 1 << 24) throw new Error(`serial ${kept}`)
    }
    expect(hanging.late(2_000_000 * 9 - 1)).toBe(0)
    expect(hanging.late(2_000_000 * 9 + 9)).toBe(1)
    hanging.end(kept)
    expect(hanging.late(2_000_000 * 9 + 9)).toBe(0)
  })

  test('10^5 random steps: like looking at a list of all that are out', () => {
    let steps = 0
    const step = fc.tuple(fc.nat(9), fc.oneof(fc.constant(0), fc.nat(30), fc.nat(3000)), fc.nat(1000))
    const life = fc.array(step, { minLength: 250, maxLength: 250 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 400 }), fc.constantFrom(0, 7, 1e12), life, (limitMs, startAt, todo) => {
        const hanging = new Hanging(limitMs)
        let out: { at: number; serial: number }[] = []
        let now = startAt
        for (const [what, ms, pick] of todo) {
          now += ms
          if (what < 5) out.push({ at: now, serial: hanging.begin(now) })
          else if (what < 8 && out.length > 0) {
            const gone = out[pick % out.length]!
            hanging.end(gone.serial)
            out = out.filter((other) => other !== gone)
          }
          const late = out.filter(({ at }) => eighth(now, limitMs) - eighth(at, limitMs) > 8)
          if (late.some(({ at }) => now - at <= limitMs)) throw new Error('one that is young is called late')
          if (out.some((one) => now - one.at > limitMs * 1.126 && !late.includes(one))) throw new Error('one is missed')
          if (hanging.late(now) !== late.length)
            throw new Error(`${hanging.late(now)} and not ${late.length} at ${now}`)
          steps++
        }
      }),
      { seed: 41, numRuns: 400 },
    )
    expect(steps).toBe(100_000)
  })
})
