import { AdaptiveLimit, type AdaptiveLimitOptions } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { admitted } from '../support/asks.ts'
import { Traffic } from './adaptive-limit-traffic.ts'

// The history of C13, step by step, for each estimator. What the originals make of it stands in compat/netflix/faults.test.ts.

const MINUTE = 60_000

function traffic(options: AdaptiveLimitOptions): Traffic {
  return new Traffic(new AdaptiveLimit(options, new VirtualRuntime().env('shop/adaptiveLimit')))
}

/** 200 calls of 20 ms at 10 in flight. */
function warm(options: AdaptiveLimitOptions): Traffic {
  const scene = traffic(options)
  scene.keep(10, 20, 'success', 400)
  return scene
}

const LEARNING = ['gradient2', 'vegas', 'aimd'] as const
const BY_LATENCY = ['gradient2', 'vegas'] as const

describe.each(LEARNING)('C13 %s', (estimator) => {
  test('C13 calls that all time out at the same time are drops: the limit falls, and never below 1', () => {
    const scene = warm({ estimator })
    const before = scene.gate.limit
    const baselineMs = scene.baselineMs
    scene.keep(10, 5000, 'timeout', MINUTE)
    expect(scene.gate.limit).toBeLessThan(before)
    expect(scene.gate.limit).toBeGreaterThanOrEqual(1)
    // A timeout says that it was too long, and not how long it would have been.
    expect(scene.baselineMs).toBe(baselineMs)
    scene.keep(10, 5000, 'timeout', 60 * MINUTE)
    expect(scene.gate.limit).toBe(1)
    admitted(scene.gate, scene.now)
  })

  test('C13 it is the same whatever they took: 1 ms, 5 s, a different time each', () => {
    const scene = warm({ estimator })
    const before = scene.gate.limit
    for (let i = 0; i < 200; i++) scene.keep(10, 1 + ((i * 37) % 900), 'overload', 1)
    expect(scene.gate.limit).toBeLessThan(before)
  })

  test('C13 refusals of 0 ms and clients who leave after 5 ms are no samples', () => {
    const scene = warm({ estimator })
    const before = JSON.stringify(scene.gate.inspect(scene.now))
    for (let i = 0; i < 50; i++) admitted(scene.gate, scene.now).cancel(scene.now)
    for (let i = 0; i < 100; i++) scene.keep(1, 5, 'ignored', 1)
    for (let i = 0; i < 100; i++) scene.keep(10, 1, 'failure', 1)
    expect(JSON.stringify(scene.gate.inspect(scene.now))).toBe(before)
  })

  test('C13 with 1 in flight the limit does not grow', () => {
    for (const initial of [2, 3, 20]) {
      const scene = traffic({ estimator, initial })
      scene.keep(1, 20, 'success', MINUTE)
      expect(scene.gate.limit).toBeLessThanOrEqual(initial)
    }
    const scene = warm({ estimator })
    scene.keep(10, 5000, 'timeout', MINUTE)
    const { limit } = scene.gate
    scene.keep(1, 20, 'success', MINUTE)
    expect(scene.gate.limit).toBe(limit)
  })

  test('C13 neighbour: at a limit of 1 or 2, whoever is refused makes it grow again', () => {
    const scene = warm({ estimator })
    scene.keep(10, 5000, 'timeout', 60 * MINUTE)
    scene.keep(20, 20, 'success', MINUTE)
    expect(scene.gate.limit).toBeGreaterThanOrEqual(8)
  })

  test('C13 neighbour: one call of a hundred that times out does not bring it down', () => {
    const scene = warm({ estimator })
    for (let i = 0; i < 300; i++) {
      scene.keep(10, 20, 'success', 200)
      scene.keep(1, 20, 'timeout', 1)
    }
    expect(scene.gate.limit).toBeGreaterThanOrEqual(10)
  })
})

describe.each(BY_LATENCY)('C13 %s', (estimator) => {
  test('C13 the baseline is still 20 ms after all that was no measurement, and 25 ms with one waiting settles below the maximum', () => {
    const scene = warm({ estimator, max: 200 })
    expect(scene.baselineMs).toBe(20)
    scene.keep(10, 5000, 'timeout', MINUTE)
    for (let i = 0; i < 50; i++) admitted(scene.gate, scene.now).cancel(scene.now)
    for (let i = 0; i < 100; i++) scene.keep(1, 5, 'ignored', 1)
    scene.keep(1, 20, 'success', MINUTE)
    expect(scene.baselineMs).toBeCloseTo(20, 9)
    scene.keep(Number.POSITIVE_INFINITY, 25, 'success', 9 * MINUTE)
    const nine = scene.gate.limit
    scene.keep(Number.POSITIVE_INFINITY, 25, 'success', MINUTE)
    const ten = scene.gate.limit
    expect(Math.abs(ten - nine) / nine).toBeLessThan(0.05)
    expect(ten).toBeLessThan(100)
    expect(ten).toBeGreaterThan(2)
  })

  test('C13 neighbour: from the other side too, with a limit far above', () => {
    const scene = warm({ estimator, max: 200, initial: 100 })
    scene.keep(Number.POSITIVE_INFINITY, 20, 'success', 100)
    scene.keep(Number.POSITIVE_INFINITY, 25, 'success', 2 * MINUTE)
    const before = scene.gate.limit
    scene.keep(Number.POSITIVE_INFINITY, 25, 'success', MINUTE)
    expect(Math.abs(scene.gate.limit - before) / before).toBeLessThan(0.05)
  })
})

describe('C13 aimd', () => {
  test('C13 latency says nothing to it: only drops hold it, and slowAfter makes some', () => {
    const free = warm({ estimator: 'aimd', max: 200 })
    free.keep(Number.POSITIVE_INFINITY, 25, 'success', MINUTE)
    expect(free.gate.limit).toBe(200)
    const slow = warm({ estimator: 'aimd', max: 200, slowAfter: 24 })
    slow.keep(Number.POSITIVE_INFINITY, 25, 'success', MINUTE)
    expect(slow.gate.limit).toBe(1)
  })
})

describe('C13 fixed', () => {
  test('C13 learns nothing from anything', () => {
    const scene = warm({ estimator: 'fixed', initial: 12 })
    scene.keep(10, 5000, 'timeout', MINUTE)
    scene.keep(Number.POSITIVE_INFINITY, 25, 'success', MINUTE)
    expect(scene.gate.limit).toBe(12)
  })
})
