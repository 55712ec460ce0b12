import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AdmissionLevel } from '../../src/algorithms/admission/admission-level.ts'
import { ByClass } from '../../src/algorithms/admission/by-class.ts'
import { levelOf, levelText, OPEN, wouldAdmit } from '../../src/algorithms/admission/level.ts'
import { Pace } from '../../src/algorithms/admission/pace.ts'
import { highest } from '../../src/algorithms/admission/pressure.ts'
import { COHORTS, cohortOf, LAST_PLACE, placeOf } from '../../src/algorithms/admission/priority.ts'
import { Surge } from '../../src/algorithms/admission/surge.ts'

// Who goes first, how far down the line it is open, and when that matters: the parts, each by itself.

const CLASSES = ['criticalPlus', 'critical', 'sheddablePlus', 'sheddable'] as const
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const key = fc.oneof(fc.string(), fc.integer())

describe('places', () => {
  test('every place of a class lies before every place of the classes below', () => {
    fc.assert(
      fc.property(fc.nat(3), key, fc.nat(500_000), chance, (rank, whose, hour, dice) => {
        const place = placeOf(rank, whose, hour, dice)
        expect(place).toBeGreaterThanOrEqual(rank * COHORTS)
        expect(place).toBeLessThan((rank + 1) * COHORTS)
      }),
      { seed: 1, numRuns: 2000 },
    )
  })

  test('a user stays in his cohort for an hour, and not for longer', () => {
    const cohorts = Array.from({ length: 200 }, (_, hour) => cohortOf('user-17', hour))
    expect(cohortOf('user-17', 3)).toBe(cohorts[3])
    expect(new Set(cohorts).size).toBeGreaterThan(80)
  })

  test('users spread evenly over the cohorts, in every hour', () => {
    for (const hour of [0, 1, 493_000]) {
      const counts = new Array<number>(COHORTS).fill(0)
      for (let user = 0; user < 12_800; user++) counts[cohortOf(`user-${user}`, hour)]! += 1
      expect(Math.min(...counts)).toBeGreaterThan(55)
      expect(Math.max(...counts)).toBeLessThan(150)
    }
  })

  test('who says no key stands anywhere in his class', () => {
    expect([placeOf(1, '', 5, 0), placeOf(1, '', 5, 0.5), placeOf(1, '', 6, 0.5)]).toEqual([128, 192, 192])
  })
})

