import { type BreakerOptions, breaker } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { admitted, ask, offered, rejected } from '../support/asks.ts'
import { Scene } from '../support/breakers.ts'

// Half-open for so long without a decision, it is over: resilience4j #2028 and #2289, where three probes took hours to come by.

const OPTIONS: BreakerOptions = {
  consecutive: 1,
  openFor: 1000,
  growth: 2,
  jitter: 0,
  probes: 3,
  probeLapse: 5000,
  halfOpenAtMost: 2000,
}

/** Half-open since 1000, with one good probe of three. */
function undecided(options: BreakerOptions = {}): Scene {
  const scene = new Scene({ ...OPTIONS, ...options })
  scene.call('failure')
  scene.world.advance(1000)
  scene.call('success')
  expect(scene.state).toBe('halfOpen')
  return scene
}

const WHY = 'half-open for 2s without a decision'

describe('halfOpenAtMost, by default to open', () => {
  test('half-open until the end, then open for the next, longer time, then half-open with new probes', () => {
    const scene = undecided()
    const states = [0, 1999, 2000, 3999, 4000, 1e6].map((ms) => scene.gate.state(scene.now + ms))
    expect(states).toEqual(['halfOpen', 'halfOpen', 'open', 'open', 'halfOpen', 'halfOpen'])
    scene.world.advance(2000)
    expect(rejected(scene.gate, scene.now)).toMatchObject({ reason: 'open', retryAfterMs: 2000, why: `open: ${WHY}` })
    expect(scene.events.at(-1)).toMatchObject({ at: 3000, from: 'halfOpen', to: 'open', why: WHY })
    scene.world.advance(2000)
    expect(offered(scene.gate, 9, scene.now)).toHaveLength(3)
    expect(scene.snapshot.opened).toBe(2)
  })

  test('reading shows what a call would meet, and changes nothing', () => {
    const scene = undecided()
    scene.world.advance(2500)
    const shown = scene.snapshot
    expect(shown).toMatchObject({ state: 'open', probeInMs: 1500, opened: 1 })
    expect(scene.snapshot).toEqual(shown)
    expect(scene.changes).toHaveLength(2)
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(1500)
  })

  test('whoever asks late meets what a timer would have left', () => {
    const scene = undecided()
    scene.world.advance('1h')
    // Its open time has passed as well: the call is a probe.
    scene.call('success')
    expect(scene.changes.slice(2)).toEqual(['halfOpen -> open', 'open -> halfOpen'])
    expect(scene.events.slice(2)).toMatchObject([{ at: 3000 }, { at: scene.now }])
    scene.call('success')
    expect(scene.state).toBe('closed')
  })

  test('what a probe says after the end does not decide', () => {
    const scene = undecided()
    const late = offered(scene.gate, 2, scene.now)
    scene.world.advance(2000)
    for (const probe of late) probe.settle('success', 2000, scene.now)
    expect(scene.state).toBe('open')
    expect(scene.events.at(-1)).toMatchObject({ at: 3000, to: 'open' })
  })

  test('probes decide before it as ever', () => {
    const scene = undecided()
    scene.world.advance(1999)
    scene.call('success')
    expect(scene.state).toBe('closed')
    scene.world.advance('1h')
    expect(scene.changes.at(-1)).toBe('halfOpen -> closed')
  })

  test('who finds no free probe is told when that can change: a lapse, or the end', () => {
    const scene = undecided()
    offered(scene.gate, 2, scene.now)
    scene.world.advance(500)
    expect(rejected(scene.gate, scene.now)).toMatchObject({ reason: 'probing', retryAfterMs: 1500 })
    const short = undecided({ probeLapse: 700 })
    offered(short.gate, 2, short.now)
    short.world.advance(500)
    expect(rejected(short.gate, short.now)).toMatchObject({ reason: 'probing', retryAfterMs: 200 })
  })

  test('the time it would be open is drawn once: what is read is what comes, jitter included', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const scene = new Scene({ ...OPTIONS, jitter: 0.9 }, 0, seed)
      scene.gate.steer('halfOpen')
      offered(scene.gate, 1, scene.now)
      scene.world.advance(2000)
      const { probeInMs } = scene.snapshot
      expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(probeInMs)
    }
  })

  test('a function of openFor is asked once for it, and its faults are told', () => {
    const asked: number[] = []
    const scene = new Scene({ ...OPTIONS, openFor: (times) => (asked.push(times), times === 1 ? 1000 : -1) })
    scene.call('failure')
    scene.world.advance(1000)
    offered(scene.gate, 1, scene.now)
    expect([asked, scene.events.at(-1)?.type]).toEqual([[1, 2], 'warning'])
    scene.world.advance(2000)
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(10_000)
    expect(asked).toEqual([1, 2])
  })

  test('counts from the first probe on: while nobody asks, nobody waits', () => {
    const scene = new Scene(OPTIONS)
    scene.gate.steer('halfOpen')
    scene.world.advance('8h')
    admitted(scene.gate, scene.now)
    scene.world.advance(1999)
    expect(scene.state).toBe('halfOpen')
    scene.world.advance(1)
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(1000)
  })

  test('a function of openFor that steers while it is asked: the call that asked has a permit of before', () => {
    const scene: Scene = new Scene({ ...OPTIONS, openFor: () => (scene.gate.steer('forcedOpen'), 1000) })
    scene.gate.steer('halfOpen')
    const probe = admitted(scene.gate, scene.now)
    probe.settle('success', 1, scene.now)
    expect(rejected(scene.gate, scene.now).reason).toBe('forced')
  })

  test('off, as by default: half-open for a month', () => {
    const { halfOpenAtMost: _, ...rest } = OPTIONS
    const scene = new Scene(rest)
    scene.gate.steer('halfOpen')
    scene.call('success')
    scene.world.advance('30d')
    expect(scene.snapshot).toMatchObject({ state: 'halfOpen', probes: { good: 1 } })
  })
})

