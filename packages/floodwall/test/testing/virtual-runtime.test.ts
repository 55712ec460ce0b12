import fc from 'fast-check'
import { breaker, type FloodEvent, pipeline, retry, timeout } from 'floodwall'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'

describe('timers', () => {
  test('fire in the order of their time, then of their setting, each at its time', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50), { maxLength: 60 }), (spans) => {
        const world = new VirtualRuntime({ startAt: 1000 })
        const fired: [number, number][] = []
        spans.forEach((ms, i) => void world.after(ms, () => fired.push([i, world.now()])))
        world.advance(50)
        const expected = spans
          .map((ms, i) => [i, 1000 + ms] as [number, number])
          .sort((a, b) => a[1] - b[1] || a[0] - b[0])
        expect([fired, world.timers]).toEqual([expected, 0])
      }),
      { seed: 5, numRuns: 300 },
    )
  })

  test('cancelled ones do not fire, whenever they are cancelled', () => {
    const world = new VirtualRuntime()
    const fired: string[] = []
    const a = world.after(10, () => fired.push('a'))
    const b = world.after(20, () => {
      fired.push('b')
      c()
      b()
    })
    const c = world.after(20, () => fired.push('c'))
    a()
    a()
    expect(world.timers).toBe(2)
    world.advance(100)
    expect([fired, world.timers]).toEqual([['b'], 0])
  })

  test('set while others fire, take part in the same stretch of time', () => {
    const world = new VirtualRuntime()
    const at: number[] = []
    const tick = () => {
      at.push(world.now())
      if (at.length < 5) world.after(10, tick)
    }
    world.after(10, tick)
    world.advance(35)
    expect([at, world.now(), world.timers]).toEqual([[10, 20, 30], 35, 1])
    world.run()
    expect([at, world.now(), world.timers]).toEqual([[10, 20, 30, 40, 50], 50, 0])
  })

  test('of 0, negative, NaN and a thousand years', () => {
    const world = new VirtualRuntime()
    const fired: string[] = []
    world.after(0, () => fired.push('0'))
    world.after(-5, () => fired.push('-5'))
    world.after(Number.NaN, () => fired.push('NaN'))
    world.after(31_536_000_000_000, () => fired.push('1000 years'))
    expect(fired).toEqual([])
    world.advance(0)
    expect(fired).toEqual(['0', '-5', 'NaN'])
    world.advance('3650d')
    expect(world.timers).toBe(1)
    world.run()
    expect([fired.at(-1), world.now()]).toEqual(['1000 years', 31_536_000_000_000])
  })

  test('one that throws stops the advance where it was; the rest can go on', () => {
    const world = new VirtualRuntime()
    const fired: number[] = []
    world.after(10, () => {
      throw new Error('timer')
    })
    world.after(20, () => fired.push(world.now()))
    expect(() => world.advance(100)).toThrow('timer')
    expect([world.now(), world.timers]).toEqual([10, 1])
    world.advance(100)
    expect([fired, world.now()]).toEqual([[20], 110])
  })
})

describe('time', () => {
  test('stands still by itself, and moves by spans of any form', () => {
    const world = new VirtualRuntime({ startAt: 5 })
    expect([world.now(), world.precise()]).toEqual([5, 5])
    world.advance(0.5)
    world.advance('1.5s')
    expect(world.now()).toBe(1505.5)
  })

  test.each([Number.NaN, -1, '5 s', 'soon', undefined, Number.POSITIVE_INFINITY])(
    'does not move by %s',
    async (span) => {
      const world = new VirtualRuntime()
      let fired = false
      world.after(10, () => (fired = true))
      expect(() => world.advance(span as number)).toThrow(RangeError)
      await expect(world.advanceAsync(span as number)).rejects.toThrow('expected a span such as 250 or "1.5s"')
      expect([world.now(), fired]).toEqual([0, false])
    },
  )
})

