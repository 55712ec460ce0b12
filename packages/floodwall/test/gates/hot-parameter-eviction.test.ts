import fc from 'fast-check'
import { type HotParameterOptions, lru, tinyLfu } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { DebtSketch } from '../../src/algorithms/sketches/debt-sketch.ts'
import { Door } from './hot-parameter-scene.ts'

// Who is evicted, and what becomes of his debt: for one value, and where values have limits of their own.

const CACHES = ['lru', 'tinyLfu'] as const

/** Calls of many values that nobody knows, each as often as it may. */
function crowd(door: Door, values: number, round = 0): void {
  for (let i = 0; i < values; i++) door.hold(`stranger ${round} ${i}`, 12)
}

describe.each(CACHES)('limits of single values under a crowd, %s', (cache) => {
  test('1 an hour stays 1 an hour, however many invented values come in between', () => {
    const door = new Door({ rate: 10, max: 16, cache, overrides: { slow: { rate: 1 / 3600, burst: 1 } } })
    let passed = 0
    for (let round = 0; round < 20; round++) {
      passed += door.hold('slow', 3).length
      crowd(door, 40, round)
      door.world.advance('2s')
    }
    expect(passed).toBe(1)
    door.world.advance('1h')
    expect(door.hold('slow', 3)).toHaveLength(1)
  })

  test('five and never again stays five', () => {
    const door = new Door({ rate: 10, max: 16, cache, overrides: { trial: { rate: 0, burst: 5 } } })
    let passed = 0
    for (let round = 0; round < 20; round++) {
      passed += door.hold('trial', 10).length
      crowd(door, 40, round)
      door.world.advance('2s')
    }
    expect(passed).toBe(5)
  })

  test('at rate 0 for all each has its burst, once: later ones share a single one', () => {
    const door = new Door({ rate: 0, burst: 5, max: 4, cache })
    const passed = new Map<string, number>()
    for (let round = 0; round < 5; round++) {
      for (let i = 0; i < 12; i++) passed.set(`${i}`, (passed.get(`${i}`) ?? 0) + door.hold(`${i}`, 10).length)
      door.world.advance('1h')
    }
    expect([...passed.values()].slice(0, 5)).toEqual([5, 5, 5, 5, 5])
    expect([...passed.values()].reduce((sum, count) => sum + count)).toBe((4 + 1) * 5)
  })

  test('a closed value is closed where nobody can go, too', () => {
    const slots = new Door({ slots: 1, max: 1, cache, overrides: { banned: 0 } })
    slots.hold('a')
    expect([slots.hold('banned', 5), slots.hold('b', 5).length]).toEqual([[], 1])
    const rate = new Door({ rate: 10, max: 4, cache, overrides: { banned: 0 } })
    crowd(rate, 40)
    expect(rate.hold('banned', 5)).toEqual([])
  })

  test('values with a limit of their own take no place, leave no debt and inherit none', () => {
    const door = new Door({ rate: 1, burst: 10, max: 1, cache, overrides: { vip: { rate: 1, burst: 1000 } } })
    door.ask('vip', 500)
    expect([door.hold('a', 20).length, door.hold('vip', 600).length]).toEqual([10, 500])
    expect(door.shown).toMatchObject({ values: 2, max: 1, evicted: 0, inherited: 0 })
  })
})

describe('who comes back', () => {
  const idle = Array.from({ length: 12 }, (_, i) => `idle ${i}`)
  const full = Array.from({ length: 7 }, (_, i) => `full ${i}`)

  /** A is the first of the eight oldest of 20, who all owe: the throwaway takes his place and his debt. Then there is an idle place for A. */
  function throwOut(door: Door, round: number): void {
    for (const value of full) door.hold(value, 20)
    if (round > 0) door.ask(`throwaway ${round - 1}`)
    // It costs more than there can ever be: a record that owes nothing.
    for (const value of idle) door.ask(value, 11)
    door.ask(`throwaway ${round}`)
    for (const value of full) door.ask(value)
  }

  test('has not left his debt to a stranger who was sent to fetch it', () => {
    const door = new Door({ rate: 10, per: '1d', max: 20 })
    let passed = 0
    for (let round = 0; round < 4; round++) {
      passed += door.hold('A', 20).length
      throwOut(door, round)
    }
    expect([passed, door.shown.evicted > 3]).toEqual([10, true])
  })

  test('owes as many calls as before, when a reload has made them slower meanwhile', () => {
    const door = new Door({ rate: 10, per: '1d', max: 20 })
    door.hold('A', 10)
    throwOut(door, 0)
    door.reload({ rate: 10, per: '10d', max: 20 })
    door.world.advance('1d')
    expect(door.hold('A', 20)).toHaveLength(1)
  })

  test.each([
    ['lru', lru],
    ['tinyLfu', tinyLfu],
  ] as const)('property: no value gets more than burst + rate · t in any span, under eviction by %s', (_, cache) => {
    const step = fc.record({
      value: fc.integer({ min: 0, max: 9 }),
      ms: fc.integer({ min: 0, max: 400 }),
      cost: fc.integer({ min: 1, max: 2 }),
    })
    const limits = new Map([
      [0, { rate: 0.5, burst: 2 }],
      [1, { rate: 0, burst: 3 }],
      [2, { rate: 50, burst: 5 }],
    ])
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 3 }),
        fc.array(step, { maxLength: 120 }),
        (max, burst, steps) => {
          const overrides = [...limits] as HotParameterOptions['overrides']
          const door = new Door({ rate: 2, burst, max, cache, ...(overrides === undefined ? {} : { overrides }) })
          const granted = new Map<number, { at: number; cost: number }[]>()
          for (const { value, ms, cost } of steps) {
            const at = door.world.now()
            if (door.ask(value, cost).ok) granted.set(value, [...(granted.get(value) ?? []), { at, cost }])
            door.world.advance(ms)
          }
          for (const [value, grants] of granted) {
            const { rate, burst: most } = limits.get(value) ?? { rate: 2, burst }
            for (const [i, first] of grants.entries()) {
              let sum = 0
              for (const { at, cost } of grants.slice(i)) {
                sum += cost
                expect(sum).toBeLessThanOrEqual(most + (rate * (at - first.at)) / 1000 + 1e-6)
              }
            }
          }
        },
      ),
      { seed: 21, numRuns: 200 },
    )
  })
})