describe("halfOpenEnd 'closed'", () => {
  test('closes at the end, with empty statistics', () => {
    const scene = undecided({ halfOpenEnd: 'closed' })
    const late = offered(scene.gate, 2, scene.now)
    scene.world.advance(1999)
    expect(scene.state).toBe('halfOpen')
    scene.world.advance(1)
    expect(scene.snapshot).toMatchObject({ state: 'closed', probeInMs: 0 })
    for (const probe of late) probe.settle('failure', 2000, scene.now)
    expect(scene.state).toBe('closed')
    expect(scene.events.at(-1)).toMatchObject({ at: 3000, from: 'halfOpen', to: 'closed', why: WHY })
    admitted(scene.gate, scene.now)
  })

  test('the health of the time before somebody asked counts', () => {
    const scene = undecided({ halfOpenEnd: 'closed', healthyAfter: '60s' })
    scene.world.advance('62s')
    admitted(scene.gate, scene.now).settle('failure', 1, scene.now)
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(1000)
  })
})

describe('with eager a timer ends it', () => {
  test.each([
    ['open', ['halfOpen -> open', 'open -> halfOpen']],
    ['closed', ['halfOpen -> closed']],
  ] as const)('to %s', (halfOpenEnd, changes) => {
    const scene = undecided({ halfOpenEnd, eager: true })
    scene.world.advance(6001)
    expect(scene.changes.slice(2)).toEqual(changes)
    expect(scene.events[2]).toMatchObject({ at: 3000, why: WHY })
  })

  test('nobody calls: half-open it waits, and the first call after a quiet night is a probe', () => {
    const scene = new Scene({ ...OPTIONS, eager: true })
    scene.gate.steer('open')
    scene.world.advance('8h')
    expect([scene.changes.at(-1), scene.world.timers]).toEqual(['open -> halfOpen', 0])
    admitted(scene.gate, scene.now)
    expect(scene.world.timers).toBe(1)
  })

  test.each(['closed', 'open', 'forcedOpen', 'disabled', 'metricsOnly'] as const)(
    'left by hand to %s: taken back',
    (to) => {
      const scene = undecided({ eager: true })
      scene.gate.steer(to)
      scene.world.events.length = 0
      scene.world.advance(to === 'open' ? 1999 : 60_000)
      expect(scene.changes).toEqual([])
    },
  )
})

test('a reload changes nothing for the episode that has begun', () => {
  const scene = undecided()
  breaker({ ...OPTIONS, halfOpenAtMost: '1h', halfOpenEnd: 'closed' }).build(scene.world.env(), scene.gate)
  scene.world.advance(2000)
  expect(scene.state).toBe('open')
})

test('C06 an earlier now ends nothing', () => {
  const scene = undecided()
  expect(scene.gate.tryAcquire(ask(scene.now - 3_600_000)).ok).toBe(true)
  expect(scene.gate.state(scene.now - 3_600_000)).toBe('halfOpen')
})
