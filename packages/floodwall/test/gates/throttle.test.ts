import type { Permit, Verdict } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { admitted, ask, offered, VERDICTS } from '../support/asks.ts'
import { Scene } from './throttle-scene.ts'

/** A throttle whose target has been gone for a while; a probe may pass in a second. */
function probing(startAt = 100_000): Scene {
  const scene = new Scene({}, startAt)
  scene.burst(10, 0)
  expect(scene.state).toBe('probing')
  return scene
}

/** One of which 30 of 100 were accepted: drops (100 - 60) / 101. */
function throttling(otherwise: Verdict = 'failure'): Scene {
  const scene = new Scene({ probeShare: 0 }, 100_000)
  scene.burst(100, 30, otherwise)
  expect(scene.state).toBe('throttling')
  return scene
}

describe('passing', () => {
  test('without failures nothing is ever refused, whatever is in flight', () => {
    const scene = new Scene({ atLeast: 1 })
    const permits = offered(scene.gate, 10_000, scene.now)
    expect(permits).toHaveLength(10_000)
    for (const permit of permits) permit.settle('success', 1, scene.now)
    scene.world.advance('1h')
    expect(scene.passing(10_000)).toBe(10_000)
    expect([scene.state, scene.shown.refused]).toEqual(['passing', 0])
  })

  test('a success never ends it, though old ones expire before old failures do', () => {
    const scene = new Scene({ atLeast: 1 }, 3000)
    scene.calls(50, 'success')
    scene.world.advance(1500)
    scene.burst(40, 0)
    scene.world.advance(1500)
    // Now 40 of 40 in the window have failed.
    scene.calls(10, 'success')
    expect([scene.critical.drop > 0.4, scene.state, scene.passing(100)]).toEqual([true, 'passing', 100])
  })

  test('a connection that drops fails many calls at once, and is no outage', () => {
    const scene = new Scene()
    scene.calls(30, 'success')
    scene.burst(20, 0)
    expect(scene.state).toBe('passing')
  })

  test('10 in a row over a second are one, whatever the window holds', () => {
    const scene = new Scene({}, 9000)
    scene.calls(1000, 'success')
    for (let i = 0; i < 10; i++) {
      scene.calls(1, 'failure')
      scene.world.advance(110)
    }
    expect([scene.state, scene.critical.drop]).toEqual(['passing', 0])
    scene.calls(1, 'failure')
    expect(scene.state).toBe('probing')
    expect(scene.world.events.at(-1)).toMatchObject({ why: 'critical: none of 11 calls was accepted' })
  })

  test('9 in a row are none, nor are 30 with one accepted among them', () => {
    const scene = new Scene({ over: '1s' })
    for (let i = 0; i < 31; i++) {
      scene.calls(1, i % 10 === 9 ? 'success' : 'failure')
      scene.world.advance(200)
    }
    expect(scene.state).toBe('passing')
  })
})

describe('throttling', () => {
  test.each(['failure', 'timeout', 'overload'] as const)('%s is not accepted', (verdict) => {
    const scene = throttling(verdict)
    expect(scene.critical).toMatchObject({ requests: 100, accepts: 30, drop: 40 / 101 })
  })

  test('a row of accepted calls ends it: what passes doubles, and the counts stay', () => {
    const scene = throttling()
    scene.passing(100)
    const ends = (times: number) => {
      for (const permit of offered(scene.gate, 100, scene.now).slice(0, times)) permit.settle('success', 1, scene.now)
    }
    ends(9)
    expect(scene.state).toBe('throttling')
    ends(1)
    expect(scene.state).toBe('ramping')
    expect(scene.critical).toMatchObject({ accepts: 40, failed: 70 })
    // One more failure, and the old counts speak again.
    scene.calls(1, 'failure')
    expect(scene.state).toBe('throttling')
  })

  test('time ends it when nothing was refused for a window', () => {
    const scene = throttling()
    scene.passing(50)
    scene.world.advance(2500)
    expect(scene.passing(50)).toBeLessThan(50)
    expect(scene.state).toBe('throttling')
    scene.world.advance(2000)
    expect(scene.passing(50)).toBe(50)
    expect(scene.state).toBe('throttling')
    scene.world.advance(1000)
    expect(scene.passing(50)).toBe(50)
    expect(scene.changes.at(-1)).toBe('critical: throttling -> passing')
  })

  test('something passes each second, however much it drops', () => {
    const scene = new Scene({ probeShare: 0, over: '1h' })
    scene.burst(100_000, 1)
    let passed = 0
    for (let ms = 0; ms < 20_000; ms += 100) {
      scene.world.advance(100)
      const answer = scene.gate.tryAcquire(ask(scene.now))
      if (answer.ok) passed++
    }
    expect(passed).toBeGreaterThanOrEqual(19)
    expect(scene.shown.probes).toBeGreaterThan(15)
  })
})

