import { Breaker, type BreakerOptions, breaker, type Runtime } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { admitted, offered, rejected } from '../support/asks.ts'
import { Scene, STATES } from '../support/breakers.ts'

// With `eager` a timer ends the wait, so that the change can be seen without traffic. It is a convenience: the next call would find the same.

const OPTIONS: BreakerOptions = { consecutive: 1, openFor: 1000, growth: 2, jitter: 0, probes: 1, eager: true }

function opened(options: BreakerOptions = {}): Scene {
  const scene = new Scene({ ...OPTIONS, ...options })
  scene.call('failure')
  return scene
}

describe('eager', () => {
  test('goes half-open exactly at the end of the wait, with nobody calling', () => {
    const scene = opened()
    scene.world.advance(999)
    expect(scene.changes).toEqual(['closed -> open'])
    scene.world.advance(1)
    expect(scene.events.at(-1)).toMatchObject({ at: 1000, from: 'open', to: 'halfOpen', why: 'the open time is over' })
    expect(scene.world.timers).toBe(0)
    scene.world.advance('1h')
    expect(scene.changes).toHaveLength(2)
  })

  test.each([{ eager: false }, {}])('%o: no timer at all', (options) => {
    const scene = new Scene({ consecutive: 1, halfOpenAtMost: 100, ramp: 100, ...options })
    scene.call('failure')
    for (const state of STATES) {
      scene.gate.steer(state)
      expect(scene.world.timers).toBe(0)
    }
  })

  test('one timer while it waits, and none in any other state', () => {
    for (const to of STATES) {
      const scene = opened()
      expect(scene.world.timers).toBe(1)
      scene.gate.steer(to)
      expect(scene.world.timers, to).toBe(to === 'open' ? 1 : 0)
    }
  })

  test('opened anew by hand: the time counts from the last hand on, and the older timer is no more', () => {
    const scene = opened()
    scene.world.advance(600)
    scene.gate.steer('open')
    scene.world.advance(999)
    expect(scene.state).toBe('open')
    scene.world.advance(1)
    expect(scene.changes).toEqual(['closed -> open', 'open -> halfOpen'])
  })

  test.each(STATES)('a timer that rings after all, in %s, changes nothing: it is of an older generation', (state) => {
    const rings: (() => void)[] = []
    const world = new VirtualRuntime()
    // A runtime whose cancel does nothing.
    const gate = new Breaker(OPTIONS, { ...world.env(), after: (_, fn) => (rings.push(fn), () => {}) })
    gate.steer('open')
    gate.steer('closed')
    gate.steer(state)
    world.advance(2000)
    const before = gate.inspect(world.now())
    const told = world.events.length
    rings[0]?.()
    expect(gate.inspect(world.now())).toEqual(before)
    expect(world.events).toHaveLength(told)
  })

  test('a timer that rings early waits for the rest, and one that is lost loses nothing', () => {
    const world = new VirtualRuntime()
    let early = 0.4
    const after = (ms: number, fn: () => void) => {
      const cancel = world.after(Math.max(0, ms - early), fn)
      early = 0
      return cancel
    }
    const gate = new Breaker(OPTIONS, { ...world.env(), after })
    gate.steer('open')
    world.advance(999.7)
    expect([gate.state(world.now()), world.timers]).toEqual(['open', 1])
    world.advance(1)
    expect(world.events.at(-1)).toMatchObject({ to: 'halfOpen' })
    const deaf = new Breaker(OPTIONS, { ...world.env(), after: () => () => {} })
    deaf.steer('open')
    world.advance(1000)
    admitted(deaf, world.now())
  })

  test('does not keep the process alive: it asks for a timer in the background', () => {
    const asked: (boolean | undefined)[] = []
    const after: Runtime['after'] = (_, __, background) => {
      asked.push(background)
      return () => {}
    }
    const gate = new Breaker({ ...OPTIONS, halfOpenAtMost: 5 }, { ...new VirtualRuntime().env(), after })
    gate.steer('open')
    gate.steer('halfOpen')
    admitted(gate, 0)
    expect(asked).toEqual([true, true])
  })

  test('a call at the very end finds it half-open, whoever is first', () => {
    const scene = opened()
    // The call is made by a timer that was set before the breaker's own would ring.
    let answered = 0
    scene.world.after(1000, () => {
      answered = offered(scene.gate, 5, scene.now).length
    })
    scene.world.advance(1000)
    expect([answered, scene.changes]).toEqual([1, ['closed -> open', 'open -> halfOpen']])
  })

  test('a life with eager is the life without, but for when it is told', () => {
    const life = (eager: boolean) => {
      const scene = new Scene({ ...OPTIONS, eager })
      const seen: unknown[] = []
      for (let i = 0; i < 300; i++) {
        const answer = scene.gate.tryAcquire({
          now: scene.now,
          deadline: Infinity,
          criticality: 'critical',
          cost: 1,
          key: '',
        })
        seen.push(answer.ok || answer.retryAfterMs)
        if (answer.ok) answer.settle(i % 3 === 0 ? 'success' : 'failure', 1, scene.now)
        scene.world.advance((i * 37) % 700)
      }
      return [seen, scene.changes.filter((change) => change !== 'open -> halfOpen')]
    }
    expect(life(true)).toEqual(life(false))
  })

  test('turned on and off by a reload, also while it waits', () => {
    const scene = opened({ eager: false })
    const reload = (eager: boolean) => breaker({ ...OPTIONS, eager }).build(scene.world.env(), scene.gate)
    reload(true)
    expect(scene.world.timers).toBe(1)
    reload(false)
    expect(scene.world.timers).toBe(0)
    reload(true)
    scene.world.advance(1000)
    expect(scene.changes.at(-1)).toBe('open -> halfOpen')
  })

  test('where an owner keeps probes away, it waits for him', () => {
    class Checked extends Breaker {
      may = false
      protected override mayProbe(now: number): boolean {
        return this.may && super.mayProbe(now)
      }
    }
    const world = new VirtualRuntime()
    const gate = new Checked(OPTIONS, world.env())
    gate.steer('open')
    world.advance('1h')
    expect([gate.state(world.now()), world.timers]).toEqual(['open', 0])
    expect(rejected(gate, world.now()).reason).toBe('open')
    gate.may = true
    admitted(gate, world.now())
  })
})
