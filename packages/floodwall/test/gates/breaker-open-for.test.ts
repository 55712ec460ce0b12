import { type BreakerOptions, breaker, type Duration, type OpenFor } from 'floodwall'
import { parseLayers } from 'floodwall/rules'
import { describe, expect, test } from 'vitest'
import { admitted, ask, rejected } from '../support/asks.ts'
import { Scene } from '../support/breakers.ts'

// A function of the user says how long the breaker stays open. resilience4j's breaker is poisoned by one that throws: its state stays closed, and
// it refuses for ever.

const OPTIONS: BreakerOptions = { consecutive: 1, growth: 2, jitter: 0, probes: 1 }

const warnings = (scene: Scene) => scene.events.flatMap((event) => (event.type === 'warning' ? [event.why] : []))

/** Fails at once and again at each probe: the open times. */
function openTimes(options: BreakerOptions, times: number): number[] {
  const scene = new Scene({ ...OPTIONS, ...options })
  return Array.from({ length: times }, () => {
    scene.call('failure')
    const ms = rejected(scene.gate, scene.now).retryAfterMs
    scene.world.advance(ms)
    return ms
  })
}

describe('openFor as a function', () => {
  test('is asked how often it has opened, 1 for the first time', () => {
    const asked: number[] = []
    const fibonacci = [1, 1, 2, 3, 5, 8]
    const openFor: OpenFor = (times) => {
      asked.push(times)
      return `${fibonacci[times - 1]!}s`
    }
    expect(openTimes({ openFor }, 6)).toEqual([1000, 1000, 2000, 3000, 5000, 8000])
    expect(asked).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('says the time itself: growth is not for it, and neither is a cap that nobody set', () => {
    expect(openTimes({ openFor: () => '10m' }, 3)).toEqual([600_000, 600_000, 600_000])
    expect(openTimes({ openFor: () => '10m', openAtMost: '90s' }, 2)).toEqual([90_000, 90_000])
    expect(openTimes({ openFor: () => 7, openAtMost: '90s' }, 2)).toEqual([7, 7])
  })

  test('jitter comes on top', () => {
    const times = openTimes({ openFor: () => 1000, openAtMost: 1000, jitter: 0.5 }, 100)
    expect(Math.min(...times)).toBeGreaterThanOrEqual(1000)
    expect(Math.max(...times)).toBeLessThan(1500)
    expect(new Set(times).size).toBe(100)
  })

  test('starts with 1 again after long health, and after a hand has closed it', () => {
    const scene = new Scene({ ...OPTIONS, openFor: (times) => times * 1000, healthyAfter: 10_000 })
    const openMs = () => {
      scene.call('failure')
      const ms = rejected(scene.gate, scene.now).retryAfterMs
      scene.world.advance(ms)
      return ms
    }
    expect([openMs(), openMs()]).toEqual([1000, 2000])
    scene.call('success')
    scene.world.advance(10_000)
    expect(openMs()).toBe(1000)
    scene.gate.steer('closed')
    expect(openMs()).toBe(1000)
  })

  test('opened by hand while open it is asked for the same time again', () => {
    const scene = new Scene({ ...OPTIONS, openFor: (times) => times * 1000 })
    for (let i = 0; i < 3; i++) scene.gate.steer('open')
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(1000)
  })
})

const hostile = {
  get message(): string {
    throw new Error('do not look at me')
  },
}

describe('a function that makes no sense does not poison the breaker', () => {
  const thrower = (error: unknown) => () => {
    throw error
  }
  const saying = (said: unknown) => () => said as Duration
  test.each([
    ['throws an error', thrower(new Error('boom')), 'openFor(1) threw boom; open for 5s instead'],
    ['throws undefined', thrower(undefined), 'openFor(1) threw undefined; open for 5s instead'],
    ['throws a symbol', thrower(Symbol('s')), 'openFor(1) threw Symbol(s); open for 5s instead'],
    [
      'throws what throws when read',
      thrower(Object.create(Error.prototype, Object.getOwnPropertyDescriptors(hostile))),
      'openFor(1) threw an error that cannot be read; open for 5s instead',
    ],
    ['says NaN', saying(Number.NaN), 'openFor(1) is NaN, expected a span above 0; open for 5s instead'],
    [
      'says Infinity',
      saying(Number.POSITIVE_INFINITY),
      'openFor(1) is Infinity, expected a span above 0; open for 5s instead',
    ],
    ['says 0', saying(0), 'openFor(1) is 0, expected a span above 0; open for 5s instead'],
    ['says less', saying(-1), 'openFor(1) is -1, expected a span above 0; open for 5s instead'],
    ['says more than 1000 years', saying(1e300), 'openFor(1) is 1e+300, expected a span above 0; open for 5s instead'],
    ['says nothing', saying(undefined), 'openFor(1) is undefined, expected a span above 0; open for 5s instead'],
    ['promises', saying(Promise.resolve(5)), 'openFor(1) is {}, expected a span above 0; open for 5s instead'],
    ['says words', saying('soon'), 'openFor(1) is "soon", expected a span above 0; open for 5s instead'],
  ] as const)('%s', (_, openFor, why) => {
    const scene = new Scene({ ...OPTIONS, openFor: openFor as OpenFor })
    scene.call('failure')
    // Told once, after the change of state.
    expect(scene.events.map(({ type }) => type)).toEqual(['state', 'warning'])
    expect(warnings(scene)).toEqual([why])
    expect(rejected(scene.gate, scene.now)).toMatchObject({ reason: 'open', retryAfterMs: 5000 })
    scene.world.advance(5000)
    scene.call('failure')
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(10_000)
    scene.world.advance(10_000)
    scene.call('success')
    expect(scene.state).toBe('closed')
  })

  test('what takes its place grows, up to the cap', () => {
    expect(openTimes({ openFor: () => -1 }, 6)).toEqual([5000, 10_000, 20_000, 40_000, 60_000, 60_000])
    expect(openTimes({ openFor: () => -1, growth: 1 }, 3)).toEqual([5000, 5000, 5000])
    expect(openTimes({ openFor: () => -1, openAtMost: 7000 }, 3)).toEqual([5000, 7000, 7000])
  })

  test('only the times at which it fails', () => {
    expect(openTimes({ openFor: (times) => (times === 2 ? Number.NaN : 100) }, 3)).toEqual([100, 10_000, 100])
  })

  test.each(['closed', 'forcedOpen', 'disabled', 'halfOpen'] as const)('it may steer to %s while it is asked', (to) => {
    let steered = false
    const scene: Scene = new Scene({
      ...OPTIONS,
      openFor: () => {
        if (!steered) {
          steered = true
          scene.gate.steer(to)
        }
        return 1000
      },
    })
    scene.call('failure')
    // It had been asked because it opens: that comes last.
    expect(scene.state).toBe('open')
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(1000)
    scene.world.advance(1000)
    scene.call('success')
    expect(scene.gate.tryAcquire(ask(scene.now)).ok).toBe(true)
    expect(scene.state).toBe('closed')
  })

  test('one that opens the breaker is not asked for ever: its answer counts, and the breaker has opened once', () => {
    let asked = 0
    const scene: Scene = new Scene({
      ...OPTIONS,
      openFor: () => {
        asked++
        scene.gate.steer('open', 'by its own function')
        return 1000
      },
    })
    for (const times of [1, 2]) {
      scene.call('failure')
      expect(asked).toBe(times)
      expect(scene.gate.inspect(scene.now)).toMatchObject({ state: 'open', opened: times, probeInMs: 1000 })
      scene.world.advance(1000)
    }
    expect(warnings(scene)).toEqual([
      'openFor(1) opened the breaker itself; open for 5s instead',
      'openFor(2) opened the breaker itself; open for 10s instead',
    ])
    scene.call('success')
    expect(scene.state).toBe('closed')
  })

  test('also when it is asked for the end of half-open', () => {
    const scene: Scene = new Scene({
      ...OPTIONS,
      halfOpenAtMost: 500,
      openFor: () => {
        if (scene.state === 'halfOpen') scene.gate.steer('open')
        return 1000
      },
    })
    scene.call('failure')
    scene.world.advance(1000)
    scene.gate.tryAcquire(ask(scene.now))
    // The hand counts, with the time of the default.
    expect(scene.gate.inspect(scene.now)).toMatchObject({ state: 'open', opened: 2, probeInMs: 10_000 })
    scene.world.advance(10_000)
    expect(scene.state).toBe('halfOpen')
  })

  test('a listener that steers at the change, before it hears the warning', () => {
    const scene = new Scene({ ...OPTIONS, openFor: () => -1 })
    const { events } = scene.world
    const push = events.push.bind(events)
    events.push = (...items) => {
      const length = push(...items)
      if (events.length === 1) scene.gate.steer('closed')
      return length
    }
    scene.call('failure')
    expect(scene.state).toBe('closed')
    expect(warnings(scene)).toHaveLength(1)
    admitted(scene.gate, scene.now)
  })
})

describe('as an option', () => {
  test('a reload with the same function changes nothing, another one is for the next time', () => {
    const scene = new Scene({ ...OPTIONS, openFor: () => 1000 })
    scene.gate.steer('open')
    breaker({ ...OPTIONS, openFor: () => 9000 }).build(scene.world.env(), scene.gate)
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(1000)
    scene.world.advance(1000)
    scene.call('failure')
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(9000)
  })

  test('a document has spans', () => {
    const [layer] = parseLayers(JSON.parse('[{ "kind": "breaker", "openFor": "3s" }]'))
    expect(layer?.options).toMatchObject({ openFor: 3000 })
    expect(() => parseLayers([{ kind: 'breaker', openFor: { times: 3 } }])).toThrow(
      /layers\[0\]\.openFor: expected a span/,
    )
  })
})
