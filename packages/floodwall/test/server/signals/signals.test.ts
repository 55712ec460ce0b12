import { readdirSync } from 'node:fs'
import { pipeline } from 'floodwall'
import { ServerEdge, Signals, signalsOf } from 'floodwall/server'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Machine, UNIFIED, unified } from './support/machine.ts'

// Who looks, how often, and what a look says; in virtual time.

function house(world = new VirtualRuntime()) {
  const machine = new Machine()
  const signals = new Signals(world, machine)
  const release = signals.hold()
  return {
    world,
    machine,
    signals,
    release,
    value: (name: string) => signals.inspect(world.precise())[name]?.value,
    [Symbol.dispose]() {
      release()
      machine[Symbol.dispose]()
    },
  }
}

describe('looks', () => {
  /** Runs for `ms` with a request each `every`, and counts the timers that fire. */
  function wakes(ms: number, every: number): number {
    using h = house()
    let n = 0
    const counting = new VirtualRuntime()
    const runtime = {
      precise: counting.precise,
      soon: counting.soon,
      after: (span: number, fn: () => void) => counting.after(span, () => (n++, fn())),
    }
    const signals = new Signals(runtime, h.machine)
    const release = signals.hold()
    for (let t = 0; t < ms; t += every) {
      signals.touch()
      counting.advance(Math.min(every, ms - t))
    }
    release()
    expect(counting.timers).toBe(0)
    return n
  }

  test('four a second while requests come, whatever their number', () => {
    expect([wakes(10_000, 1), wakes(10_000, 100)]).toEqual([40, 40])
  })

  test('an idle server is not woken: four looks after its last request, and none in the hour after that', () => {
    expect(wakes(3_600_000, 3_600_000)).toBe(5)
    using h = house()
    h.world.advance('1h')
    expect(h.world.timers).toBe(0)
  })

  test('one timer, however many hold it; none, no observer and no open file when the last has left, twice is harmless', () => {
    using h = house()
    h.machine.write({
      'proc/self/cgroup': '0::/\n',
      'proc/self/mountinfo': UNIFIED,
      ...unified('sys/fs/cgroup', '100000 100000', 1, 1),
      'proc/pressure/cpu': 'some total=1\n',
    })
    const open = () => readdirSync('/proc/self/fd').length
    const before = open()
    const others = Array.from({ length: 50 }, () => h.signals.hold())
    for (let i = 0; i < 50; i++) h.signals.touch()
    expect([h.world.timers, h.machine.observers, open() - before]).toEqual([1, 1, 2])
    for (const release of others) release()
    expect(h.world.timers).toBe(1)
    h.release()
    h.release()
    expect([h.world.timers, h.machine.observers, open() - before]).toEqual([0, 0, 0])
    h.signals.touch()
    expect(h.world.timers).toBe(0)
  })

  test('edges of one runtime share them, and let go when they are closed', async () => {
    const world = new VirtualRuntime()
    const edges = [1, 2, 3].map((n) => new ServerEdge(pipeline(`p${n}`, [], { runtime: world })))
    const signals = signalsOf(world)
    expect(signalsOf(pipeline('other', [], { runtime: world }).env)).toBe(signals)
    signals.touch()
    expect(world.timers).toBe(1)
    await Promise.all(edges.map((edge) => edge.close()))
    expect(world.timers).toBe(0)
  })

  test('C38 the timer of a real process does not keep it alive', async () => {
    const edge = new ServerEdge(pipeline('real', []))
    const signals = signalsOf(edge.pipeline.env)
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const before = timers()
    signals.touch()
    expect(timers()).toBe(before)
    expect(signals.readings.heap.value).toBeGreaterThan(0)
    await edge.close()
  })

  test('C38 10,000 edges that are dropped hold no timer, no file and no observer', () => {
    const world = new VirtualRuntime()
    const before = readdirSync('/proc/self/fd').length
    for (let i = 0; i < 10_000; i++) new ServerEdge(pipeline(`p${i}`, [], { runtime: world }))
    expect([world.timers, readdirSync('/proc/self/fd').length - before]).toEqual([0, 0])
  })

  test('a level is never of numbers that are older than a look: who asks reads anew', () => {
    using h = house()
    h.signals.touch()
    h.world.advance(10_000)
    h.machine.heapUsed = 98
    h.world.advance(1)
    const now = h.world.precise()
    expect([h.signals.readings.heap.level(now), h.signals.readings.heap.at]).toEqual([1, now])
  })
})

