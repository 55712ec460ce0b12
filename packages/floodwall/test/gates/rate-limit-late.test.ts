import { type Gate, isRejected, limiter, pace, pipeline, rateLimit } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import type { RateAlgorithm } from '../../src/algorithms/gates/rate-limit-settings.ts'
import { costOn, receipt, timeOn } from '../../src/algorithms/rates/receipt.ts'
import { Slot, Slots } from '../../src/algorithms/rates/slots.ts'
import { offered } from '../support/asks.ts'
import { rateBy } from '../support/rates.ts'

// Who waits elsewhere and leaves gives back what he took. It must not be more than the rate has forgotten of it.

const ALGORITHMS = [
  'tokenBucket',
  'gcra',
  'leakyBucket',
  'slidingLog',
  'fixedWindow',
  'slidingWindow',
  'warmUp',
] as const

/** How many calls pass the limit, asked at once. */
const passing = (gate: Gate, now: number): number => offered(gate, 50, now).length

function gateOf(algorithm: RateAlgorithm, startAt = 0): { world: VirtualRuntime; gate: Gate } {
  const world = new VirtualRuntime({ startAt })
  return { world, gate: rateLimit({ rate: 10, algorithm }).build(world.env('api/rateLimit')) as Gate }
}

describe('C21 a cost that comes back late', () => {
  test.each(ALGORITHMS)(
    'C21 %s: ten callers leave a line behind it after 1001 ms, and ten pass, not twenty',
    async (algorithm) => {
      const world = new VirtualRuntime()
      const p = pipeline('p', [rateLimit({ rate: 10, algorithm }), pace({ rate: 1, per: '1h', atMost: '20h' })], {
        runtime: world,
      })
      const leave = new AbortController()
      const limited: Promise<unknown>[] = []
      let waiting = 0
      for (let i = 0; i < 10; i++)
        limited.push(
          p
            .call(() => 'went', { signal: leave.signal })
            .catch((error: Error) => {
              if (!isRejected(error)) waiting++
            }),
        )
      await world.advanceAsync(1001)
      // As many as pass stay in the line, and more are refused by the limit.
      const refused: string[] = []
      const again = (count: number) => {
        for (let i = 0; i < count; i++)
          p.call(() => 'went').catch((error: Error) => isRejected(error) && refused.push(error.message))
      }
      again(20)
      leave.abort()
      again(20)
      await world.advanceAsync(0)
      expect(waiting).toBeGreaterThanOrEqual(algorithm === 'warmUp' ? 2 : 9)
      expect(refused.every((message) => message.includes('p/rateLimit'))).toBe(true)
      expect(40 - refused.length).toBeLessThanOrEqual(10)
      p.close()
    },
  )

  test.each([
    ['tokenBucket', 1001, [10, 0]],
    ['tokenBucket', 500, [5, 0]],
    ['tokenBucket', 50, [0, 5]],
    ['gcra', 500, [5, 0]],
    ['leakyBucket', 500, [5, 0]],
    ['slidingLog', 999, [0, 10]],
    ['slidingLog', 1000, [10, 0]],
    ['fixedWindow', 999, [0, 10]],
    ['fixedWindow', 1000, [10, 0]],
    ['slidingWindow', 999, [0, 10]],
    ['slidingWindow', 1500, [5, 5]],
    ['slidingWindow', 2000, [10, 0]],
  ] as const)('C21 %s: ten given back after %d ms: %j pass before and after', (algorithm, afterMs, passed) => {
    for (const startAt of [0, 0.1, 1e6 + 0.7]) {
      const { world, gate } = gateOf(algorithm, startAt)
      const permits = offered(gate, 10, world.now())
      world.advance(afterMs)
      const before = passing(gate, world.now())
      for (const permit of permits) permit.cancel(world.now())
      expect([before, passing(gate, world.now())], String(startAt)).toEqual(passed)
    }
  })

  test.each(ALGORITHMS)(
    'C21 %s: given back at once, all of it is there, whatever it cost and whenever',
    (algorithm) => {
      for (const startAt of [0, 0.1, 12_345.678, 1e9 + 1 / 3, 1e12 + 0.7])
        for (const cost of [0, 0.25, 1, 3, 10]) {
          const { world, gate } = gateOf(algorithm, startAt)
          const [permit] = offered(gate, 1, world.now(), { cost })
          permit?.cancel(world.now())
          expect(offered(gate, 1, world.now(), { cost: 10 }), `${cost} at ${startAt}`).toHaveLength(1)
        }
    },
  )

  test('a bucket whose rate has changed forgets what it has earned no less', () => {
    const world = new VirtualRuntime()
    const gate = rateLimit({ rate: 1000, burst: 10 }).build(world.env()) as Gate
    const permits = offered(gate, 10, 0)
    world.advance(1000)
    rateLimit({ rate: 1, burst: 10 }).build(world.env(), gate)
    expect(passing(gate, 1000)).toBe(10)
    for (const permit of permits) permit.cancel(1000)
    expect(passing(gate, 1000)).toBe(0)
  })
})

