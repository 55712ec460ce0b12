import { type Breaker, type BreakerOptions, type BreakerState, breaker } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { admitted, offered } from '../support/asks.ts'
import { inspected, Scene, STATES } from '../support/breakers.ts'

const OPTIONS: BreakerOptions = {
  over: '10s',
  atLeast: 4,
  openFor: 1000,
  growth: 2,
  jitter: 0,
  probes: 2,
  healthyAfter: '60s',
}

function leaves(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leaves) : [value]
}

describe('inspect()', () => {
  const NOWS = [0, 5, 999, 1000, 1e12, -3_600_000]
  test.each(STATES)('keeps the schema in %s: JSON-safe, finite, nothing negative', (state) => {
    const scene = new Scene(OPTIONS, 500)
    scene.calls(3, 'failure')
    scene.gate.steer(state)
    if (state !== 'open' && state !== 'forcedOpen') {
      admitted(scene.gate, scene.now)
      scene.call('failure')
    }
    for (const offset of NOWS) {
      const shown = inspected(scene.gate, scene.now + offset)
      expect(JSON.parse(JSON.stringify(shown))).toEqual(shown)
      for (const leaf of leaves(shown)) {
        if (typeof leaf === 'number') expect(Number.isFinite(leaf) && leaf >= 0).toBe(true)
      }
      expect(shown).toMatchObject({ kind: 'breaker', path: 'peer/breaker' })
      expect(shown.nearness).toBeLessThanOrEqual(1)
    }
  })

  test('reading changes nothing, also not what was open for long', () => {
    const scene = new Scene(OPTIONS)
    scene.gate.steer('open')
    scene.world.advance(5000)
    const first = scene.snapshot
    expect(scene.snapshot).toEqual(first)
    expect(first).toMatchObject({ state: 'halfOpen', sinceMs: 5000, probeInMs: 0 })
    expect(scene.changes).toEqual(['closed -> open'])
  })

  test('a schema that is published is one that refuses: strange fields, NaN, unknown states', () => {
    const scene = new Scene(OPTIONS)
    const shown = scene.gate.inspect(scene.now)
    const showing = (fields: object) => ({ inspect: () => ({ ...shown, ...fields }) }) as unknown as Breaker
    for (const wrong of [{ state: 'ajar' }, { sinceMs: Number.NaN }, { extra: 1 }, { kind: 'x' }, { probes: {} }]) {
      expect(() => inspected(showing(wrong), 0)).toThrow()
    }
    expect(breaker.snapshot).toBeDefined()
  })

  test('nearness says how much is missing: of the share, and of the minimum', () => {
    const scene = new Scene(OPTIONS)
    const shown = (['failure', 'success', 'success'] as const).map((verdict) => {
      scene.call(verdict)
      return scene.snapshot.nearness
    })
    expect(shown[0]).toBe(0.25)
    expect(shown[1]).toBe(0.5)
    expect(shown[2]).toBeCloseTo(2 / 3)
    scene.call('failure')
    expect(scene.state).toBe('open')
    expect(scene.snapshot.nearness).toBe(1)
  })

  test('nearness is 1 at most, also where much more than enough fails and nothing opens', () => {
    const scene = new Scene(OPTIONS)
    scene.gate.steer('metricsOnly')
    scene.calls(100, 'failure')
    expect(scene.snapshot.nearness).toBe(1)
  })

  test('the nearest of several rules is the one that is shown and named', () => {
    const scene = new Scene({ ...OPTIONS, atLeast: 100, consecutive: 3 })
    scene.calls(2, 'failure')
    expect(scene.snapshot.nearness).toBeCloseTo(2 / 3)
    scene.call('failure')
    expect(scene.snapshot).toMatchObject({ state: 'open', why: '3 calls failed in a row (limit 3)' })
  })

  test('opened counts the times, whoever opened it', () => {
    const scene = new Scene(OPTIONS)
    scene.calls(4, 'failure')
    scene.world.advance(1000)
    scene.call('failure')
    expect(scene.snapshot.opened).toBe(2)
    scene.gate.steer('closed')
    scene.gate.steer('open')
    expect(scene.snapshot.opened).toBe(3)
  })
})

describe('state(now) is the state that a call would meet', () => {
  test('without an argument it asks the clock', () => {
    const scene = new Scene(OPTIONS)
    scene.gate.steer('open')
    expect(scene.gate.state()).toBe('open')
    scene.world.advance(1000)
    expect(scene.gate.state()).toBe('halfOpen')
  })

  test('open reads as half-open from the end of the open time on', () => {
    const scene = new Scene(OPTIONS, 7)
    scene.gate.steer('open')
    expect([7, 1006, 1007, 1e12].map((now) => scene.gate.state(now))).toEqual(['open', 'open', 'halfOpen', 'halfOpen'])
  })
})

describe('idle(now): nobody would notice if it were made anew', () => {
  test('when it has seen nothing', () => {
    expect(new Scene(OPTIONS).gate.idle(0)).toBe(true)
  })

  test('not with a result in its window, and again when that has gone', () => {
    const scene = new Scene(OPTIONS)
    scene.call('success')
    expect([0, 9999, 10_000].map((now) => scene.gate.idle(now))).toEqual([false, false, true])
  })

  test('not with a call inside, whose result would be lost', () => {
    for (const end of ['settle', 'cancel'] as const) {
      const scene = new Scene(OPTIONS)
      const [first, second] = offered(scene.gate, 2, scene.now)
      scene.world.advance('1h')
      expect(scene.gate.idle(scene.now)).toBe(false)
      first?.cancel(scene.now)
      expect(scene.gate.idle(scene.now)).toBe(false)
      if (end === 'cancel') second?.cancel(scene.now)
      else second?.settle('ignored', 1, scene.now)
      expect(scene.gate.idle(scene.now)).toBe(true)
    }
  })

  test('a call of an older generation, which says nothing any more, does not count', () => {
    const scene = new Scene(OPTIONS)
    const old = admitted(scene.gate, scene.now)
    scene.gate.steer('closed')
    expect(scene.gate.idle(scene.now)).toBe(true)
    const young = admitted(scene.gate, scene.now)
    old.settle('failure', 1, scene.now)
    expect(scene.gate.idle(scene.now)).toBe(false)
    young.cancel(scene.now)
    expect(scene.gate.idle(scene.now)).toBe(true)
  })

  test('not while it remembers that it was open', () => {
    const scene = new Scene(OPTIONS)
    scene.calls(4, 'failure')
    scene.world.advance(1000)
    scene.calls(2, 'success')
    expect(scene.state).toBe('closed')
    const closed = scene.now
    expect([10_000, 59_999, 60_000].map((ms) => scene.gate.idle(closed + ms))).toEqual([false, false, true])
  })

  test.each(['open', 'halfOpen', 'forcedOpen', 'disabled', 'metricsOnly'] satisfies BreakerState[])(
    'not in %s',
    (state) => {
      const scene = new Scene(OPTIONS)
      scene.gate.steer(state)
      expect(scene.gate.idle(1e12)).toBe(false)
    },
  )
})
