import type { BreakerOptions, BreakerState, FloodEvent } from 'floodwall'
import { Breaker } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { admitted, ask, offered, rejected } from '../support/asks.ts'
import { Scene } from '../support/breakers.ts'

const OPTIONS: BreakerOptions = {
  lastCalls: 4,
  atLeast: 4,
  openFor: 1000,
  growth: 1,
  jitter: 0,
  probes: 1,
  probeLapse: 300,
}

describe('exactly one event per change', () => {
  test('a whole life, with reasons in words', () => {
    const scene = new Scene(OPTIONS)
    scene.calls(2, 'success')
    scene.calls(2, 'failure')
    scene.world.advance(1000)
    scene.call('failure')
    scene.world.advance(1000)
    scene.call('success')
    const told = scene.events.map((event) => event.type === 'state' && [event.at, event.from, event.to, event.why])
    expect(told).toEqual([
      [0, 'closed', 'open', '2 of 4 calls failed of the last 4 calls (50 %, limit 50 %)'],
      [1000, 'open', 'halfOpen', 'the open time is over'],
      [1000, 'halfOpen', 'open', '1 of 1 probes failed (100 %, limit 50 %)'],
      [2000, 'open', 'halfOpen', 'the open time is over'],
      [2000, 'halfOpen', 'closed', '1 of 1 probes succeeded'],
    ])
  })

  test('refusals, late results and reads tell nothing', () => {
    const scene = new Scene(OPTIONS)
    const late = offered(scene.gate, 10, scene.now)
    scene.calls(4, 'failure')
    scene.world.events.length = 0
    for (let i = 0; i < 1000; i++) rejected(scene.gate, scene.now)
    for (const permit of late) permit.settle('failure', 1, scene.now)
    scene.world.advance(5000)
    expect([scene.state, scene.snapshot.state, scene.gate.idle(scene.now)]).toEqual(['halfOpen', 'halfOpen', false])
    expect(scene.events).toEqual([])
  })

  test('the consecutive trip and the rate trip that open together open once', () => {
    const scene = new Scene({ ...OPTIONS, consecutive: 4 })
    scene.calls(4, 'failure')
    expect(scene.changes).toEqual(['closed -> open'])
  })
})

describe('metricsOnly', () => {
  const tells = (scene: Scene) => scene.changes.filter((change) => change === 'metricsOnly -> metricsOnly').length

  function watching(options: BreakerOptions = OPTIONS): Scene {
    const scene = new Scene(options)
    scene.gate.steer('metricsOnly')
    return scene
  }

  test('tells once, with the numbers, and goes on admitting', () => {
    const scene = watching()
    scene.calls(100, 'failure')
    expect(tells(scene)).toBe(1)
    expect(scene.events.at(-1)).toMatchObject({
      why: 'would open: 4 of 4 calls failed of the last 4 calls (100 %, limit 50 %)',
    })
  })

  test('once more after it has recovered', () => {
    const scene = watching()
    scene.calls(4, 'failure')
    scene.calls(2, 'success') // 2 of 4: still at the limit
    scene.calls(1, 'failure')
    expect(tells(scene)).toBe(1)
    scene.calls(3, 'success') // 1 of 4: well
    scene.calls(2, 'failure')
    expect(tells(scene)).toBe(2)
  })

  test('what says nothing neither tells nor recovers', () => {
    const scene = watching()
    scene.calls(4, 'failure')
    scene.calls(10, 'overload')
    scene.calls(10, 'ignored')
    scene.calls(1, 'failure')
    expect(tells(scene)).toBe(1)
  })

  test('entered again, it starts afresh', () => {
    const scene = watching()
    scene.calls(4, 'failure')
    scene.gate.steer('disabled')
    scene.gate.steer('metricsOnly')
    scene.calls(3, 'failure')
    expect(tells(scene)).toBe(1)
    scene.calls(1, 'failure')
    expect(tells(scene)).toBe(2)
  })

  test('entered again, it tells again, of the very first result too', () => {
    const scene = watching({ consecutive: 1 })
    scene.calls(3, 'failure')
    scene.gate.steer('disabled')
    scene.gate.steer('metricsOnly')
    scene.calls(3, 'failure')
    expect(tells(scene)).toBe(2)
  })

  test('leaves nothing behind for the closed state', () => {
    const scene = watching()
    scene.calls(4, 'failure')
    scene.gate.steer('closed')
    scene.calls(1, 'failure')
    expect([scene.state, scene.snapshot.nearness]).toEqual(['closed', 0.25])
  })
})

