import { type BreakerOptions, breaker } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { Ramp } from '../../src/algorithms/gates/breaker-ramp.ts'
import { admitted, ask, offered, rejected } from '../support/asks.ts'
import { Scene } from '../support/breakers.ts'

const OPTIONS: BreakerOptions = {
  consecutive: 3,
  openFor: 1000,
  growth: 2,
  jitter: 0,
  probes: 1,
  healthyAfter: 2000,
  ramp: 10_000,
}

/** Opened once, and just closed by its probe. */
function closedAgain(options: BreakerOptions = {}, seed = 1): Scene {
  const scene = new Scene({ ...OPTIONS, ...options }, 0, seed)
  scene.calls(3, 'failure')
  scene.world.advance(1000)
  scene.call('success')
  expect(scene.state).toBe('closed')
  return scene
}

/** The share of 2000 calls that passes now; each is cancelled, and says nothing. */
function passing(scene: Scene): number {
  const permits = offered(scene.gate, 2000, scene.now)
  for (const permit of permits) permit.cancel(scene.now)
  return permits.length / 2000
}

describe('the share of a ramp', () => {
  test('a tenth, then the part of the span that is over, then all: the worked example', () => {
    const ramp = new Ramp(500, 10_000)
    const at = [-1e6, 0, 999, 1000, 1500, 5000, 9999, 10_000, 1e9]
    expect(at.map((ms) => ramp.share(500 + ms))).toEqual([0.1, 0.1, 0.1, 0.1, 0.15, 0.5, 0.9999, 1, 1])
  })

  test('never falls', () => {
    const ramp = new Ramp(0, 7)
    for (let at = 1, last = 0; at < 1000; at++) {
      const share = ramp.share(at / 100)
      expect(share).toBeGreaterThanOrEqual(last)
      last = share
    }
  })

  test('tells each draw when it would have passed, spread over the rest', () => {
    const ramp = new Ramp(500, 10_000)
    expect([0.1, 0.35, 0.999].map((draw) => ramp.waitMs(draw, 1500))).toEqual([0, 2500, 8990])
    expect([ramp.leftMs(1500), ramp.leftMs(1e6)]).toEqual([9000, 0])
  })
})

describe('after probes have closed it', () => {
  test('a growing share passes: drawn, with a refusal that explains itself', () => {
    const scene = closedAgain()
    const shares = [0, 1000, 2000, 2000, 2500, 2400].map((ms) => {
      scene.world.advance(ms)
      expect(scene.snapshot.rampShare).toBeCloseTo(Math.max(0.1, (scene.now - 1000) / 10_000))
      return passing(scene)
    })
    for (const [i, share] of [0.1, 0.1, 0.3, 0.5, 0.75, 0.99].entries()) expect(shares[i]).toBeCloseTo(share, 1)
    scene.world.advance(100)
    expect([passing(scene), scene.snapshot.rampShare]).toEqual([1, 1])
  })

  test('a refusal says how much passes, and when to come back', () => {
    const scene = closedAgain()
    scene.world.advance(2500)
    const waits: number[] = []
    for (let i = 0; i < 1000; i++) {
      const answer = scene.gate.tryAcquire(ask(scene.now))
      if (answer.ok) continue
      expect(answer).toMatchObject({ reason: 'ramping', value: 0.25, limit: 1, never: false })
      expect(answer.why).toBe('closed again, and 25 % of the calls are let through so far')
      waits.push(answer.retryAfterMs)
    }
    // Not all at the end, or there would be a herd.
    expect(Math.min(...waits)).toBeLessThan(200)
    expect(Math.max(...waits)).toBeGreaterThan(7300)
    expect(Math.max(...waits)).toBeLessThan(7500)
  })

  test('what it refuses is no evidence, and has taken nothing', () => {
    const scene = closedAgain()
    const before = scene.snapshot
    for (let i = 0; i < 1000; i++) {
      const answer = scene.gate.tryAcquire(ask(scene.now))
      if (answer.ok) answer.cancel(scene.now)
    }
    expect(scene.snapshot).toEqual(before)
    expect(scene.events).toHaveLength(3)
  })

  test('a relapse opens for the grown time, also when the ramp is longer than health takes', () => {
    const scene = closedAgain()
    scene.world.advance(9000)
    for (const permit of offered(scene.gate, 100, scene.now).slice(0, 3)) permit.settle('failure', 1, scene.now)
    expect(rejected(scene.gate, scene.now)).toMatchObject({ reason: 'open', retryAfterMs: 2000 })
    expect(scene.snapshot.rampShare).toBe(1)
    // ... and the next recovery ramps from the beginning.
    scene.world.advance(2000)
    scene.call('success')
    expect(scene.snapshot.rampShare).toBe(0.1)
  })

  test('after the ramp and long health the time starts small again', () => {
    const scene = closedAgain()
    scene.world.advance(10_000)
    scene.calls(3, 'failure')
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(1000)
  })

  test('off, as by default: all pass at once, and no chance is asked for', () => {
    const { ramp: _, ...rest } = OPTIONS
    const scene = new Scene(rest)
    scene.calls(3, 'failure')
    scene.world.advance(1000)
    scene.call('success')
    expect([passing(scene), scene.snapshot.rampShare]).toEqual([1, 1])
  })

  test('no draw but during the ramp', () => {
    const scene = closedAgain()
    const { world } = scene
    const random = world.random
    let draws = 0
    const env = { ...world.env(), random: () => (draws++, random()) }
    const gate = breaker(OPTIONS).build(env) as Scene['gate']
    offered(gate, 50, world.now())
    expect(draws).toBe(0)
  })
})