describe('a level', () => {
  test('that admits a call admits every one of a higher class; who is admitted at it is admitted at all above', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: OPEN, noNaN: true }),
        fc.nat(2),
        key,
        fc.nat(1000),
        chance,
        chance,
        (level, rank, whose, hour, dice, other) => {
          const [higher, lower] = [CLASSES[rank]!, CLASSES[rank + 1]!]
          if (wouldAdmit(level, lower, whose, hour, dice)) expect(wouldAdmit(level, higher, '', hour, other)).toBe(true)
          if (wouldAdmit(level, lower, whose, hour, dice))
            expect(wouldAdmit(Math.min(OPEN, level + 1), lower, whose, hour, dice)).toBe(true)
        },
      ),
      { seed: 2, numRuns: 2000 },
    )
  })

  test('refuses by chance within one cohort only', () => {
    // 145.25: of cohort 17 a quarter, of 16 all, of 18 nobody.
    const user = (cohort: number) => {
      for (let i = 0; ; i++) if (cohortOf(i, 7) === cohort) return i
    }
    const admitted = (cohort: number) =>
      Array.from({ length: 100 }, (_, i) => wouldAdmit(145.25, 'critical', user(cohort), 7, i / 100)).filter(Boolean)
        .length
    expect([16, 17, 18].map(admitted)).toEqual([100, 25, 0])
  })

  test('goes over the wire and back; nothing else does', () => {
    expect([OPEN, 166.4, 0, 1 / 3].map(levelText)).toEqual(['512', '166.4', '0', '0.33'])
    expect(['512', '166.4', '0', '0.33'].map(levelOf)).toEqual([512, 166.4, 0, 0.33])
    for (const text of ['', '-1', '513', '1e2', 'NaN', '0x10', '1.234', ' 1', '9999'])
      expect(levelOf(text)).toBeUndefined()
  })

  test('is cut where as many stand before it as can be done, with a margin', () => {
    const cut = new AdmissionLevel()
    for (let i = 0; i < 400; i++) cut.offer(128 + (i * 128) / 400)
    // All had to wait: the margin of 1.5 comes down to 1.485.
    cut.adjust(100, 0, 1)
    expect(cut.level).toBeCloseTo(128 + (148.5 / 400) * 128, 1)
  })

  test('opens while calls find room at once, closes while all wait', () => {
    const levels = (atOnce: number) => {
      const cut = new AdmissionLevel()
      return Array.from({ length: 40 }, () => {
        for (let i = 0; i < 400; i++) cut.offer(128 + (i * 128) / 400)
        cut.adjust(100, atOnce, 1)
        return cut.level
      })
    }
    expect(levels(0.5).at(-1)).toBeCloseTo(128 + 0.75 * 128, 0)
    expect(levels(0).at(-1)).toBeCloseTo(128 + 0.255 * 128, 0)
  })

  test('is open when less is offered than can be done, and when nothing is', () => {
    const cut = new AdmissionLevel()
    for (let i = 0; i < 50; i++) cut.offer(200)
    cut.adjust(100, 0, 1)
    expect(cut.level).toBe(LAST_PLACE)
    cut.adjust(0, 0, 1)
    expect(cut.level).toBe(LAST_PLACE)
  })

  test('knows of which classes none has to be refused, and does not change its mind by chance', () => {
    const cut = new AdmissionLevel()
    /** So many of the two upper classes, of 100 that are done. */
    const after = (top: number, second: number) => {
      for (let round = 0; round < 20; round++) {
        for (let i = 0; i < top; i++) cut.offer(64)
        for (let i = 0; i < second; i++) cut.offer(192)
        for (let i = 0; i < 400; i++) cut.offer(300)
        cut.adjust(100, 0, 1)
      }
      return cut.sparedRank
    }
    expect(cut.sparedRank).toBe(-1)
    expect([after(40, 50), after(30, 40), after(40, 50), after(40, 70), after(40, 50)]).toEqual([0, 1, 1, 0, 0])
    expect(after(110, 0)).toBe(-1)
    cut.open()
    expect(cut.sparedRank).toBe(-1)
  })

  test('is lowered by signals', () => {
    const cut = new AdmissionLevel()
    for (let i = 0; i < 128; i++) cut.offer(128 + i)
    cut.adjust(1000, 1, 0.25)
    expect(cut.level).toBe(160)
  })
})

describe('classes in time', () => {
  test('after a refusal lower ones are locked, after an admission higher ones are spared, for 100 ms', () => {
    const classes = new ByClass()
    classes.refuse(1, true, 0)
    expect([classes.isLocked(2, 99), classes.isLocked(2, 100), classes.isLocked(1, 1), classes.isLocked(0, 1)]).toEqual(
      [true, false, false, false],
    )
    classes.admit(3, 200)
    expect([classes.sparedUntil(0), classes.sparedUntil(3)]).toEqual([300, Number.NEGATIVE_INFINITY])
  })

  test('an inversion is counted, once, whichever comes first', () => {
    const classes = new ByClass()
    classes.refuse(1, true, 0)
    classes.admit(3, 50)
    expect(classes.inversions).toBe(1)
    classes.admit(3, 100)
    expect(classes.inversions).toBe(1)
    classes.refuse(2, true, 199)
    expect(classes.inversions).toBe(2)
    // Its own time was over: that is nobody's choice.
    classes.refuse(0, false, 199)
    expect(classes.inversions).toBe(2)
  })

  test('who leaves at the moment until which he was spared is none, whatever was rounded', () => {
    for (const at of [0, 28.2, 1000.1, 4000 / 3, 86_400_000.7]) {
      const classes = new ByClass()
      classes.admit(3, at)
      classes.refuse(1, true, classes.sparedUntil(1))
      expect([classes.inversions, classes.isLocked(3, classes.sparedUntil(1) + 100)]).toEqual([0, false])
    }
  })
})

