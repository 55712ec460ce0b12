import type { BreakerOptions } from 'floodwall'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { admitted, ask, rejected } from '../support/asks.ts'
import { inspected, Scene } from '../support/breakers.ts'

const HOUR_MS = 3_600_000
const OPTIONS: BreakerOptions = { consecutive: 5, atLeast: 6, openFor: '10s', jitter: 0, probes: 1 }

afterEach(() => {
  vi.useRealTimers()
})

describe('C06 the wall clock steps back one hour', () => {
  test('C06 the breaker does not look at it: probes come 10 s of monotonic time later', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 })
    const scene = new Scene(OPTIONS)
    scene.calls(5, 'failure')
    vi.setSystemTime(1_700_000_000_000 - HOUR_MS)
    scene.world.advance('9999ms')
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(1)
    scene.world.advance(1)
    admitted(scene.gate, scene.now)
  })

  // Decided: a runtime's clock never decreases (core/system.ts sees to it), so no gate corrects one. Should an earlier `now` come all the
  // same, waits take it at its word (an end that was set stays where it was set), and windows count it as the newest one, so that nothing
  // is lost or counted twice.
  test('C06 an open breaker that is handed an earlier `now` stays open to its time', () => {
    const scene = new Scene(OPTIONS, 10 * HOUR_MS)
    scene.calls(5, 'failure')
    const { gate, now } = scene
    expect(rejected(gate, now - HOUR_MS)).toMatchObject({ reason: 'open', retryAfterMs: HOUR_MS + 10_000 })
    expect(inspected(gate, now - HOUR_MS)).toMatchObject({ state: 'open', sinceMs: 0 })
    expect(rejected(gate, now + 9999).retryAfterMs).toBe(1)
    admitted(gate, now + 10_000).settle('success', 1, now + 10_000 - HOUR_MS)
    expect(gate.state(now + 10_000)).toBe('closed')
  })

  test('C06 the window keeps its 5 failures and the one success after the step', () => {
    const scene = new Scene({ atLeast: 6, failureRate: 5 / 6, over: '10s', jitter: 0 }, 10 * HOUR_MS)
    const { gate, now } = scene
    for (let i = 0; i < 5; i++) admitted(gate, now + 900 * i).settle('failure', 1, now + 900 * i)
    const earlier = now + 3600 - HOUR_MS
    admitted(gate, earlier).settle('success', 1, earlier)
    admitted(gate, earlier).settle('failure', 1, earlier)
    expect(gate.state(earlier)).toBe('open')
    expect(rejected(gate, earlier)).toMatchObject({ retryAfterMs: 5000, value: 6 / 7, limit: 5 / 6 })
    expect(rejected(gate, earlier).why).toBe('open: 6 of 7 calls failed in the last 10s (85.7 %, limit 83.3 %)')
  })

  test('C06 long health is not won by a step back, nor lost by one', () => {
    const scene = new Scene({ ...OPTIONS, consecutive: 1, growth: 2, healthyAfter: HOUR_MS }, 10 * HOUR_MS)
    const { gate } = scene
    scene.call('failure')
    scene.world.advance('10s')
    scene.call('success')
    const closed = scene.now
    admitted(gate, closed - HOUR_MS).settle('failure', 1, closed - HOUR_MS)
    expect(rejected(gate, closed - HOUR_MS).retryAfterMs).toBe(20_000)
  })

  test('C06 a probe that is asked for before its own start has not lapsed', () => {
    const scene = new Scene({ ...OPTIONS, probeLapse: 1000 }, 10 * HOUR_MS)
    scene.gate.steer('halfOpen')
    admitted(scene.gate, scene.now)
    expect(rejected(scene.gate, scene.now - HOUR_MS).retryAfterMs).toBe(HOUR_MS + 1000)
    admitted(scene.gate, scene.now + 1000)
  })
})

/** What a script of calls looks like from outside, with times from its start. */
function history(startAt: number): unknown[] {
  const scene = new Scene({ ...OPTIONS, over: '10s', growth: 2, openAtMost: '40s' }, startAt)
  const seen: unknown[] = []
  const look = () => {
    const answer = scene.gate.tryAcquire(ask(scene.now))
    seen.push([scene.now - startAt, answer.ok || [answer.reason, answer.retryAfterMs], scene.snapshot])
    return answer
  }
  for (let i = 0; i < 400; i++) {
    const answer = look()
    if (answer.ok) answer.settle(i % 7 < 6 ? 'failure' : 'success', 10, scene.now)
    scene.world.advance(i % 5 === 0 ? 5000 : 125)
  }
  return [...seen, scene.events.map((event) => ({ ...event, at: event.at - startAt }))]
}

describe('only differences of times matter', () => {
  test.each([1000, 1e9, 1e12, 2 ** 40 * 1000])('a life that starts at %d is the one that starts at 0', (startAt) => {
    expect(history(startAt)).toEqual(history(0))
  })

  test('everything in the tick of its making', () => {
    for (const startAt of [0, 1e12]) {
      const scene = new Scene({ consecutive: 1, openFor: 1000, jitter: 0, probes: 1 }, startAt)
      scene.calls(3, 'success')
      scene.call('failure')
      expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(1000)
      for (const state of ['halfOpen', 'closed', 'open', 'metricsOnly', 'closed'] as const) scene.gate.steer(state)
      scene.call('failure')
      expect(scene.state).toBe('open')
      scene.world.advance(1000)
      // Probe, failure, refusal and probe again within one tick: the open time is never 0.
      scene.call('failure')
      expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(2000)
    }
  })
})

describe('30 days without a call', () => {
  test.each(['closed', 'open', 'halfOpen', 'metricsOnly', 'disabled'] as const)(
    '%s: the next call is admitted',
    (state) => {
      const scene = new Scene(OPTIONS)
      scene.gate.steer(state)
      if (state !== 'open') admitted(scene.gate, scene.now)
      scene.world.advance('30d')
      admitted(scene.gate, scene.now)
    },
  )

  test('forced open: still forced, since only a hand ends that', () => {
    const scene = new Scene(OPTIONS)
    scene.gate.steer('forcedOpen')
    scene.world.advance('30d')
    expect(rejected(scene.gate, scene.now)).toMatchObject({ reason: 'forced', retryAfterMs: 0 })
  })

  test('no span is too long: an open time of 1000 years is a comparison, not a timer', () => {
    const scene = new Scene({ ...OPTIONS, openFor: '365000d', openAtMost: '365000d' })
    scene.gate.steer('open')
    scene.world.advance('30d')
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(364_970 * 24 * HOUR_MS)
    expect(scene.world.timers).toBe(0)
  })
})
