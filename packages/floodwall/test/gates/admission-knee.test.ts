import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Knee } from '../../src/algorithms/estimators/knee.ts'
import { VERDICTS } from '../support/asks.ts'

// How many at once: against servers that are a formula.

/** `windows` times a call that met a server of so many workers, full up to the limit. */
function saturate(knee: Knee, workers: number, serviceMs: number, calls: number): void {
  for (let i = 0; i < calls; i++) {
    const inside = knee.limit
    knee.sample(serviceMs * Math.max(1, inside / workers), inside, 'success')
  }
}

/** Calls that found the server half empty. */
function calm(knee: Knee, serviceMs: number, calls = 100): void {
  for (let i = 0; i < calls; i++) knee.sample(serviceMs, 1 + (i % 2), 'success')
}

describe('the limit', () => {
  test.each([1, 2, 4, 16, 64, 256])('finds %d workers, and leaves some room', (workers) => {
    const knee = new Knee()
    calm(knee, 20)
    saturate(knee, workers, 20, 20_000)
    expect(knee.limit).toBeGreaterThanOrEqual(workers)
    expect(knee.limit).toBeLessThanOrEqual(Math.ceil(workers * 1.75) + 1)
  })

  test('doubles at first: 64 workers are busy after five round trips', () => {
    const knee = new Knee()
    let trips = 0
    while (knee.limit < 64) {
      for (let i = knee.limit; i > 0; i--) knee.sample(20, knee.limit, 'success')
      trips++
    }
    expect(trips).toBeLessThanOrEqual(5)
  })

  test('stays where it is while nobody meets it', () => {
    const knee = new Knee()
    calm(knee, 20)
    saturate(knee, 8, 20, 5000)
    const { limit } = knee
    for (let i = 0; i < 10_000; i++) knee.sample(20, 1 + (i % 3), 'success')
    expect(knee.limit).toBe(limit)
  })

  test('follows work that has become slower while it was full, and faster again', () => {
    const knee = new Knee()
    calm(knee, 20)
    saturate(knee, 8, 20, 5000)
    saturate(knee, 8, 60, 5000)
    expect(knee.limit).toBeGreaterThanOrEqual(8)
    saturate(knee, 8, 20, 5000)
    expect(knee.limit).toBeGreaterThanOrEqual(8)
    // Too high by the factor of the change at the most: no call is seen that did not wait.
    expect(knee.limit).toBeLessThanOrEqual(42)
    // As soon as it is seen half empty, it is exact again.
    calm(knee, 20, 300)
    saturate(knee, 8, 20, 5000)
    expect(knee.limit).toBeLessThanOrEqual(15)
  })

  test('does not follow a queue, however long it stands', () => {
    const knee = new Knee()
    calm(knee, 20)
    saturate(knee, 4, 20, 100_000)
    expect(knee.limit).toBeLessThanOrEqual(7)
    expect(knee.baseMs).toBeCloseTo(20, 6)
  })

  test('is never below 2 nor above the most, whatever comes', () => {
    const sample = fc.tuple(
      fc.double({ noNaN: false }),
      fc.integer({ min: 1, max: 5000 }),
      fc.constantFrom(...VERDICTS),
    )
    fc.assert(
      fc.property(fc.array(sample, { maxLength: 400, size: 'max' }), (samples) => {
        const knee = new Knee({ start: 4, most: 50 })
        for (const [took, inside, verdict] of samples) {
          knee.sample(took, inside, verdict)
          if (!(knee.limit >= 2 && knee.limit <= 50)) throw new Error(`a limit of ${knee.limit}`)
        }
      }),
      { seed: 3, numRuns: 100 },
    )
  })
})

describe('C13 an adaptive limit and what is no work', () => {
  test('C13 falls on timeouts of any variance, learns nothing of refusals and cancels, does not grow with one in flight', () => {
    const knee = new Knee()
    for (let i = 0; i < 200; i++) knee.sample(20, 10, 'success')
    const before = knee.limit
    for (let i = 0; i < 120; i++) knee.sample(5000, 10, 'timeout')
    expect(knee.limit).toBeLessThan(before)
    expect(knee.limit).toBeGreaterThanOrEqual(1)
    const fallen = knee.limit
    for (let i = 0; i < 50; i++) knee.sample(0, 10, 'ignored')
    for (let i = 0; i < 100; i++) knee.sample(5, 10, 'ignored')
    for (let i = 0; i < 50; i++) knee.sample(0, 10, 'failure')
    expect([knee.limit, knee.baseMs]).toEqual([fallen, 20])
    for (let i = 0; i < 3000; i++) knee.sample(20, 1, 'success')
    expect([knee.limit, knee.baseMs]).toEqual([fallen, 20])
  })

  test('C13 settles under mild overload that lasts', () => {
    const knee = new Knee()
    calm(knee, 20)
    const limits: number[] = []
    // Ten minutes of 25 ms: 4 workers of 20 ms, and one who waits.
    for (let i = 0; i < 120_000; i++) {
      knee.sample(25, 5, 'success')
      if (i % 200 === 0) limits.push(knee.limit)
    }
    const late = limits.slice(-60)
    expect(Math.max(...late)).toBeLessThan(1000)
    expect(Math.max(...late) / Math.min(...late)).toBeLessThan(1.05)
  })
})

describe('drops among calls as fast as ever', () => {
  /** The server of `saturate`, where one in so many is refused by somebody further in. */
  const withDrops = (knee: Knee, workers: number, oneIn: number, calls: number) => {
    let chance = 1
    for (let i = 0; i < calls; i++) {
      chance = (Math.imul(chance, 1_664_525) + 1_013_904_223) >>> 0
      const inside = knee.limit
      if (chance / 2 ** 32 < 1 / oneIn) knee.sample(1, inside, 'overload')
      else knee.sample(20 * Math.max(1, inside / workers), inside, 'success')
    }
  }

  test.each([20, 10, 6])('one in %d does not keep the limit below the knee', (oneIn) => {
    const knee = new Knee()
    calm(knee, 20)
    withDrops(knee, 16, oneIn, 20_000)
    expect(knee.limit).toBeGreaterThanOrEqual(16)
    expect(knee.limit).toBeLessThanOrEqual(32)
  })

  test('a third of them does, and when they are over it grows again', () => {
    const knee = new Knee()
    calm(knee, 20)
    withDrops(knee, 16, 20, 5000)
    withDrops(knee, 16, 3, 5000)
    expect(knee.limit).toBeLessThan(10)
    saturate(knee, 16, 20, 5000)
    expect(knee.limit).toBeGreaterThanOrEqual(16)
  })

  test('few among slow ones lower it', () => {
    // What waits inside too long times out: one in ten, while the others take more than half as long again.
    const limitWith = (verdict: 'timeout' | 'ignored') => {
      const knee = new Knee()
      calm(knee, 20)
      saturate(knee, 16, 20, 5000)
      for (let i = 0; i < 4000; i++) {
        if (i % 10 === 0) knee.sample(60, knee.limit, verdict)
        else saturate(knee, 16, 20, 1)
      }
      return knee.limit
    }
    expect(limitWith('timeout')).toBeLessThan(limitWith('ignored'))
  })
})

test('inspect() is plain numbers', () => {
  const knee = new Knee()
  calm(knee, 20)
  expect(knee.inspect()).toMatchObject({ kind: 'knee', limit: knee.limit, baseMs: 20, queueMs: 0 })
})
