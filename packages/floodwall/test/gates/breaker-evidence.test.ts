import { type BreakerOptions, type BreakerState, type Permit, type Verdict } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { admitted, offered, VERDICTS } from '../support/asks.ts'
import { Scene, STATES } from '../support/breakers.ts'

/** Opens at the first result that counts as failed. */
const TOUCHY: BreakerOptions = { consecutive: 1, openFor: 1000, jitter: 0, probes: 2 }

function opensAt(options: BreakerOptions, verdict: Verdict, tookMs: number): boolean {
  const scene = new Scene(options)
  admitted(scene.gate, scene.now).settle(verdict, tookMs, scene.now)
  return scene.state === 'open'
}

describe('what a verdict says', () => {
  test.each([
    ['success', false],
    ['failure', true],
    ['timeout', true],
    ['overload', false],
    ['ignored', false],
  ] as const)('%s without a slow limit: counts as failed: %s', (verdict, counts) => {
    for (const tookMs of [0, 1, 1e9]) expect(opensAt(TOUCHY, verdict, tookMs)).toBe(counts)
  })

  test.each([
    // verdict, just before the slow limit, at it, after it
    ['success', false, false, false],
    ['failure', true, true, true],
    ['timeout', false, true, true],
    ['overload', false, false, false],
    ['ignored', false, true, true],
  ] as const)('%s around a slow limit of 250 ms', (verdict, before, at, after) => {
    const options = { ...TOUCHY, slowAfter: '250ms' } as const
    expect([249.999, 250, 251].map((tookMs) => opensAt(options, verdict, tookMs))).toEqual([before, at, after])
  })

  test('a client with a 1 ms deadline does not isolate a healthy peer', () => {
    const scene = new Scene({ ...TOUCHY, slowAfter: 250 })
    for (let i = 0; i < 1000; i++) admitted(scene.gate, scene.now).settle('timeout', 1, scene.now)
    expect([scene.state, scene.gate.idle(scene.now)]).toEqual(['closed', true])
  })

  test('a probe that was given too little time gives its slot back and decides nothing', () => {
    const scene = new Scene({ ...TOUCHY, slowAfter: 250 })
    scene.gate.steer('halfOpen')
    for (let i = 0; i < 10; i++) admitted(scene.gate, scene.now).settle('timeout', 249, scene.now)
    expect(scene.snapshot).toMatchObject({ state: 'halfOpen', probes: { free: 2, running: 0, good: 0, bad: 0 } })
  })

  test('a latency that is none (NaN, negative) is no proof of slowness', () => {
    const options = { ...TOUCHY, slowAfter: 250 } as const
    for (const tookMs of [Number.NaN, -5, Number.NEGATIVE_INFINITY]) {
      expect(opensAt(options, 'timeout', tookMs)).toBe(false)
      expect(opensAt(options, 'ignored', tookMs)).toBe(false)
    }
  })

  test('it asks for latency exactly when it has a slow limit', () => {
    expect([new Scene(TOUCHY).gate.timed, new Scene({ ...TOUCHY, slowAfter: 1 }).gate.timed]).toEqual([false, true])
  })
})

describe('a result of an older generation never decides', () => {
  const GIVING: readonly BreakerState[] = ['closed', 'halfOpen', 'disabled', 'metricsOnly']
  const pairs = GIVING.flatMap((from) => STATES.map((to) => [from, to] as const))

  test.each(pairs)('given in %s, ended in %s', (from, to) => {
    const scene = new Scene({ ...TOUCHY, slowAfter: 250 })
    scene.gate.steer(from)
    const late: (readonly [Verdict | 'cancel', Permit])[] = []
    for (const end of [...VERDICTS, 'cancel'] as const) {
      // Half-open has two probes: a generation for each end.
      if (from === 'halfOpen' && late.length > 0) {
        scene.gate.steer('disabled')
        scene.gate.steer('halfOpen')
      }
      late.push([end, admitted(scene.gate, scene.now)])
    }
    if (to === from) scene.gate.steer('forcedOpen')
    scene.gate.steer(to)
    // A probe of this generation, with the serial that the older ones had.
    const inside = to === 'halfOpen' ? admitted(scene.gate, scene.now) : undefined
    scene.world.events.length = 0
    const before = scene.snapshot
    for (const [end, permit] of late) {
      if (end === 'cancel') permit.cancel(scene.now)
      else permit.settle(end, 300, scene.now)
      expect(scene.snapshot, `after a late ${end}`).toEqual(before)
    }
    expect(scene.events).toEqual([])
    inside?.settle('success', 1, scene.now)
  })

  test('each of many generations, in any order', () => {
    const scene = new Scene({ ...TOUCHY, healthyAfter: 1 })
    const late: Permit[] = []
    for (let round = 0; round < 50; round++) {
      late.push(...offered(scene.gate, 2, scene.now))
      scene.call('failure')
      scene.world.advance(100_000)
      const [probe, other] = offered(scene.gate, 2, scene.now)
      late.push(other!)
      probe?.cancel(scene.now)
      scene.gate.steer('closed')
    }
    const before = scene.snapshot
    late.reverse().forEach((permit, i) => permit.settle(i % 2 === 0 ? 'failure' : 'success', 1, scene.now))
    expect(scene.snapshot).toEqual(before)
    expect(scene.gate.idle(scene.now)).toBe(true)
  })

  test('a late success does not close, a late failure does not open again', () => {
    const scene = new Scene(TOUCHY)
    const [good, bad] = offered(scene.gate, 2, scene.now)
    scene.call('failure')
    scene.world.advance(1000)
    admitted(scene.gate, scene.now)
    good?.settle('success', 1, scene.now)
    bad?.settle('failure', 1, scene.now)
    expect(scene.snapshot).toMatchObject({ state: 'halfOpen', probes: { running: 1, good: 0, bad: 0 } })
  })
})
