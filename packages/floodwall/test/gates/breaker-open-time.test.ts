import { Breaker, type BreakerOptions } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { rejected } from '../support/asks.ts'
import { Scene } from '../support/breakers.ts'

const GROWING: BreakerOptions = {
  consecutive: 1,
  openFor: 1000,
  growth: 2,
  openAtMost: 6000,
  healthyAfter: 10_000,
  jitter: 0,
  probes: 1,
}

/** How long it is open, from now. */
function openMs(scene: Scene): number {
  return rejected(scene.gate, scene.now).retryAfterMs
}

/** Fails at once and again at each probe: the open times. */
function openTimes(options: BreakerOptions, times: number, seed = 1): number[] {
  const scene = new Scene(options, 0, seed)
  return Array.from({ length: times }, () => {
    scene.call('failure')
    const ms = openMs(scene)
    scene.world.advance(ms)
    return ms
  })
}

describe('the open time grows while probes fail', () => {
  test('by the factor, up to the cap', () => {
    expect(openTimes(GROWING, 6)).toEqual([1000, 2000, 4000, 6000, 6000, 6000])
  })

  test.each([
    ['growth 1 keeps it', { growth: 1 }, [1000, 1000, 1000]],
    ['growth 1.5', { growth: 1.5 }, [1000, 1500, 2250]],
    ['growth 1000 meets the cap at once', { growth: 1000 }, [1000, 6000, 6000]],
    ['a cap below the first time is that time', { openAtMost: 10 }, [1000, 1000, 1000]],
    ['a cap equal to the first time', { openAtMost: 1000 }, [1000, 1000, 1000]],
  ])('%s', (_, options, expected) => {
    expect(openTimes({ ...GROWING, ...options }, 3)).toEqual(expected)
  })

  test('10,000 failed probes: finite, and still at the cap', () => {
    expect(openTimes(GROWING, 10_000).at(-1)).toBe(6000)
  })
})

describe('jitter', () => {
  test('lengthens by a random share of up to itself, and never shortens', () => {
    const times = openTimes({ ...GROWING, growth: 1, jitter: 0.1 }, 1000)
    expect(Math.min(...times)).toBeGreaterThanOrEqual(1000)
    expect(Math.max(...times)).toBeLessThan(1100)
    expect(Math.min(...times)).toBeLessThan(1010)
    expect(Math.max(...times)).toBeGreaterThan(1090)
  })

  test('stands on top of the cap, so that a fleet that has reached it does not probe in step', () => {
    const fleet = Array.from({ length: 50 }, (_, seed) => openTimes({ ...GROWING, jitter: 0.2 }, 6, seed).at(-1)!)
    expect(Math.min(...fleet)).toBeGreaterThanOrEqual(6000)
    expect(Math.max(...fleet)).toBeLessThan(7200)
    expect(new Set(fleet).size).toBe(50)
  })

  test('the same seed gives the same times', () => {
    expect(openTimes({ ...GROWING, jitter: 1 }, 20, 7)).toEqual(openTimes({ ...GROWING, jitter: 1 }, 20, 7))
  })

  test('0 asks for no chance at all', () => {
    const scene = new Scene(GROWING)
    const env = { ...scene.world.env(), random: () => expect.unreachable('asked for a random number') }
    new Breaker(GROWING, env).steer('open')
  })
})

describe('the open time starts small again', () => {
  /** Opened twice, closed by a probe: the next time would be 4000. */
  function recovered(): Scene {
    const scene = new Scene(GROWING)
    for (let i = 0; i < 2; i++) {
      scene.call('failure')
      scene.world.advance(openMs(scene))
    }
    scene.call('success')
    expect(scene.state).toBe('closed')
    return scene
  }

  test('after long health', () => {
    const scene = recovered()
    scene.world.advance(10_000)
    scene.call('failure')
    expect(openMs(scene)).toBe(1000)
  })

  test('not a millisecond before', () => {
    const scene = recovered()
    scene.world.advance(9999)
    scene.call('failure')
    expect(openMs(scene)).toBe(4000)
  })

  test('flapping is not health, however long it goes on', () => {
    const scene = recovered()
    const times = Array.from({ length: 20 }, () => {
      scene.world.advance(9999)
      scene.call('failure')
      const ms = openMs(scene)
      scene.world.advance(ms)
      scene.call('success')
      return ms
    })
    expect(times).toEqual([4000, ...Array.from({ length: 19 }, () => 6000)])
  })

  test('time spent open, half-open or out of order is not health', () => {
    for (const state of ['open', 'halfOpen', 'forcedOpen'] as const) {
      const scene = recovered()
      scene.gate.steer(state)
      scene.world.advance(100_000)
      if (state === 'forcedOpen') scene.gate.steer('halfOpen')
      scene.call('failure')
      expect(openMs(scene)).toBeGreaterThanOrEqual(4000)
    }
  })

  test('a hand that closes it says that all is well', () => {
    const scene = recovered()
    scene.gate.steer('closed')
    scene.call('failure')
    expect(openMs(scene)).toBe(1000)
  })

  test('and the long health of the first life is no reason for anything', () => {
    const scene = new Scene(GROWING)
    scene.world.advance(1e9)
    expect(
      [0, 1].map(() => {
        scene.call('failure')
        const ms = openMs(scene)
        scene.world.advance(ms)
        return ms
      }),
    ).toEqual([1000, 2000])
  })
})

describe('open by hand', () => {
  test('takes the usual time', () => {
    const scene = new Scene(GROWING)
    scene.gate.steer('open')
    expect(openMs(scene)).toBe(1000)
  })

  test('while it is open, starts that time anew and makes it no longer: no probe has failed', () => {
    const scene = new Scene(GROWING)
    for (let i = 0; i < 5; i++) {
      scene.gate.steer('open')
      expect(openMs(scene)).toBe(1000)
      scene.world.advance(400)
    }
    expect(scene.snapshot.opened).toBe(1)
    scene.world.advance(600)
    scene.call('failure')
    expect([openMs(scene), scene.snapshot.opened]).toEqual([2000, 2])
  })
})