describe('a surge', () => {
  const offer = (surge: Surge, perUnit: number, units: number, from = 0): number => {
    for (let i = 0; i < units * perUnit; i++) if (surge.arrive(from + i / perUnit, true, 0, 1, true)) return i / perUnit
    return Number.POSITIVE_INFINITY
  }

  test('begins within six units of time at four times the load, and never at nine tenths that come evenly', () => {
    expect(offer(new Surge(), 4, 100)).toBeLessThan(6)
    expect(offer(new Surge(), 0.9, 20_000)).toBe(Number.POSITIVE_INFINITY)
  })

  test('does not begin when a busy loop finds what came in its last turn all at once, whether the first of them waited or not', () => {
    const surge = new Surge()
    surge.arrive(0, false, 0, 1, true)
    for (let turn = 1; turn <= 2000; turn++) {
      // Nine in ten units of time: as many as come at nine tenths.
      for (let i = 0; i < 9; i++) surge.arrive(turn * 10, i > 0, i, 1, true, 1, turn * 10, false)
      expect(surge.on).toBe(false)
    }
    // And at four times the load within three turns.
    for (let turn = 2001; turn <= 2003; turn++)
      for (let i = 0; i < 40; i++) surge.arrive(turn * 10, true, i, 1, true, 1, turn * 10, false)
    expect(surge.on).toBe(true)
  })

  test('is not over because twenty calls in a second happened to find room', () => {
    const surge = new Surge()
    const at = offer(surge, 4, 100)
    for (let i = 0; i < 63; i++) expect(surge.arrive(at + 100 * i, false, 0, 0, true)).toBe(false)
    expect(surge.arrive(at + 6300, false, 0, 0, true)).toBe(true)
  })

  test('does not begin while nobody waits, nor by its rate while the limit is still being found', () => {
    const surge = new Surge()
    for (let i = 0; i < 1000; i++) surge.arrive(i / 10, false, 0, 1, true)
    for (let i = 0; i < 1000; i++) surge.arrive(100 + i / 10, true, 100, 1, false)
    expect(surge.on).toBe(false)
    expect(surge.arrive(300, true, 256, 1, false)).toBe(true)
  })

  test('ends when less comes, and after silence at once', () => {
    const surge = new Surge()
    const at = offer(surge, 4, 100)
    expect(offer(surge, 1.5, 10_000, at)).toBe(Number.POSITIVE_INFINITY)
    expect(offer(surge, 0.8, 200, at + 10_000)).toBeLessThan(100)
    offer(surge, 4, 100, 20_000)
    expect([surge.on, surge.arrive(21_000, false, 0, 1, true), surge.on]).toEqual([true, true, false])
  })
})

describe('pace', () => {
  test('counts from end to end while somebody waits here', () => {
    const pace = new Pace()
    for (let i = 0; i <= 30; i++) pace.end(i * 5, true)
    expect(pace.perMs).toBeCloseTo(0.2, 6)
    // Idle time in between says nothing.
    pace.end(155, false)
    for (let i = 0; i <= 30; i++) pace.end(10_000 + i * 5, true)
    expect(pace.perMs).toBeCloseTo(0.2, 6)
  })

  test('counts what calls tell that waited unseen', () => {
    const pace = new Pace()
    for (let i = 0; i < 30; i++) {
      pace.seen(i * 20, 50)
      pace.end(i * 20 + 20, false)
    }
    expect(pace.perMs).toBeCloseTo(0.05, 6)
  })

  test('is not known before a dozen', () => {
    const pace = new Pace()
    for (let i = 0; i < 11; i++) pace.end(i, true)
    expect(pace.perMs).toBe(0)
  })
})

test('the highest signal counts; one that fails says nothing', () => {
  const signal = (level: () => number) => ({ name: 'x', level })
  const broken = signal(() => {
    throw new Error('gone')
  })
  expect(highest([], 0)).toBe(0)
  expect(highest([signal(() => 0.5), broken, signal(() => 1.5), signal(() => Number.NaN)], 0)).toBe(1.5)
})