describe('only after it was open', () => {
  test.each([
    ['new', () => {}],
    ['closed by hand while open', (scene: Scene) => (scene.gate.steer('open'), scene.gate.steer('closed'))],
    [
      'closed by hand while half-open',
      (scene: Scene) => (scene.gate.steer('open'), scene.gate.steer('halfOpen'), scene.gate.steer('closed')),
    ],
    ['disabled, and closed by hand', (scene: Scene) => (scene.gate.steer('disabled'), scene.gate.steer('closed'))],
    [
      'closed by hand once more while it ramps',
      (scene: Scene) => {
        scene.gate.steer('open')
        scene.world.advance(1000)
        scene.call('success')
        expect(scene.snapshot.rampShare).toBe(0.1)
        scene.gate.steer('closed')
      },
    ],
  ] as const)('%s: all pass', (_, act) => {
    const scene = new Scene(OPTIONS)
    act(scene)
    expect([scene.state, passing(scene)]).toEqual(['closed', 1])
  })

  test("half-open that ends 'closed' ramps too, from its end on", () => {
    const scene = new Scene({ ...OPTIONS, halfOpenAtMost: 500, halfOpenEnd: 'closed' })
    scene.gate.steer('open')
    scene.world.advance(1000)
    admitted(scene.gate, scene.now)
    scene.world.advance(5500)
    offered(scene.gate, 1, scene.now)
    expect(scene.snapshot).toMatchObject({ state: 'closed', rampShare: 0.5 })
  })
})

describe('what else it meets', () => {
  test('a reload without a ramp ends it, one with another span leaves it as it began', () => {
    const scene = closedAgain()
    scene.world.advance(5000)
    breaker({ ...OPTIONS, ramp: '1h' }).build(scene.world.env(), scene.gate)
    expect(scene.snapshot.rampShare).toBe(0.5)
    const { ramp: _, ...rest } = OPTIONS
    breaker(rest).build(scene.world.env(), scene.gate)
    expect([scene.snapshot.rampShare, passing(scene)]).toEqual([1, 1])
  })

  test('while it ramps it is not idle: made anew, it would let all through', () => {
    const scene = closedAgain()
    scene.world.advance(9999)
    expect(scene.gate.idle(scene.now)).toBe(false)
    scene.world.advance(1)
    expect(scene.gate.idle(scene.now)).toBe(true)
  })

  test('those who hang open it during the ramp, too', () => {
    const scene = closedAgain({ slowRate: 0.5, slowAfter: 80, atLeast: 4 })
    scene.world.advance(5000)
    expect(offered(scene.gate, 40, scene.now).length).toBeGreaterThan(4)
    scene.world.advance(100)
    expect(rejected(scene.gate, scene.now)).toMatchObject({ reason: 'open', retryAfterMs: 2000 })
  })

  test('the same seed, the same calls', () => {
    const life = () => {
      const scene = closedAgain({}, 7)
      return Array.from({ length: 200 }, () => {
        scene.world.advance(40)
        const answer = scene.gate.tryAcquire(ask(scene.now))
        return answer.ok || answer.retryAfterMs
      })
    }
    expect(life()).toEqual(life())
  })
})
