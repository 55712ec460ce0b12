import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RetryShare } from '../../src/algorithms/retry/retry-share.ts'

function shareOf(requests: readonly (readonly [attempt: number, told: readonly number[]])[], now = 0): number {
  const share = new RetryShare()
  for (const [attempt, told] of requests) share.seen(attempt, told, now)
  return share.share(now)
}
const times = <T>(n: number, what: T): T[] => Array.from({ length: n }, () => what)

test('is that of the requests themselves, where nobody tells of more', () => {
  expect(shareOf([...times(90, [0, []] as const), ...times(10, [2, []] as const)])).toBeCloseTo(0.1, 12)
  expect(shareOf(times(100, [0, []] as const))).toBe(0)
  expect(shareOf(times(100, [1, []] as const))).toBe(1)
})

test('is what the callers tell, where that is more', () => {
  const told = [0, [90, 8, 2]] as const
  expect(shareOf([...times(96, told), ...times(4, [1, [90, 8, 2]] as const)])).toBeCloseTo(0.1, 12)
})

test('counts a histogram of nothing as nothing said', () => {
  expect(shareOf(times(50, [0, [0, 0]] as const))).toBe(0)
  expect(shareOf(times(50, [1, [0, 0]] as const))).toBe(1)
})

test('is 0 before twenty requests, and again ten seconds after the last', () => {
  const share = new RetryShare()
  for (let i = 0; i < 19; i++) share.seen(1, [], 0)
  expect(share.share(0)).toBe(0)
  share.seen(1, [], 0)
  expect([share.share(0), share.share(9_999), share.share(10_000)]).toEqual([1, 1, 0])
})

test('k forged requests of n move it by k / n at most, whatever they claim', () => {
  const forged = fc.array(fc.tuple(fc.nat(999), fc.array(fc.nat(9_999_999), { maxLength: 8 })), { maxLength: 50 })
  fc.assert(
    fc.property(forged, fc.integer({ min: 20, max: 200 }), (lies, honest) => {
      const truth = times(honest, [0, [95, 5]] as const)
      const share = shareOf([...truth, ...lies])
      const n = lies.length + honest
      expect(share).toBeGreaterThanOrEqual(0)
      expect(share).toBeLessThanOrEqual(1)
      expect(share).toBeLessThanOrEqual((0.05 * honest + lies.length) / n + 1e-9)
    }),
  )
})