describe('a limiter', () => {
  test.each(['tokenBucket', 'gcra', 'leakyBucket'] as const)(
    'by %s: ten that are not used for 500 ms are not fifteen',
    (algorithm) => {
      const world = new VirtualRuntime()
      const it = limiter({ rate: 10, algorithm }, world)
      const promised = it.reserve(10)
      world.advance(500)
      expect(it.allow(5)).toBe(true)
      if (promised.ok) promised.cancel()
      // Five more: for the others half a second has made up.
      expect([it.allow(5), it.allow(1)]).toEqual([true, false])
    },
  )

  test('the time of a question does not grow with what is promised', () => {
    const slots = new Slots(rateBy('gcra', { rate: 1000, burst: 1 }))
    const promises = Array.from({ length: 20_000 }, () => slots.reserve(1, 0, 1e9) as Slot)
    slots.cancel(promises[9000] as Slot, 0)
    let reads = 0
    for (const slot of promises) {
      let { following } = slot
      Object.defineProperty(slot, 'following', {
        get: () => (reads++, following),
        set(next: Slot | null) {
          following = next
        },
      })
    }
    // Nothing free is large enough.
    for (let i = 0; i < 100; i++) expect(slots.reserve(2, 0, 10)).toBe(Number.POSITIVE_INFINITY)
    expect(reads).toBe(0)
    expect((slots.reserve(1, 0, 1e9) as Slot).at).toBe(promises[9000]?.at)
  })

  test('of places that are free the earliest goes first, and each once', () => {
    const slots = new Slots(rateBy('gcra', { rate: 1000, burst: 1 }))
    const promises = Array.from({ length: 10 }, () => slots.reserve(1, 0, 1e9) as Slot)
    for (const i of [7, 3, 5]) slots.cancel(promises[i] as Slot, 0)
    const ats = [1, 2, 3, 4].map(() => (slots.reserve(1, 0, 1e9) as Slot).at)
    expect(ats).toEqual([3, 5, 7, 10])
  })
})

describe('the receipt of a permit', () => {
  const { gate } = gateOf('gcra')

  test.each([1, 2, 127, 128, 0.5, 0, 1e300])('tells the cost %d, and a time that is not after the true one', (cost) => {
    for (const at of [0, 0.1, 2047.9999999, 2048, 1e6 / 3, 1e9 + 1 / 7, 3e10 + 0.3, 1e12 + 0.7]) {
      const permit = receipt(gate, cost, at)
      expect(costOn(permit) + 0).toBe(cost)
      if (cost === 0) continue
      expect(timeOn(permit, at)).toBe(at)
      for (const later of [0.001, 5, 2048, 1e5, 3e10]) {
        const told = timeOn(permit, at + later)
        expect(told).toBeLessThanOrEqual(at)
        expect(told).toBeGreaterThan(at - 2e-6 - at * 2 ** -50)
      }
    }
  })

  test('of a small cost, it is two numbers of 31 bits', () => {
    for (const at of [0, 2047.9999999, 1e12 + 0.7]) {
      const { tag, generation } = receipt(gate, 127, at)
      for (const number of [tag, generation]) expect(number).toBe(number | 0)
    }
  })
})