describe('probing', () => {
  test('a probe each second, and nothing between', () => {
    const scene = probing()
    for (let second = 1; second <= 5; second++) {
      scene.world.advance(999)
      expect(scene.passing(20)).toBe(0)
      scene.world.advance(1)
      expect(scene.passing(20)).toBe(1)
    }
    expect(scene.shown.probes).toBe(5)
  })

  test('or one of 200 calls, where that is more', () => {
    const scene = probing()
    expect(scene.passing(10_000)).toBe(50)
  })

  test.each(['failure', 'timeout', 'overload'] as const)('a probe that ends as %s changes nothing', (verdict) => {
    const scene = probing()
    for (let i = 0; i < 3; i++) {
      scene.world.advance(1000)
      scene.calls(1, verdict)
    }
    expect([scene.state, scene.no().value]).toEqual(['probing', 13])
  })

  test('one that was cancelled has not happened: the next call is the probe', () => {
    const scene = probing()
    scene.world.advance(1000)
    for (let i = 0; i < 5; i++) admitted(scene.gate, scene.now).cancel(scene.now)
    scene.calls(1, 'success')
    expect(scene.state).toBe('ramping')
  })

  test('one whose caller left is spent: callers without patience must not probe one after the other', () => {
    const scene = probing()
    scene.world.advance(1000)
    scene.calls(1, 'ignored')
    expect(scene.passing(50)).toBe(0)
  })

  test('one that nobody reports on does not keep others from probing', () => {
    const scene = probing()
    for (let i = 0; i < 100; i++) {
      scene.world.advance(1000)
      admitted(scene.gate, scene.now)
      expect(scene.passing(5)).toBe(0)
    }
    scene.world.advance(1000)
    scene.calls(1, 'success')
    expect(scene.state).toBe('ramping')
  })

  test('what was sent before it says nothing: neither a late success nor late failures', () => {
    const scene = new Scene({}, 100_000)
    const late = offered(scene.gate, 60, scene.now)
    scene.burst(10, 0)
    late.slice(0, 20).forEach((permit) => permit.settle('success', 1, scene.now))
    expect(scene.state).toBe('probing')
    scene.world.advance(1000)
    scene.calls(3, 'success')
    expect(scene.state).toBe('passing')
    late.slice(20).forEach((permit, i) => permit.settle(VERDICTS[1 + (i % 4)] as Verdict, 1, scene.now))
    expect([scene.state, scene.critical.failed, scene.critical.overloaded]).toEqual(['passing', 0, 0])
  })

  test('who has not called for a window begins anew', () => {
    const scene = probing()
    scene.world.advance(2000)
    expect(scene.state).toBe('probing')
    scene.world.advance(1000)
    expect(scene.state).toBe('passing')
    expect(scene.passing(100)).toBe(100)
  })
})

describe('ramping', () => {
  /** Each round trip: every call that passed is accepted, and 1000 more ask. How many pass in each. */
  function rounds(scene: Scene, times: number): number[] {
    let flying = [admitted(scene.gate, scene.now)]
    return Array.from({ length: times }, () => {
      scene.world.advance(20)
      for (const permit of flying) permit.settle('success', 20, scene.now)
      flying = offered(scene.gate, 1000, scene.now)
      return flying.length
    })
  }

  test('what passes doubles with each round trip, until all passes', () => {
    const scene = new Scene({ probeShare: 0 }, 100_000)
    scene.burst(10, 0)
    scene.world.advance(1000)
    expect(rounds(scene, 12)).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000, 1000])
    expect(scene.state).toBe('passing')
    expect(scene.changes).toEqual([
      'critical: passing -> probing',
      'critical: probing -> ramping',
      'critical: ramping -> passing',
    ])
  })

  test('an outage is forgotten, and a failure then is one of few', () => {
    const scene = probing()
    scene.world.advance(1000)
    scene.calls(2, 'success')
    scene.calls(1, 'failure')
    expect(scene.critical).toMatchObject({ state: 'passing', accepts: 2, failed: 1, drop: 0 })
  })

  test('where calls come one by one, the second that is accepted ends it', () => {
    const scene = probing()
    scene.world.advance(1000)
    scene.calls(1, 'success')
    expect(scene.state).toBe('ramping')
    scene.world.advance(100)
    scene.calls(1, 'success')
    expect(scene.state).toBe('passing')
  })

  test('ten calls later the formula takes over, though no window held ten', () => {
    const scene = new Scene({ over: '6s', probeShare: 0 }, 100_000)
    scene.burst(10, 0)
    /** While others are refused, so that a single success is no round trip in peace. */
    const call = (verdict: Verdict) => {
      const permit = admitted(scene.gate, scene.now)
      offered(scene.gate, 9, scene.now)
      permit.settle(verdict, 0, scene.now)
    }
    const seen = Array.from('+--+-----', (sign) => {
      scene.world.advance(1000)
      call(sign === '+' ? 'success' : 'failure')
      return `${scene.state}, ${scene.critical.accepts} of ${scene.critical.requests}`
    })
    expect(seen.slice(-3)).toEqual(['ramping, 1 of 6', 'ramping, 1 of 6', 'throttling, 1 of 6'])
  })

  test('all fail again: back to probes, after two calls more', () => {
    const scene = new Scene({ probeShare: 0 }, 100_000)
    scene.burst(10, 0)
    scene.world.advance(1000)
    scene.calls(1, 'success')
    scene.calls(2, 'failure')
    expect(scene.passing(100)).toBe(0)
    // A probe each second again, and none of them opens anything.
    for (let i = 0; i < 12; i++) {
      scene.world.advance(1000)
      scene.calls(1, 'failure')
      expect(scene.passing(100)).toBe(0)
    }
    expect(scene.state).toBe('probing')
  })

  test.each(['cancel', 'ignored'] as const)('a call that ends as %s gives back what it took', (end) => {
    const scene = new Scene({ probeShare: 0 }, 100_000)
    scene.burst(10, 0)
    scene.world.advance(1000)
    scene.calls(1, 'success')
    for (let i = 0; i < 20; i++) {
      const permits: Permit[] = offered(scene.gate, 10, scene.now)
      expect(permits).toHaveLength(2)
      for (const permit of permits) {
        if (end === 'cancel') permit.cancel(scene.now)
        else permit.settle('ignored', 1, scene.now)
      }
    }
    expect(scene.state).toBe('ramping')
  })
})