describe('advance and advanceAsync', () => {
  test('advance runs no promise reaction, advanceAsync all of them between two timers', async () => {
    for (const kind of ['advance', 'advanceAsync'] as const) {
      const world = new VirtualRuntime()
      const log: string[] = []
      for (const at of [10, 20]) {
        world.after(at, () => {
          log.push(`timer ${at}`)
          void Promise.resolve()
            .then(() => Promise.resolve())
            .then(() => log.push(`reaction ${at}`))
        })
      }
      await world[kind](20)
      const expected =
        kind === 'advance' ? ['timer 10', 'timer 20'] : ['timer 10', 'reaction 10', 'timer 20', 'reaction 20']
      expect(log.slice(0, 4).sort()).toEqual(
        kind === 'advance' ? expect.arrayContaining(expected) : [...expected].sort(),
      )
      if (kind === 'advanceAsync') expect(log).toEqual(expected)
    }
  })

  test('a timer that a promise reaction sets takes part', async () => {
    const world = new VirtualRuntime()
    const at: number[] = []
    const sleep = (ms: number) => new Promise<void>((resolve) => void world.after(ms, resolve))
    const walk = async () => {
      for (let i = 0; i < 3; i++) {
        await sleep(10)
        at.push(world.now())
      }
    }
    const done = walk()
    await world.advanceAsync(100)
    await done
    expect([at, world.now()]).toEqual([[10, 20, 30], 100])
  })

  test('chores run when the turn is over: before time passes, and after each timer', () => {
    const world = new VirtualRuntime()
    const log: string[] = []
    world.soon(() => log.push(`chore at ${world.now()}`))
    expect(log).toEqual([])
    world.after(10, () => {
      log.push('timer')
      world.soon(() => log.push(`chore at ${world.now()}`))
    })
    world.advance(20)
    expect(log).toEqual(['chore at 0', 'timer', 'chore at 10'])
  })

  test('chores that set chores come to an end', async () => {
    const world = new VirtualRuntime()
    let count = 0
    const chore = () => void (++count < 100 && world.soon(chore))
    world.soon(chore)
    await world.settle()
    expect(count).toBe(100)
  })
})

describe('chance', () => {
  test('same seed, same numbers, uniform in [0, 1)', () => {
    const [a, b, c] = [seeded(1), seeded(1), seeded(2)]
    const numbers = Array.from({ length: 10_000 }, () => a())
    expect(numbers.every((n) => n === b())).toBe(true)
    expect(numbers.some((n) => n !== c())).toBe(true)
    expect(numbers.every((n) => n >= 0 && n < 1)).toBe(true)
    const mean = numbers.reduce((sum, n) => sum + n) / numbers.length
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.01)
    const tenths = Array.from({ length: 10 }, (_, i) => numbers.filter((n) => Math.floor(n * 10) === i).length)
    expect(Math.min(...tenths)).toBeGreaterThan(900)
  })

  test('the numbers are these on every version of Node', () => {
    const random = seeded(42)
    expect([random(), random(), random()]).toMatchInlineSnapshot(`
      [
        0.21884025167673826,
        0.9193855235353112,
        0.07482402282766998,
      ]
    `)
  })

  test.each([0, -1, 1.5, 2 ** 32, 2 ** 53, Number.NaN])('a seed of %d is one', (seed) => {
    const random = seeded(seed)
    expect(new Set(Array.from({ length: 100 }, random)).size).toBeGreaterThan(95)
  })
})

test('same seed, same history: a thousand calls that fail, wait, time out and break', async () => {
  const history = async (seed: number): Promise<FloodEvent[]> => {
    const world = new VirtualRuntime({ seed })
    const layers = [
      retry({ budget: { ratio: 1 } }),
      breaker({ failureRate: 0.6, atLeast: 10, openFor: 500 }),
      timeout({ after: 80 }),
    ]
    const p = pipeline('p', layers, { runtime: world })
    for (let i = 0; i < 1000; i++) {
      void p
        .call(
          () => {
            const ms = world.random() * 120
            const bad = world.random() < 0.5
            return new Promise(
              (resolve, reject) => void world.after(ms, () => (bad ? reject(new Error('x')) : resolve(1))),
            )
          },
          { idempotent: true },
        )
        .catch(() => {})
      await world.advanceAsync(world.random() * 20)
    }
    await world.advanceAsync('1m')
    return [...world.events, p.inspect() as never]
  }
  const one = await history(1)
  expect(one.length).toBeGreaterThan(20)
  expect(await history(1)).toEqual(one)
  expect(await history(2)).not.toEqual(one)
})