describe('what a look says', () => {
  test('the loop: what it did not sleep', () => {
    using h = house()
    h.signals.touch()
    h.machine.idle += 200
    h.world.advance(250)
    expect(h.value('loop')).toBeCloseTo(0.2)
  })

  test('the process: its time as a share of the threads that can run, or of the quota where that is less', () => {
    using h = house()
    h.signals.touch()
    h.machine.cpu += 500
    h.world.advance(250)
    expect(h.value('cpu')).toBe(0.5)
  })

  test('collections: an average, so that one of 200 ms is no thrashing, and a second of nothing else is', () => {
    using h = house()
    const level = () => h.signals.readings.gc.level(h.world.precise())
    h.signals.touch()
    h.world.advance(250)
    h.machine.collect(200)
    h.signals.touch()
    h.world.advance(250)
    expect([(h.value('gc') as number) < 0.12, level()]).toEqual([true, 0])
    for (let i = 0; i < 16; i++) {
      h.machine.collect(240)
      h.signals.touch()
      h.world.advance(250)
    }
    expect(level()).toBeGreaterThan(1)
  })

  test('each has its age, in milliseconds; what cannot be read is null and at level 0', () => {
    using h = house()
    h.signals.touch()
    h.world.advance(350)
    const shown = h.signals.inspect(h.world.precise())
    expect(shown['heap']).toEqual({ value: 0.1, unit: 'share', level: 0, ageMs: 100 })
    expect(shown['quota']).toEqual({ value: null, unit: 'share', level: 0, ageMs: 100 })
    expect(Object.keys(shown)).toEqual([
      ...['queue-delay', 'loop', 'lateness', 'cpu', 'quota', 'throttled', 'stalled', 'heap', 'memory', 'gc'],
    ])
    expect(JSON.parse(JSON.stringify(shown))).toEqual(shown)
  })

  test('what may refuse: memory and collections; a loop, a core, a quota used to the full are no reason', () => {
    using h = house()
    expect(h.signals.pressures.map(({ name }) => name)).toEqual(['heap', 'memory', 'gc'])
  })
})

/** A runtime whose loop can be blocked: timers that are due fire when it is let go. */
class Blocked extends VirtualRuntime {
  lagMs = 0
  override readonly precise = (): number => this.now() + this.lagMs
}

describe('a blocked loop', () => {
  test('a look that comes late is itself the sample', () => {
    const world = new Blocked()
    using h = house(world)
    h.signals.touch()
    world.lagMs = 1000
    world.advance(250)
    expect(h.signals.readings.lateness.value).toBe(1000)
    expect(h.signals.readings.lateness.level(world.precise())).toBeGreaterThan(1)
  })

  test('one that should have come and has not is late by now', () => {
    const world = new Blocked()
    using h = house(world)
    h.signals.touch()
    world.lagMs = 550
    expect(h.signals.readings.lateness.level(world.precise())).toBeCloseTo(250 / 450)
    // Nobody waits for a look: nothing is known to be late.
    world.lagMs = 0
    world.advance(60_000)
    expect(h.signals.readings.lateness.level(world.precise())).toBe(0)
  })

  test('timing goes on after 5 s', () => {
    const world = new Blocked()
    using h = house(world)
    h.signals.touch()
    world.lagMs = 5000
    world.advance(250)
    h.machine.idle += 125
    h.signals.touch()
    world.advance(250)
    expect([h.value('loop'), world.timers]).toEqual([0.5, 1])
  })
})
