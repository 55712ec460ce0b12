import {
  answered,
  type Call,
  type Done,
  type Init,
  type Next,
  overload,
  type Pipeline,
  type Policy,
  pipeline,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { fateOf, layerOf, takes } from '../core/fate.ts'

// Who has a place, and for how long; and what is shown when nobody comes any more.

type Options = NonNullable<Parameters<typeof overload>[0]>

function house(options: Options = {}) {
  const world = new VirtualRuntime({ seed: 5 })
  const p = pipeline('api', [overload({ limits: { start: 2, most: 2 }, ...options })], { runtime: world })
  return { world, p, look: () => layerOf(p, 'overload') }
}

/** Calls whose head is out at once, and whose body is sent until they are told. */
function streams(p: Pipeline, howMany: number): { readonly heads: number; end(): void } {
  const ends: (() => void)[] = []
  let heads = 0
  for (let i = 0; i < howMany; i++) {
    p.start(
      (call, done) => {
        const end = call.hold(3_600_000)
        ends.push(() => end('success'))
        done(answered(1))
      },
      () => void heads++,
    )
  }
  return {
    get heads() {
      return heads
    },
    end: () => {
      for (const end of ends) end()
    },
  }
}

describe('answers that are being sent', () => {
  test('keep nobody from his turn for longer than a moment', async () => {
    const { world, p, look } = house()
    const slow = streams(p, 2)
    const next = fateOf(p.call(takes(world, 5, 'next')), world)
    await world.advanceAsync(9)
    expect(next.at).toBe(-1)
    await world.advanceAsync(20)
    expect([next.value, next.at]).toEqual(['next', 15])
    expect(look()).toMatchObject({ inFlight: 2, waiting: 0 })
    const later = fateOf(p.call(takes(world, 5, 'later')), world)
    await world.advanceAsync(5)
    expect(later.value).toBe('later')
    slow.end()
    expect([look()['inFlight'], world.timers]).toEqual([0, 0])
  })

  test('have as many places of their own as calls may have at the most', async () => {
    const { world, p, look } = house()
    const slow = streams(p, 20)
    await world.advanceAsync(200)
    // Two at work, and two that send.
    expect([slow.heads, look()['inFlight'], look()['waiting']]).toEqual([4, 4, 16])
    slow.end()
    await world.advanceAsync(200)
    slow.end()
    expect(slow.heads).toBeGreaterThanOrEqual(8)
  })

  test('that are short keep their place to their end', async () => {
    const { world, p, look } = house()
    let most = 0
    for (let i = 0; i < 50; i++)
      p.start(
        (call, done) => {
          call.hold(5)
          most = Math.max(most, look()['inFlight'] as number)
          done(answered(1))
        },
        () => {},
      )
    await world.advanceAsync(1000)
    expect([most, look()['inFlight'], look()['waiting']]).toEqual([2, 0, 0])
  })
})

describe('who throws', () => {
  const thrower = (world: VirtualRuntime, p: Pipeline, ms: number) =>
    p.start(
      (_, done) => void world.after(ms, () => done(answered(1))),
      () => {
        throw new Error('told')
      },
    )

  test('keeps neither a place nor the others from their turn', async () => {
    const { world, p, look } = house()
    thrower(world, p, 10)
    fateOf(p.call(takes(world, 20, 'other')), world)
    // When its turn comes it ends at once, and then it throws.
    p.start(
      (_, done) => done(answered(1)),
      () => {
        throw new Error('told')
      },
    )
    const others = ['a', 'b', 'c'].map((name) => fateOf(p.call(takes(world, 5, name)), world))
    for (let i = 0; i < 100; i++) {
      try {
        await world.advanceAsync(1)
      } catch (error) {
        expect(error).toMatchObject({ message: 'told' })
      }
    }
    expect(others.map(({ value }) => value)).toEqual(['a', 'b', 'c'])
    expect([look()['inFlight'], look()['waiting'], world.timers]).toEqual([0, 0, 0])
  })
})

test('a layer further in that throws costs no place, keeps nobody from his turn, and no outcome from its caller', async () => {
  const { world, p, look } = house()
  const layer = p.find('overload') as unknown as Policy
  const calls: Call[] = []
  for (let i = 0; i < 7; i++) await p.call((call) => void calls.push(call))
  const enter = (next: Next, done: Done = () => {}) => layer.run(calls.pop() as Call, next, done)
  const faulty = () => {
    throw new Error('faulty')
  }
  for (let i = 0; i < 3; i++) expect(() => enter(faulty)).toThrow('faulty')
  expect(look()['inFlight']).toBe(0)
  let end: Done = () => {}
  const told: string[] = []
  enter(
    (_, done) => void (end = done),
    () => void told.push('first'),
  )
  enter(() => {})
  enter(faulty)
  enter(() => void told.push('last'))
  expect(() => end(answered(1))).toThrow('faulty')
  expect(told).toEqual(['first'])
  world.advance(1)
  expect([told, look()['inFlight'], look()['waiting']]).toEqual([['first', 'last'], 2, 0])
})

test('a reload with another most is followed, down and up', async () => {
  const { world, p, look } = house({ limits: { start: 8, most: 8 } })
  p.reload([overload({ limits: { start: 8, most: 3 } })])
  expect(look()['limit']).toBe(3)
  p.reload([overload({ limits: { start: 8, most: 100 } })])
  for (let round = 0; round < 40; round++) {
    for (let i = 0; i < 50; i++) fateOf(p.call(takes(world, 5, 'one')), world)
    await world.advanceAsync(100)
  }
  expect(look()['limit']).toBeGreaterThan(8)
})

/** Ten each 5 ms, of 5 ms each, for so long. */
function flood(world: VirtualRuntime, p: Pipeline, ms: number, init: Init = {}): void {
  for (let t = 0; t < ms; t += 5) {
    for (let i = 0; i < 10; i++)
      p.start(
        (_, done) => void world.after(5, () => done(answered(1))),
        () => {},
        init,
      )
    world.advance(5)
  }
}

test('who is spared when his time is over stands where he stood', () => {
  const { world, p, look } = house()
  const batches = (ms: number) => flood(world, p, ms, { criticality: 'sheddable' })
  batches(400)
  const order: string[] = []
  const enter = (name: string, ms: number) =>
    p.start(
      (_, done) => {
        order.push(name)
        world.after(ms, () => done(answered(1)))
      },
      () => {},
      { criticality: 'criticalPlus' },
    )
  for (const name of ['x', 'y']) enter(name, 60)
  // Sheddable ones were taken: nobody of a higher class is refused within 100 ms. The time of the first is over when it is not yet for the last.
  for (const name of ['old', 'middle', 'new']) {
    batches(10)
    enter(name, 20)
    batches(10)
  }
  expect(look()).toMatchObject({ overloaded: true, inFlight: 2 })
  batches(100)
  // All of the class can be done: the oldest first.
  expect(order.slice(2)).toEqual(['old', 'middle', 'new'])
})

test('after a surge that ends in silence nothing is shown of it', () => {
  const { world, p, look } = house()
  const layer = p.find('overload') as unknown as { levelText(): string }
  flood(world, p, 400)
  expect(look()['overloaded']).toBe(true)
  world.advance(4000)
  expect(look()['overloaded']).toBe(true)
  world.advance(1001)
  expect([look()['overloaded'], look()['level'], layer.levelText()]).toEqual([false, 512, '512'])
})

describe('with one place', () => {
  test.each([1, 4])('one runs at a time, whatever comes, also where it should begin with %d', async (start) => {
    const { world, p, look } = house({ limits: { start, most: 1 } })
    expect(look()['limit']).toBe(1)
    let [running, most, done] = [0, 0, 0]
    for (let i = 0; i < 2000; i++) {
      p.start(
        (_, end) => {
          most = Math.max(most, ++running)
          world.after(20, () => {
            running--
            end(answered(1))
          })
        },
        ({ ok }) => void (done += ok ? 1 : 0),
      )
      world.advance(5)
    }
    // Four times the load, of which one at a time is done all the time.
    expect([most, look()['limit'], look()['overloaded']]).toEqual([1, 1, true])
    expect(done).toBeGreaterThan(0.97 * 500)
    await world.advanceAsync('1s')
    expect(look()).toMatchObject({ inFlight: 0, waiting: 0 })
  })

  test('a reload may make it one, and more again', async () => {
    const { world, p, look } = house()
    p.reload([overload({ limits: { most: 1 } })])
    expect(look()['limit']).toBe(1)
    const fates = [1, 2].map((value) => fateOf(p.call(takes(world, 10, value)), world))
    await world.advanceAsync(50)
    expect(fates.map(({ at }) => at)).toEqual([10, 20])
    p.reload([overload({ limits: { most: 8 } })])
    for (let i = 0; i < 100; i++) {
      for (let one = 0; one < 8; one++) fateOf(p.call(takes(world, 10, one)), world)
      await world.advanceAsync(10)
    }
    expect(look()['limit']).toBeGreaterThanOrEqual(2)
  })
})

describe('who goes next in a surge', () => {
  test('the oldest of a class of which all can be done, the newest of a class of which more come', () => {
    const { world, p, look } = house()
    const order: Record<string, number[]> = { criticalPlus: [], critical: [] }
    const enter = (criticality: 'criticalPlus' | 'critical', name: number) =>
      p.start(
        (_, done) => {
          order[criticality]?.push(name)
          world.after(20, () => done(answered(name)))
        },
        () => {},
        { criticality },
      )
    // 100 a second can be done: 40 come of the one class, 400 of the other.
    for (let i = 0; i < 2000; i++) {
      if (i % 10 === 0) enter('criticalPlus', i)
      enter('critical', i)
      world.advance(2.5)
    }
    expect(look()['overloaded']).toBe(true)
    const late = (names: number[] = []) => names.filter((name) => name > 1000)
    const isSorted = (names: number[]) => names.every((name, i) => i === 0 || name > (names[i - 1] as number))
    expect(isSorted(late(order['criticalPlus']))).toBe(true)
    expect(isSorted(late(order['critical']))).toBe(false)
    expect(look()['refused']).toMatchObject({ criticalPlus: 0 })
  })
})
