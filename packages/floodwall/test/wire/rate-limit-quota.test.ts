import fc from 'fast-check'
import { type Ask, type Gate, keyed, pipeline, type RateAlgorithm, rateLimit } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { quotasOf } from '../../src/core/quotas.ts'

// What a limit says that it has left is what it has.

const algorithms: readonly RateAlgorithm[] = [
  'tokenBucket',
  'gcra',
  'leakyBucket',
  'slidingLog',
  'slidingWindow',
  'fixedWindow',
  'warmUp',
]

function gateOf(algorithm: RateAlgorithm, rate: number, world: VirtualRuntime): Gate {
  const p = pipeline('api', [rateLimit({ rate, per: '1s', algorithm })], { runtime: world })
  return p.find('rateLimit') as Gate
}

const askAt = (now: number, cost = 1): Ask => ({
  now,
  deadline: Number.POSITIVE_INFINITY,
  criticality: 'critical',
  cost,
  key: '',
})

describe.each(algorithms)('%s', (algorithm) => {
  test('asking takes nothing; what is left can be taken, and one more after the time that it says', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0.3, 1, 2.5, 7, 100),
        fc.array(fc.tuple(fc.nat(900), fc.integer({ min: 1, max: 4 })), { maxLength: 12 }),
        (rate, steps) => {
          const [one, other] = [
            gateOf(algorithm, rate, new VirtualRuntime()),
            gateOf(algorithm, rate, new VirtualRuntime()),
          ]
          let now = 0
          for (const [wait, cost] of steps) {
            now += wait
            one.quota?.(askAt(now))
            // Nothing was taken: the same answers as one that was not asked.
            expect(one.tryAcquire(askAt(now, cost)).ok).toBe(other.tryAcquire(askAt(now, cost)).ok)
          }
          const said = one.quota?.(askAt(now))
          if (said === undefined) throw new Error('no quota')
          const { left, resetMs } = said
          expect(left).toBeGreaterThanOrEqual(0)
          if (left > 0) expect(other.tryAcquire(askAt(now, left)).ok).toBe(true)
          // From cold one passes that is not earned yet.
          else if (algorithm !== 'warmUp') expect(other.tryAcquire(askAt(now)).ok).toBe(false)
          if (algorithm !== 'warmUp' && resetMs > 0 && Number.isFinite(resetMs)) {
            expect(one.tryAcquire(askAt(now, left + 1)).ok).toBe(false)
            expect(one.tryAcquire(askAt(now + resetMs + 1e-6, left + 1)).ok).toBe(true)
          }
        },
      ),
      { seed: 11, numRuns: 60 },
    )
  })
})

test('a bucket says its burst and the time in which it fills; a window what it allows', () => {
  const world = new VirtualRuntime()
  const said = (options: Parameters<typeof rateLimit>[0]) =>
    (pipeline('api', [rateLimit(options)], { runtime: world }).find('rateLimit') as Gate).quota?.(askAt(0))
  expect(said({ rate: 5, burst: 10 })).toEqual({ limit: 10, windowMs: 2000, left: 10, resetMs: 0 })
  expect(said({ rate: 60, per: '1m', burst: 2 })).toMatchObject({ limit: 2, windowMs: 2000 })
  expect(said({ rate: 0.2 })).toMatchObject({ limit: 1, windowMs: 5000 })
  expect(said({ rate: 100, per: '1m', algorithm: 'fixedWindow' })).toMatchObject({ limit: 100, windowMs: 60_000 })
  expect(said({ rate: 0, burst: 3 })).toMatchObject({ limit: 3, windowMs: Number.POSITIVE_INFINITY, left: 3 })
  expect(said({ rate: 0 })).toEqual({ limit: 0, windowMs: Number.POSITIVE_INFINITY, left: 0, resetMs: 0 })
  // A token is a millisecond of work: nothing that a caller could count.
  expect(said({ rate: 200, charge: 'time' })).toBeUndefined()
})

test('each key is asked for its own, and who was never seen takes no place in the table', async () => {
  const world = new VirtualRuntime()
  const p = pipeline('api', [keyed({ of: rateLimit({ rate: 3 }) }), rateLimit({ rate: 10 })], { runtime: world })
  await p.call(() => 1, { key: 'ann' })
  await p.call(() => 1, { key: 'ann' })
  const left = (key: string) => quotasOf(p, { key }).map(({ gate, quota }) => [gate.path, quota.left])
  expect(left('ann')).toEqual([
    ['api/keyed', 1],
    ['api/rateLimit', 8],
  ])
  expect(left('ben')[0]).toEqual(['api/keyed', 3])
  expect(p.find('keyed')?.inspect?.(0)).toMatchObject({ keys: 1, shared: 0 })
})
