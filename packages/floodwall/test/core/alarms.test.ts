import fc from 'fast-check'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Alarm, AlarmList } from '../../src/core/alarms.ts'

class Bell extends Alarm {
  readonly name: number
  private readonly heard: (name: number) => void

  constructor(name: number, heard: (name: number) => void) {
    super()
    this.name = name
    this.heard = heard
  }

  override ring(): void {
    this.heard(this.name)
  }
}

function house(spanMs: number, startAt = 0) {
  const world = new VirtualRuntime({ startAt })
  const rung: [name: number, at: number][] = []
  const list = new AlarmList(spanMs, world.env())
  return { world, list, rung, bell: (name: number) => new Bell(name, (n) => rung.push([n, world.now()])) }
}

test('rings once, a span after it was set', () => {
  const { world, list, rung, bell } = house(100)
  list.add(bell(1))
  world.advance(99)
  expect(rung).toEqual([])
  world.advance(1000)
  expect([rung, world.timers]).toEqual([[[1, 100]], 0])
})

test('one that is removed does not ring, and leaves no timer', () => {
  const { world, list, rung, bell } = house(100)
  const one = bell(1)
  list.add(one)
  world.advance(50)
  list.remove(one)
  list.remove(one)
  expect(world.timers).toBe(0)
  world.advance(1000)
  expect(rung).toEqual([])
})

test('set and removed in one turn it never costs a timer', () => {
  const { world, list, bell } = house(100)
  let timers = 0
  const after = world.after
  ;(world as { after: typeof world.after }).after = (ms, fn) => (timers++, after(ms, fn))
  const counted = new AlarmList(100, world.env())
  for (let i = 0; i < 1000; i++) {
    const one = bell(i)
    counted.add(one)
    counted.remove(one)
  }
  world.advance(0)
  expect([timers, world.timers, list.spanMs]).toEqual([0, 0, 100])
})

test('one alarm can be set again after it rang, and after it was removed', () => {
  const { world, list, rung, bell } = house(10)
  const one = bell(1)
  for (let i = 0; i < 3; i++) {
    list.add(one)
    world.advance(10)
    list.add(one)
    list.remove(one)
  }
  world.advance(100)
  expect([rung.length, world.timers]).toEqual([3, 0])
})

test('ten thousand need one timer, whatever leaves', () => {
  const { world, list, rung, bell } = house(1000)
  const all = Array.from({ length: 10_000 }, (_, i) => bell(i))
  for (const one of all) list.add(one)
  expect(world.timers).toBe(1)
  for (const one of all.slice(0, 9_999)) list.remove(one)
  expect(world.timers).toBe(1)
  world.advance(1000)
  expect([rung, world.timers]).toEqual([[[9_999, 1000]], 0])
})

describe('while it rings', () => {
  test('others may be removed, and new ones set', () => {
    const { world, list, rung } = house(100)
    const bells: Bell[] = []
    const note = (n: number) => rung.push([n, world.now()])
    bells.push(
      new Bell(0, (n) => {
        note(n)
        list.remove(bells[1] as Bell)
        list.add(bells[3] as Bell)
      }),
    )
    for (let i = 1; i < 4; i++) bells.push(new Bell(i, note))
    for (const one of bells.slice(0, 3)) list.add(one)
    world.advance(1000)
    expect([rung, world.timers]).toEqual([
      [
        [0, 100],
        [2, 100],
        [3, 200],
      ],
      0,
    ])
  })

  test('the ringing one may set itself again', () => {
    const { world, list, rung } = house(100)
    const one: Bell = new Bell(1, (n) => {
      rung.push([n, world.now()])
      if (rung.length < 4) list.add(one)
    })
    list.add(one)
    world.advance(10_000)
    expect([rung.map(([, at]) => at), world.timers]).toEqual([[100, 200, 300, 400], 0])
  })
})

test('agrees with a list of everything', () => {
  const step = fc.record({
    wait: fc.oneof(fc.constant(0), fc.nat(30), fc.nat(300)),
    act: fc.constantFrom('add', 'add', 'remove', 'nothing'),
    which: fc.nat(30),
  })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fc.array(step, { maxLength: 150 }), (spanMs, steps) => {
      const { world, list, rung, bell } = house(spanMs, 1_000_000)
      const bells = Array.from({ length: 31 }, (_, i) => bell(i))
      let set: { name: number; at: number }[] = []
      const expected: [number, number][] = []
      const pass = (until: number) => {
        for (const due of set.filter((one) => one.at <= until)) expected.push([due.name, due.at])
        set = set.filter((one) => one.at > until)
      }
      for (const { wait, act, which } of steps) {
        const isSet = set.some((one) => one.name === which)
        if (act === 'add' && !isSet) {
          list.add(bells[which] as Bell)
          set.push({ name: which, at: world.now() + spanMs })
        } else if (act === 'remove') {
          list.remove(bells[which] as Bell)
          set = set.filter((one) => one.name !== which)
        }
        world.advance(wait)
        pass(world.now())
        expect(rung).toEqual(expected)
        expect(world.timers).toBe(set.length > 0 ? 1 : 0)
      }
      world.advance(spanMs)
      pass(world.now())
      expect([rung, world.timers]).toEqual([expected, 0])
    }),
    { seed: 17, numRuns: 500 },
  )
})
