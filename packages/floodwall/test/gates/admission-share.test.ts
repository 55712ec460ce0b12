import { describe, expect, test } from 'vitest'
import { Doorkeeper } from '../../src/algorithms/admission/doorkeeper.ts'
import { COHORTS } from '../../src/algorithms/admission/priority.ts'
import { Share } from '../../src/algorithms/admission/share.ts'
import { Surge } from '../../src/algorithms/admission/surge.ts'

// What a signal leaves of the load, how that comes back, and how a surge ends whose pace is not known.

/** Looks ten times a second; the share after that. */
function look(share: Share, level: number | (() => number), ms: number, from = 0): number {
  for (let at = from; at < from + ms; at += 100) share.look(typeof level === 'number' ? level : level(), at)
  return share.value
}

describe('a share', () => {
  test('falls while the signal is above 1, the faster the further above, and rises after it', () => {
    expect(look(new Share(), 1, 10_000)).toBe(1)
    const slow = new Share()
    expect(look(slow, 1.05, 1000)).toBeCloseTo(0.97 ** 10, 6)
    const share = new Share()
    expect(look(share, 1.5, 1000)).toBeCloseTo(0.88 ** 10, 6)
    expect(look(share, 3, 10_000, 1000)).toBe(0.05)
    expect(look(share, 0.9, 1000, 11_000)).toBeCloseTo(0.25, 6)
    expect(look(share, 0.9, 5000, 12_000)).toBe(1)
  })

  test('rises by the time, not by the looks: one a minute is enough', () => {
    const share = new Share()
    look(share, 3, 5000)
    share.look(0, 65_000)
    expect(share.value).toBe(1)
  })

  test('returns to 1 where shedding does not help, until it becomes worse', () => {
    for (const noise of [0, 0.04]) {
      let i = 0
      const level = () => 1.3 + noise * Math.sin(i++)
      const share = new Share()
      expect(look(share, level, 10_000)).toBe(0.05)
      expect(look(share, level, 20_000, 10_000)).toBe(1)
      expect(look(share, level, 600_000, 30_000)).toBe(1)
      expect(look(share, 2, 5000, 630_000)).toBe(0.05)
    }
    // Well in between: the same level is news.
    const share = new Share()
    look(share, 1.3, 60_000)
    look(share, 0.5, 100, 60_000)
    expect(look(share, 1.3, 6000, 60_100)).toBe(0.05)
  })

  test('stays low while that helps', () => {
    const share = new Share()
    let level = 4
    for (let at = 0; at < 60_000; at += 100) {
      level *= 0.9985
      share.look(Math.max(1.1, level), at)
    }
    expect(share.value).toBe(0.05)
  })
})

describe('a surge whose pace is not known', () => {
  test('ends when nobody has waited for a second, of twenty who came', () => {
    const begun = () => {
      const surge = new Surge()
      surge.arrive(0, true, 64, 0, true)
      return surge
    }
    const surge = begun()
    let endedAt = -1
    for (let at = 10; at < 5000 && endedAt < 0; at += 10) if (surge.arrive(at, false, 0, 0, true)) endedAt = at
    expect(endedAt).toBe(1010)
    // Five in a second are too few, one who waits begins it anew, and so does one who stands for others.
    const few = begun()
    for (let at = 0; at < 3600; at += 200) few.arrive(at + 1, false, 0, 0, true)
    expect(few.on).toBe(true)
    for (const [waits, standsFor] of [
      [true, 1],
      [false, 3],
    ] as const) {
      const other = begun()
      for (let at = 1; at < 5000; at += 10)
        other.arrive(at, at % 500 === 1 && waits, 0, 0, true, at % 500 === 1 ? standsFor : 1)
      expect(other.on).toBe(true)
    }
  })

  test('a service that hung and is well again takes everybody', () => {
    const keeper = new Doorkeeper({ targetMs: 0, patienceMs: 10_000, limits: { start: 4, most: 1000 }, signals: [] })
    let now = 0
    for (let i = 0; i < 4; i++) {
      keeper.arrive(1, 64, 0, 0, now)
      keeper.begun(1, true, 0, now)
    }
    for (let i = 0; i < 300; i++) keeper.arrive(1, 64, 0, i, (now += 1))
    expect(keeper.overloaded).toBe(true)
    for (let i = 0; i < 4; i++) {
      keeper.evidence(now, 4, 'timeout', 0, now)
      keeper.released()
    }
    // 20 a second, of 20 ms each: nothing to it, and nothing from which the pace could be learned.
    let refused = 0
    for (let i = 0; i < 100; i++) {
      now += 50
      if (keeper.arrive(1, ((i * 0.37) % 1) * COHORTS, 0, 0, now) !== 0) refused++
      else {
        const inside = keeper.begun(1, true, 0, now)
        keeper.evidence(20, inside, 'success', 0, now + 20)
        keeper.released()
      }
    }
    expect([keeper.overloaded, refused < 40]).toEqual([false, true])
  })
})