/** A breaker whose listener steers at the first event that matches. */
function steered(when: (event: FloodEvent) => boolean, to: BreakerState): { world: VirtualRuntime; gate: Breaker } {
  const world = new VirtualRuntime()
  let done = false
  const emit = (event: FloodEvent) => {
    world.events.push(event)
    if (done || !when(event)) return
    done = true
    gate.steer(to, 'a listener')
  }
  const gate: Breaker = new Breaker(OPTIONS, { ...world.env('peer'), emit })
  return { world, gate }
}

const changesTo = (state: BreakerState) => (event: FloodEvent) => event.type === 'state' && event.to === state

describe('a listener may steer', () => {
  test.each([
    ['forcedOpen', 'forced'],
    ['open', 'open'],
    ['disabled', 'permit'],
    ['closed', 'permit'],
    ['metricsOnly', 'permit'],
  ] as const)('to %s when it turns half-open: the call that asks meets that state: %s', (to, says) => {
    const { world, gate } = steered(changesTo('halfOpen'), to)
    gate.steer('open')
    world.advance(1000)
    const answer = gate.tryAcquire(ask(world.now()))
    expect([gate.state(world.now()), answer.ok ? 'permit' : answer.reason]).toEqual([to, says])
    if (answer.ok) answer.settle('success', 1, world.now())
    const { size, free, running, good, bad } = (gate.inspect(world.now()) as unknown as Scene['snapshot']).probes
    expect([free + running + good + bad, running]).toEqual([size, 0])
  })

  test('when probes lapse: what was decided before stands, and ends in an older generation', () => {
    const { world, gate } = steered((event) => event.type === 'lapsed', 'forcedOpen')
    gate.steer('halfOpen')
    admitted(gate, world.now())
    world.advance(300)
    const probe = admitted(gate, world.now())
    expect(gate.state(world.now())).toBe('forcedOpen')
    probe.settle('success', 1, world.now())
    expect(gate.state(world.now())).toBe('forcedOpen')
    expect(rejected(gate, world.now()).reason).toBe('forced')
  })

  test('when it opens: closed at once, with empty statistics', () => {
    const { world, gate } = steered(changesTo('open'), 'closed')
    for (let i = 0; i < 7; i++) admitted(gate, world.now()).settle('failure', 1, world.now())
    expect(gate.state(world.now())).toBe('closed')
    admitted(gate, world.now()).settle('failure', 1, world.now())
    expect(gate.state(world.now())).toBe('open')
  })

  test('when metricsOnly tells: into a state that bites', () => {
    const { world, gate } = steered((event) => event.type === 'state' && event.why.startsWith('would open'), 'open')
    gate.steer('metricsOnly')
    for (let i = 0; i < 4; i++) admitted(gate, world.now()).settle('failure', 1, world.now())
    expect(rejected(gate, world.now())).toMatchObject({ reason: 'open', retryAfterMs: 1000 })
  })

  test('when a hand closes it: open again, and the next time is longer', () => {
    const world = new VirtualRuntime()
    let closed = 0
    const emit = (event: FloodEvent) => {
      if (changesTo('closed')(event) && ++closed === 1) gate.steer('open')
    }
    const gate: Breaker = new Breaker({ ...OPTIONS, growth: 2 }, { ...world.env('peer'), emit })
    gate.steer('disabled')
    gate.steer('closed')
    expect(rejected(gate, world.now()).retryAfterMs).toBe(1000)
    world.advance(1000)
    admitted(gate, world.now()).settle('failure', 1, world.now())
    expect(rejected(gate, world.now()).retryAfterMs).toBe(2000)
  })
})
