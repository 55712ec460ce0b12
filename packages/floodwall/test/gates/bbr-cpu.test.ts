import { describe, expect, test } from 'vitest'
import { aegisCpu } from '../compat/aegis-bbr/limiter.ts'
import { Scene } from './bbr-scene.ts'

// When it is on guard. The numbers at the beginning of a name say which fault of a peer is looked for: 1.2 are those of aegis, 1.6 those of go-zero.

const SAMPLE_MS = 250
const average = { weight: 0.5, sampleEvery: SAMPLE_MS }

/** Samples until it is on guard, with this usage from now on. */
function samplesUntilHot(scene: Scene, usage: number): number {
  scene.usage = usage
  for (let samples = 1; samples <= 1000; samples++) {
    scene.pass(SAMPLE_MS)
    scene.admit().forEach((permit) => permit.cancel(scene.now))
    if (scene.shown.hot) return samples
  }
  return Number.POSITIVE_INFINITY
}

function idle(options = {}): Scene {
  const scene = new Scene({ ...average, ...options })
  scene.admit().forEach((permit) => permit.cancel(scene.now))
  return scene
}

describe('1.2.1 slow eye', () => {
  test('a step from nothing to a full CPU is seen within a second; by whole per mille and 5 %, after 16.5 s', () => {
    expect(samplesUntilHot(idle(), 1) * SAMPLE_MS).toBe(750)
    let [samples, average] = [0, 0]
    for (; average < 800; samples++) average = aegisCpu(average, 1000)
    expect(samples * 500).toBe(16_500)
  })

  test('the first sample is taken whole: a process that begins on a hot machine knows it at once', () => {
    const scene = new Scene(average)
    scene.usage = 0.95
    scene.admit()
    expect(scene.shown).toMatchObject({ hot: true, cpu: 0.95 })
  })

  test('a peak of one sample does not end in a guard', () => {
    const scene = idle()
    scene.usage = 1
    scene.pass(SAMPLE_MS)
    scene.admit()
    scene.usage = 0.3
    scene.pass(SAMPLE_MS)
    scene.admit()
    expect(scene.shown).toMatchObject({ hot: false, cpu: 0.4 })
  })
})

describe('1.2.2 deaf zone', () => {
  test.each(Array.from({ length: 20 }, (_, i) => 801 + i))('a steady %i per mille is above 800', (perMille) => {
    expect(samplesUntilHot(idle(), perMille / 1000)).toBeLessThanOrEqual(11)
    let average = 0
    for (let i = 0; i < 10_000; i++) average = aegisCpu(average, perMille)
    expect(average >= 800).toBe(perMille >= 819)
  })

  test('exactly 0.8 is not above 0.8, however long it lasts', () => {
    expect(samplesUntilHot(idle(), 0.8)).toBe(Number.POSITIVE_INFINITY)
  })

  test('a usage of exactly 0 is a sample', () => {
    const scene = new Scene(average)
    scene.usage = 1
    scene.admit()
    scene.usage = 0
    for (let i = 0; i < 60; i++) {
      scene.pass(SAMPLE_MS)
      scene.admit()
    }
    expect(scene.shown.cpu).toBeLessThan(1e-9)
  })
})

describe('1.2.3 cool-down from the first drop', () => {
  test('is from the last sample that was too much: after three seconds of overload one dip does not open the gate', () => {
    const scene = new Scene({ coolDown: '1s', startAt: 5 })
    scene.usage = 0.95
    for (let ms = 0; ms < 3000; ms += 50) {
      scene.enter(20)
      scene.pass(50)
    }
    scene.enter(1)
    scene.usage = 0.5
    scene.pass(999)
    expect(scene.enter(50)).toHaveLength(0)
    scene.pass(2)
    expect(scene.enter(50)).toHaveLength(50)
  })

  test('an overload that comes back within it renews it', () => {
    const scene = new Scene({ coolDown: '1s', startAt: 1 })
    for (let ms = 0; ms < 20_000; ms += 100) {
      scene.usage = ms % 900 === 0 ? 0.95 : 0.2
      scene.enter(5)
      expect(scene.shown.hot).toBe(true)
      scene.pass(100)
    }
  })

  test('0 is none', () => {
    const scene = new Scene({ coolDown: 0, startAt: 1 })
    scene.usage = 0.95
    expect(scene.enter(5)).toHaveLength(1)
    scene.usage = 0.5
    scene.pass(1)
    expect(scene.enter(5)).toHaveLength(5)
  })
})

describe('samples come when somebody asks', () => {
  test('one that is late weighs as much as those that are missing', () => {
    const [often, late] = [idle(), idle()]
    often.usage = late.usage = 1
    for (let i = 0; i < 8; i++) {
      often.pass(SAMPLE_MS)
      often.admit()
    }
    late.pass(8 * SAMPLE_MS)
    late.admit()
    expect(late.shown.cpu).toBeCloseTo(often.shown.cpu as number, 12)
    expect(late.shown).toMatchObject({ hot: true, ageMs: 0 })
  })

  test('within the interval it is not asked again', () => {
    let asked = 0
    const scene = new Scene({
      ...average,
      cpu() {
        asked++
        return 0.5
      },
    })
    for (let ms = 0; ms < 1000; ms++) {
      scene.admit()
      scene.pass(1)
    }
    expect(asked).toBe(4)
  })

  test('what was hot before a silence is not hot after it', () => {
    const scene = new Scene({ ...average, startAt: 1 })
    scene.usage = 1
    scene.enter(5)
    scene.usage = 0
    scene.pass(3_600_000)
    expect(scene.shown.hot).toBe(false)
    expect(scene.enter(5)).toHaveLength(5)
  })

  test('a signal that dies leaves no guard behind', () => {
    const scene = new Scene({ startAt: 1 })
    scene.usage = 1
    expect(scene.enter(5)).toHaveLength(1)
    scene.usage = Number.NaN
    scene.pass(2000)
    expect(scene.enter(5)).toHaveLength(5)
  })

  test('an absurd reading counts as a full CPU', () => {
    const scene = new Scene(average)
    scene.usage = 1e9
    scene.admit()
    expect(scene.shown.cpu).toBe(1)
  })

  test('a clock that steps back stops neither samples nor the way out', () => {
    const scene = new Scene({ ...average, startAt: 1 }, 1_000_000)
    const at = (now: number) =>
      scene.gate.tryAcquire({ now, deadline: 1e12, criticality: 'critical', cost: 1, key: '' })
    scene.usage = 1
    expect([at(1_000_000).ok, at(1_000_000).ok]).toEqual([true, false])
    scene.usage = 0
    for (let i = 0; i < 5; i++) at(500_000 + i * SAMPLE_MS)
    expect(at(502_000).ok).toBe(true)
  })
})
