import type { BreakerOptions } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { admitted, offered, rejected } from '../support/asks.ts'
import { Scene } from '../support/breakers.ts'

describe('C01 failures that land together do not cancel the recovery', () => {
  const rules: readonly (readonly [string, BreakerOptions])[] = [
    ['five failures in a row', { consecutive: 5 }],
    ['five of five', { lastCalls: 5, atLeast: 5, failureRate: 1 }],
    ['five in 10 s', { over: '10s', atLeast: 5, failureRate: 1 }],
  ]

  test.each(rules)('C01 six in flight fail at 10 to 15 ms; the rule: %s', (_, rule) => {
    const scene = new Scene({ ...rule, openFor: 1000, jitter: 0, probes: 1 })
    for (const [i, permit] of offered(scene.gate, 6, scene.now).entries()) {
      scene.world.after(10 + i, () => permit.settle('failure', 10 + i, scene.now))
    }
    scene.world.advance(20)
    expect(scene.events).toMatchObject([{ at: 14, from: 'closed', to: 'open' }])
    scene.world.advance(480)
    // Refused at 500: nothing runs. The failure at 15 has not moved the end of the open time.
    expect(rejected(scene.gate, scene.now)).toMatchObject({ reason: 'open', retryAfterMs: 514 })
    scene.world.advance(513)
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(1)
    scene.world.advance(1)
    scene.call('success')
    expect(scene.state).toBe('closed')
    expect(scene.changes).toEqual(['closed -> open', 'open -> halfOpen', 'halfOpen -> closed'])
    expect(scene.snapshot.opened).toBe(1)
    // No timer was ever set: there is none to be lost.
    expect(scene.world.timers).toBe(0)
  })

  test('C01 10,000 that fail in the same tick open once', () => {
    const scene = new Scene({ consecutive: 5, openFor: 1000, jitter: 0 })
    for (const permit of offered(scene.gate, 10_000, scene.now)) permit.settle('failure', 0, scene.now)
    expect([scene.changes, rejected(scene.gate, scene.now).retryAfterMs]).toEqual([['closed -> open'], 1000])
  })

  test('C01 opened by hand three times while open: told once, and the recovery comes', () => {
    // Decided: each time starts the wait anew, from the last hand on. An operator who opens means "from now".
    const scene = new Scene({ openFor: 1000, jitter: 0, probes: 1 })
    for (let i = 0; i < 3; i++) {
      scene.gate.steer('open')
      scene.world.advance(100)
    }
    expect(scene.changes).toEqual(['closed -> open'])
    expect([rejected(scene.gate, scene.now).retryAfterMs, scene.snapshot.opened]).toEqual([900, 1])
    scene.world.advance(900)
    scene.call('success')
    expect(scene.state).toBe('closed')
  })

  test('C01 opened by hand after the failures opened it, and a late failure after that', () => {
    const scene = new Scene({ consecutive: 1, openFor: 1000, jitter: 0, probes: 1 })
    const late = admitted(scene.gate, scene.now)
    scene.call('failure')
    scene.world.advance(999)
    scene.gate.steer('open')
    late.settle('failure', 999, scene.now)
    scene.world.advance(1000)
    scene.call('success')
    expect(scene.changes).toEqual(['closed -> open', 'open -> halfOpen', 'halfOpen -> closed'])
  })
})

