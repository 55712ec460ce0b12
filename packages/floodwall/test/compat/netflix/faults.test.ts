import { AdaptiveLimit, type AdaptiveLimitOptions } from 'floodwall'
import {
  AimdLimit,
  Gradient2Limit,
  type NetflixLimit,
  netflixLimit,
  VegasLimit,
  WindowedLimit,
} from 'floodwall/compat/netflix'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Traffic } from '../../gates/adaptive-limit-traffic.ts'

// What the originals do, played by the replicas, and what our estimators do instead.

const MS = 1e6
const FULL = Number.POSITIVE_INFINITY

function ours(options: AdaptiveLimitOptions): Traffic {
  return new Traffic(new AdaptiveLimit(options, new VirtualRuntime().env('x')))
}

function theirs(make: () => NetflixLimit): Traffic {
  return ours({ estimator: netflixLimit(make) })
}

describe('C13 the originals and ours', () => {
  test('C13 Gradient2 takes calls that time out at one time for a steady latency and grows to its maximum; ours falls', () => {
    const original = theirs(() => new Gradient2Limit())
    original.keep(10, 20, 'success', 400)
    original.keep(FULL, 5000, 'timeout', 600_000)
    expect(original.gate.limit).toBe(200)
    const mended = ours({ estimator: 'gradient2', max: 200 })
    mended.keep(10, 20, 'success', 400)
    mended.keep(FULL, 5000, 'timeout', 600_000)
    expect(mended.gate.limit).toBe(1)
  })

  test('C13 Gradient2 takes the queue into its average and creeps up to its maximum under mild overload; ours rests', () => {
    // Four workers of 20 ms: calls take 5 ms for each that is inside, and the limit is always full.
    const queued = (scene: Traffic) => {
      scene.keep(2, 20, 'success', 400)
      for (let i = 0; i < 20_000; i++) scene.keep(FULL, Math.max(20, 5 * scene.gate.limit), 'success', 1)
      return scene.gate.limit
    }
    expect(queued(theirs(() => new Gradient2Limit({ minLimit: 2, initialLimit: 4 })))).toBe(200)
    expect(queued(ours({ estimator: 'gradient2', initial: 4 }))).toBeLessThanOrEqual(8)
    expect(queued(ours({ estimator: 'vegas', initial: 4 }))).toBeLessThanOrEqual(12)
  })

  test('C13 Vegas probes under load, so that its no-load time grows with the queue; ours does not', () => {
    const original = new VegasLimit({ probeJitter: () => 0.75 })
    const at = (limit: number) => Math.max(20, 5 * limit) * MS
    original.onSample(0, 20 * MS, 1, false)
    for (let i = 0; i < 200_000; i++) original.onSample(0, at(original.limit), original.limit, false)
    expect(original.noLoadNs).toBeGreaterThan(40 * MS)
    expect(original.limit).toBeGreaterThan(100)
    const mended = ours({ estimator: 'vegas' })
    mended.keep(2, 20, 'success', 400)
    for (let i = 0; i < 20_000; i++) mended.keep(FULL, Math.max(20, 5 * mended.gate.limit), 'success', 1)
    expect(mended.baselineMs).toBe(20)
    expect(mended.gate.limit).toBeLessThanOrEqual(12)
  })

  test('Vegas needs a long way down in steps of a logarithm: windows until the limit is right, from 200', () => {
    const windows = (limit: NetflixLimit) => {
      let count = 0
      limit.onSample(0, 20 * MS, 1, false)
      for (; limit.limit > 20 && count < 1000; count++) limit.onSample(0, 5 * limit.limit * MS, limit.limit, false)
      return count
    }
    expect(windows(new VegasLimit({ initialLimit: 200, probeMultiplier: 1e6 }))).toBeGreaterThan(90)
    const mended = ours({ estimator: 'vegas', initial: 200 })
    mended.keep(2, 20, 'success', 400)
    let rounds = mended.shown('rounds') as number
    while (mended.gate.limit > 20) mended.keep(FULL, 5 * mended.gate.limit, 'success', 1)
    rounds = (mended.shown('rounds') as number) - rounds
    expect(rounds).toBeLessThanOrEqual(20)
  })

  test('Vegas ramps slowly where windows are seconds: 2 to 1000 in more than a minute; ours doubles in each round', () => {
    const scene = (limit: Traffic) => {
      const from = limit.now
      while (limit.gate.limit < 500) limit.keep(FULL, 20, 'success', 20)
      return limit.now - from
    }
    const original = theirs(() => new WindowedLimit(new VegasLimit({ initialLimit: 4, probeMultiplier: 1e6 })))
    expect(scene(original)).toBeGreaterThan(30_000)
    expect(scene(ours({ estimator: 'vegas', initial: 4 }))).toBeLessThan(1000)
    expect(scene(ours({ estimator: 'gradient2', initial: 4 }))).toBeLessThan(1000)
  })

  test('AIMD counts each of twenty calls that time out together: 20 becomes 1; ours counts one event', () => {
    const original = theirs(() => new AimdLimit({ minLimit: 1 }))
    original.keep(20, 100, 'timeout', 1)
    expect(original.gate.limit).toBe(1)
    const mended = ours({ estimator: 'aimd' })
    mended.keep(20, 20, 'success', 20)
    const before = mended.gate.limit
    mended.keep(20, 100, 'timeout', 1)
    expect(mended.gate.limit).toBeGreaterThanOrEqual(Math.floor(before * 0.7))
    expect(mended.gate.limit).toBeLessThan(before)
  })

  test('a first sample of 0 makes the limit of Gradient2 0 for ever; as a gate it lets one pass, and ours is well', () => {
    const broken = new Gradient2Limit()
    for (const rtt of [0, 10 * MS, 10 * MS]) broken.onSample(0, rtt, 20)
    expect([broken.limit, broken.estimate]).toEqual([0, Number.NaN])
    for (const scene of [theirs(() => new Gradient2Limit()), ours({ estimator: 'gradient2' })]) {
      scene.keep(20, 0, 'success', 0)
      scene.keep(20, 10, 'success', 1000)
      expect(scene.gate.limit).toBeGreaterThanOrEqual(20)
    }
  })
})