describe('a reload', () => {
  test('of a smaller table forgives nobody', () => {
    const door = new Door({ rate: 1, per: '1h', burst: 1, max: 100 })
    for (let i = 0; i < 50; i++) door.hold(i)
    door.reload({ rate: 1, per: '1h', burst: 1, max: 3 })
    for (let i = 0; i < 50; i++) expect(door.hold(i)).toEqual([])
  })

  test('that gives a value a limit of its own, or takes it away, keeps what it owes', () => {
    const door = new Door({ rate: 1, burst: 5, max: 3 })
    door.hold('a', 5)
    door.reload({ rate: 1, burst: 5, max: 3, overrides: { a: { rate: 2, burst: 5 } } })
    expect(door.hold('a', 5)).toEqual([])
    door.world.advance('1s')
    expect(door.hold('a', 5)).toHaveLength(2)
    door.reload({ rate: 1, burst: 5, max: 3 })
    expect([door.hold('a', 5).length, door.shown.values]).toEqual([0, 1])
  })

  test('is no use: who is often used stays as often used', () => {
    const seen: string[] = []
    const watched: typeof lru = (options) => {
      const cache = lru(options)
      const { get } = cache
      cache.get = (key) => {
        seen.push(String(key))
        return get.call(cache, key)
      }
      return cache
    }
    const door = new Door({ rate: 1, cache: watched })
    door.hold('a')
    const before = seen.length
    door.gate.idle?.(0)
    door.reload({ rate: 2, cache: watched })
    expect(seen.length).toBe(before)
  })
})

describe('the sketch of debts', () => {
  const SEED = [0.3, 0.1, 0.8, 0.6] as const

  test('property: never earlier than what was noted, and mostly just that', () => {
    const note = fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 1000 }))
    fc.assert(
      fc.property(fc.array(note, { maxLength: 100 }), (notes) => {
        const sketch = new DebtSketch(50, SEED)
        const latest = new Map<number, number>()
        for (const [value, time] of notes) {
          sketch.note(value, time)
          latest.set(value, Math.max(latest.get(value) ?? 0, time))
        }
        let later = 0
        for (const [value, time] of latest) {
          expect(sketch.until(value)).toBeGreaterThanOrEqual(time)
          if (sketch.until(value) > time) later++
        }
        expect(later).toBeLessThanOrEqual(0.2 * latest.size + 2)
      }),
      { seed: 22, numRuns: 200 },
    )
  })

  test('the worked example: as many owe as there are places, and 5 of 100 strangers are taken for them', () => {
    const sketch = new DebtSketch(16_384, SEED)
    for (let i = 0; i < 16_384; i++) sketch.note(`debtor ${i}`, 1000)
    const taken = Array.from({ length: 10_000 }, (_, i) => sketch.until(`stranger ${i}`) > 0).filter(Boolean).length
    expect(Math.abs(taken / 10_000 - 0.05)).toBeLessThan(0.01)
  })

  test('stretched, debts last longer from now on; what is past is past', () => {
    const sketch = new DebtSketch(4, SEED)
    expect(sketch.until('a')).toBe(Number.NEGATIVE_INFINITY)
    sketch.note('a', 300)
    sketch.stretch(10, 100)
    expect(sketch.until('a')).toBe(2100)
    for (const factor of [0, Number.POSITIVE_INFINITY, Number.NaN]) sketch.stretch(factor, 100)
    sketch.stretch(2, 5000)
    expect(sketch.until('a')).toBe(2100)
  })
})