describe('C02 a probe whose outcome does not count blocks nothing', () => {
  const OPTIONS: BreakerOptions = {
    failureRate: 0.5,
    atLeast: 10,
    over: '10s',
    openFor: 1000,
    growth: 1,
    jitter: 0,
    probes: 1,
  }

  function tripped(options: BreakerOptions = OPTIONS): Scene {
    const scene = new Scene(options)
    scene.calls(10, 'failure')
    expect(scene.state).toBe('open')
    scene.world.advance(1000)
    return scene
  }

  /** Half-open, free slots + probes running + results recorded = the configured number. */
  function expectWhole(scene: Scene): void {
    const [sum, size] = scene.probes
    expect(sum).toBe(size)
  }

  test.each(['ignored', 'overload'] as const)('C02 (a) the probe ends as %s: its slot goes back', (verdict) => {
    const scene = tripped()
    const probe = admitted(scene.gate, scene.now)
    expectWhole(scene)
    expect(rejected(scene.gate, scene.now).reason).toBe('probing')
    expectWhole(scene)
    probe.settle(verdict, 1, scene.now)
    expectWhole(scene)
    expect(scene.snapshot).toMatchObject({ state: 'halfOpen', probes: { free: 1, running: 0, good: 0, bad: 0 } })
    scene.world.advance(1)
    const next = admitted(scene.gate, scene.now)
    expectWhole(scene)
    next.settle('success', 1, scene.now)
    expect(scene.state).toBe('closed')
  })

  test('C02 (a) 10,000 probes that do not count, cancelled or ignored: the next is admitted', () => {
    const scene = tripped({ ...OPTIONS, probes: 3 })
    for (let i = 0; i < 10_000; i++) {
      const [first, second, third, none] = offered(scene.gate, 4, scene.now)
      expect(none).toBeUndefined()
      second?.cancel(scene.now)
      first?.settle('ignored', 1, scene.now)
      third?.settle('overload', 1, scene.now)
      expectWhole(scene)
    }
    expect(scene.snapshot.probes).toEqual({ size: 3, free: 3, running: 0, good: 0, bad: 0 })
  })

  test('C02 (b) the minimum volume has no say: one failed probe opens again, with a fresh wait', () => {
    const scene = tripped()
    // The window is empty by now.
    scene.world.advance(60_000)
    const start = scene.now
    scene.call('failure')
    expectWhole(scene)
    scene.world.advance(1)
    expect(rejected(scene.gate, scene.now)).toMatchObject({ reason: 'open', retryAfterMs: 999 })
    scene.world.advance(999)
    const probe = admitted(scene.gate, scene.now)
    expect([scene.now, scene.state]).toEqual([start + 1000, 'halfOpen'])
    expectWhole(scene)
    probe.settle('success', 1, scene.now)
    expect(scene.state).toBe('closed')
  })
})

describe('C05 an idle gap brings no old bucket back to life', () => {
  /** Failures that the breaker remembers: with `atLeast` 100, nearness is hundredths of them. */
  const remembered = (scene: Scene) => Math.round(scene.snapshot.nearness * 100)

  function failing(): Scene {
    const scene = new Scene({ over: '10s', buckets: 10, atLeast: 100, failureRate: 0.01 })
    for (let i = 0; i < 10; i++) {
      scene.world.advance(i === 0 ? 500 : 1000)
      scene.call('failure')
    }
    expect([scene.now, remembered(scene)]).toEqual([9500, 10])
    return scene
  }

  test('C05 (a) a failure at 19.6 s is alone', () => {
    const scene = failing()
    scene.world.advance(10_100)
    scene.call('failure')
    expect(remembered(scene)).toBe(1)
  })

  test('C05 (b) a failure at 14.6 s meets those of seconds 5 to 9', () => {
    const scene = failing()
    scene.world.advance(5100)
    scene.call('failure')
    expect(remembered(scene)).toBe(6)
  })

  test('C05 (c) reading at 25 s expires too', () => {
    const scene = failing()
    scene.world.advance(15_500)
    expect([remembered(scene), scene.gate.idle(scene.now)]).toEqual([0, true])
  })

  test('C05 (d) after 30 days one event is alone; 100,000 such gaps cost no more than 100,000 short ones', () => {
    // Were the cost that of the gap, this would visit 2.6 · 10^11 buckets.
    const scene = failing()
    for (let i = 0; i < 100_000; i++) {
      scene.world.advance('30d')
      scene.call('failure')
    }
    expect([remembered(scene), scene.state]).toEqual([1, 'closed'])
  })

  test('C05 (e) an event on the edge belongs to the new bucket only', () => {
    const scene = failing()
    scene.world.advance(500)
    scene.call('failure')
    // 10.000 s: bucket 0 has gone, bucket 10 is new.
    expect(remembered(scene)).toBe(10)
    scene.world.advance(9999)
    expect(remembered(scene)).toBe(1)
    scene.world.advance(1)
    expect(remembered(scene)).toBe(0)
  })

  test('C05 the failures of before the gap do not help those after it to open', () => {
    const scene = new Scene({ over: '10s', buckets: 10, atLeast: 6, failureRate: 0.5 })
    scene.calls(5, 'failure')
    scene.world.advance('11s')
    scene.calls(5, 'failure')
    expect(scene.state).toBe('closed')
    scene.call('failure')
    expect(scene.state).toBe('open')
  })
})
