import type { BreakerOptions, Verdict } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { admitted, ask, rejected } from '../support/asks.ts'
import { Scene } from '../support/breakers.ts'

// Whoever is woken by an event at night must not have to guess: which condition, with which numbers, over which window, and when will it be asked again?

const COMMON: BreakerOptions = { openFor: '4s', jitter: 0, probes: 2, atLeast: 4 }

/** One letter a call: s success, f failure, S slow success, t timeout, h one that does not come back. */
const CALLS: Readonly<Record<string, readonly [Verdict, number]>> = {
  s: ['success', 5],
  f: ['failure', 5],
  S: ['success', 300],
  t: ['timeout', 250],
}

function live(scene: Scene, calls: string): void {
  for (const letter of calls) {
    const permit = admitted(scene.gate, scene.now)
    const end = CALLS[letter]
    if (end !== undefined) permit.settle(...end, scene.now)
  }
}

/** The words of the events that opened it. */
const whys = (scene: Scene) =>
  scene.events.flatMap((event) => (event.type === 'state' && event.to === 'open' ? [event.why] : []))

const slow = { slowRate: 0.5, slowAfter: 250 } as const

describe('an event that opens says which condition, the numbers and the window', () => {
  test.each<[string, BreakerOptions, string, string]>([
    ['failure rate', {}, 'ssff', '2 of 4 calls failed in the last 10s (50 %, limit 50 %)'],
    [
      'failure rate of calls',
      { lastCalls: 20, failureRate: 0.3 },
      'sssff',
      '2 of 5 calls failed of the last 20 calls (40 %, limit 30 %)',
    ],
    ['slow rate', slow, 'ssSS', '2 of 4 calls took longer than 250ms in the last 10s (50 %, limit 50 %)'],
    [
      'slow rate of calls',
      { ...slow, lastCalls: 8 },
      'ssstSS',
      '3 of 6 calls took longer than 250ms of the last 8 calls (50 %, limit 50 %)',
    ],
    ['error count', { errorCount: 3, over: '1m' }, 'sfsff', '3 calls failed in the last 60s (limit 3)'],
    [
      'error count of calls',
      { errorCount: 3, lastCalls: 30 },
      'sfsff',
      '3 calls failed of the last 30 calls (limit 3)',
    ],
    ['consecutive', { consecutive: 3, atLeast: 100 }, 'sfff', '3 calls failed in a row (limit 3)'],
    [
      'rate and consecutive together',
      { consecutive: 4, failureRate: 1 },
      'ffff',
      '4 of 4 calls failed in the last 10s (100 %, limit 100 %) and 4 calls failed in a row (limit 4)',
    ],
    [
      'both rates together',
      { ...slow, failureRate: 0.5 },
      'sstt',
      '2 of 4 calls failed in the last 10s (50 %, limit 50 %) and ' +
        '2 of 4 calls took longer than 250ms in the last 10s (50 %, limit 50 %)',
    ],
    [
      'error cost',
      { errorCost: { short: { minEvidence: 3, lastCalls: 100 } } },
      'ssfff',
      'failures cost 3 normal calls of the last 5 in the short window (60.5 %, limit 30 %)',
    ],
  ])('%s', (_, options, calls, why) => {
    const scene = new Scene({ ...COMMON, ...options })
    live(scene, calls)
    expect(whys(scene)).toEqual([why])
    const refusal = rejected(scene.gate, scene.now)
    expect(refusal.why).toBe(`open: ${why}`)
    expect(refusal.retryAfterMs).toBe(4000)
    expect(refusal.value).toBeGreaterThanOrEqual(refusal.limit)
    expect(scene.snapshot).toMatchObject({ state: 'open', probeInMs: 4000, why })
    scene.world.advance(1500)
    expect([rejected(scene.gate, scene.now).retryAfterMs, scene.snapshot.probeInMs]).toEqual([2500, 2500])
  })

  test('calls that hang: the next call that asks opens it, and is refused with the numbers', () => {
    const scene = new Scene({ ...COMMON, ...slow })
    live(scene, 'shhh')
    scene.world.advance(250 * 1.125)
    const why = '3 of 4 calls took longer than 250ms in the last 10s, 3 of them still running (75 %, limit 50 %)'
    expect(rejected(scene.gate, scene.now)).toMatchObject({ why: `open: ${why}`, retryAfterMs: 4000 })
    expect(whys(scene)).toEqual([why])
  })

  test.each<[string, BreakerOptions, string, string]>([
    ['that fail', {}, 'f', '1 of 2 probes failed (50 %, limit 50 %)'],
    ['that are slow', slow, 'S', '1 of 2 probes took longer than 250ms (50 %, limit 50 %)'],
  ])('probes %s', (_, options, probe, why) => {
    const scene = new Scene({ ...COMMON, ...options })
    scene.gate.steer('open', 'for the test')
    scene.world.advance(4000)
    live(scene, probe)
    expect(whys(scene)).toEqual(['for the test', why])
    // Twice as long as the last time.
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(8000)
  })

  test('probes that hang, and half-open that does not decide', () => {
    const scene = new Scene({ ...COMMON, ...slow, probes: 3, probeLapse: '1m', halfOpenAtMost: '2s' })
    scene.gate.steer('open', 'for the test')
    scene.world.advance(4000)
    live(scene, 'hh')
    scene.world.advance(251)
    expect(scene.gate.tryAcquire(ask(scene.now)).ok).toBe(false)
    expect(whys(scene)[1]).toBe('2 of 3 probes took longer than 250ms, 2 of them still running (66.7 %, limit 50 %)')
    scene.world.advance(8000)
    live(scene, 'h')
    scene.world.advance(2000)
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(16_000)
    expect(whys(scene)[2]).toBe('half-open for 2s without a decision')
  })
})

test('while half-open a refusal says when a probe may be free', () => {
  const scene = new Scene({ ...COMMON, probeLapse: '3s' })
  scene.gate.steer('halfOpen')
  live(scene, 'hh')
  scene.world.advance(1000)
  expect(rejected(scene.gate, scene.now)).toMatchObject({ reason: 'probing', retryAfterMs: 2000 })
})
