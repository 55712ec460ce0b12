import { bbrPresets } from 'floodwall'
import { seeded } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { AegisBbr } from '../compat/aegis-bbr/limiter.ts'
import { Scene } from './bbr-scene.ts'

// With the numbers of aegis, our bound is theirs, but for what is different on purpose: they round a response time up to a millisecond and the bound
// down, and let one more in; we take a stretch as long as its calls, so that nothing differs while calls are shorter than a bucket.

describe('the numbers of aegis', () => {
  test.each([1, 2, 3, 4, 5])('the same bound on the same calls, seed %i', (seed) => {
    const random = seeded(seed)
    const scene = new Scene({ ...bbrPresets.aegis, weight: 1, sampleEvery: 1 })
    const limiter = new AegisBbr()
    let compared = 0
    for (let bucket = 0; bucket < 300; bucket++) {
      const calls = Math.floor(random() * 12)
      const tookMs = 1 + Math.floor(random() * 90)
      for (let i = 0; i < calls; i++) {
        scene.admit()[0]?.settle('success', tookMs, scene.now)
        limiter.inFlight++
        limiter.done(tookMs * 1000, scene.now * 1000)
      }
      scene.pass(100)
      const { peak, leastMs, bound } = scene.shown
      const theirs = limiter.limit(scene.now * 1000)
      if (peak === null || leastMs === null) continue
      compared++
      expect([Math.round(peak / 10), leastMs]).toEqual([limiter.seen.maxPass, limiter.seen.minRt])
      expect(bound).toBe(Math.max(1, Math.ceil(((limiter.seen.maxPass as number) * leastMs) / 100 - 1e-9)))
      expect(bound - theirs).toBeOneOf([0, 1])
    }
    expect(compared).toBeGreaterThan(250)
  })
})
