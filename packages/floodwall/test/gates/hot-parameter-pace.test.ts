import fc from 'fast-check'
import {
  answered,
  type HotParameterOptions,
  hotParameter,
  type Init,
  isRejected,
  type Outcome,
  pipeline,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { parse } from '../../src/core/schema.ts'

type Given = Omit<HotParameterOptions, 'parameter'>

/** A pace per value in a world of its own. What went, and when. */
class Street {
  readonly world = new VirtualRuntime()
  readonly pipeline
  readonly went: [name: number, at: number][] = []
  readonly outcomes = new Map<number, Outcome<unknown>>()
  private names = 0

  constructor(options: Given) {
    this.pipeline = pipeline('street', [hotParameter({ parameter: 0, ...options })], { runtime: this.world })
  }

  /** A call about `value` that comes now; its name is the next number. */
  come(value: unknown, init: Init = {}): number {
    const name = this.names++
    this.pipeline.start(
      (_, done) => {
        this.went.push([name, this.world.now()])
        done(answered(name))
      },
      (outcome) => {
        expect(this.outcomes.has(name)).toBe(false)
        this.outcomes.set(name, outcome)
      },
      { ...init, parameters: [value] },
    )
    return name
  }

  get shown(): Record<string, number> {
    const [layer] = this.pipeline.inspect()['layers'] as object[]
    return parse(hotParameter.snapshot, layer, 'inspect()') as Record<string, number>
  }

  why(name: number): string {
    return this.outcomes.get(name)?.rejection?.why ?? ''
  }
}

const TEN: Given = { rate: 10, maxWait: 500 }

describe('a pace per value', () => {
  test('the worked example: of seven with A six go, each 100 ms; one with B goes at once', () => {
    const street = new Street(TEN)
    for (let i = 0; i < 7; i++) street.come('A')
    street.come('B')
    expect(street.shown).toMatchObject({ behaviour: 'pace', values: 2, waiting: 5, refused: 1 })
    expect(street.why(6)).toBe('"A": its turn would come in 600ms, and 500ms is the longest wait')
    expect(street.outcomes.get(6)?.rejection).toMatchObject({ reason: 'rate', retryAfterMs: expect.closeTo(100, 6) })
    street.world.run()
    expect(street.went).toEqual([[0, 0], [7, 0], ...[1, 2, 3, 4, 5].map((i) => [i, i * 100])])
    expect([street.world.timers, street.shown['waiting']]).toEqual([0, 0])
  })

  test.each([600, 1500, 2001])('%d a second is just that', (rate) => {
    const street = new Street({ rate, maxWait: 20 })
    for (let ms = 0; ms < 2000; ms += 0.25) {
      street.come('A')
      street.world.advance(0.25)
    }
    street.world.run()
    expect(Math.abs(street.went.length - rate * 2)).toBeLessThanOrEqual(rate * 2 * 0.02 + rate * 0.02 + 1)
  })

  test('0 a second admits none, on the first try and on the thousandth', () => {
    const street = new Street({ rate: 10, maxWait: 500, overrides: { A: 0 } })
    for (let i = 0; i < 1000; i++) street.come('A')
    expect([street.went, street.outcomes.get(999)?.rejection?.never]).toEqual([[], true])
    street.come('B')
    expect(street.went).toEqual([[1000, 0]])
  })

  test('who leaves gives his turn to those behind him, and his reason comes through', () => {
    const street = new Street(TEN)
    const leaving = new AbortController()
    street.come('A')
    street.come('A', { signal: leaving.signal })
    street.come('A')
    street.world.advance(50)
    leaving.abort('gone')
    expect([street.outcomes.get(1)?.error, street.shown['waiting']]).toEqual(['gone', 1])
    street.world.run()
    expect(street.went).toEqual([
      [0, 0],
      [2, 100],
    ])
    expect(street.world.timers).toBe(0)
  })

  test('who cannot meet his deadline is told at once', () => {
    const street = new Street(TEN)
    street.come('A')
    street.come('A', { within: 60 })
    expect([street.outcomes.get(1)?.rejection?.reason, street.shown['waiting']]).toEqual(['deadline', 0])
    street.world.run()
  })

  test('all values together have so many places; an empty line of another value is no way in for a second one', () => {
    const street = new Street({ ...TEN, size: 3 })
    for (const value of ['A', 'A', 'A', 'B', 'B', 'C', 'C']) street.come(value)
    expect(street.shown).toMatchObject({ waiting: 3, refused: 1 })
    expect([street.outcomes.get(6)?.rejection?.reason, street.why(6)]).toEqual([
      'queue-full',
      '"C": 3 wait already, in 3 places',
    ])
    street.world.run()
    expect([street.went.length, street.shown['waiting']]).toEqual([6, 0])
  })

  test('a missing parameter waits for nothing, an object has the shared line', () => {
    const street = new Street(TEN)
    for (let i = 0; i < 3; i++) street.come(undefined)
    for (let i = 0; i < 2; i++) street.come({})
    street.come([])
    expect(street.shown).toMatchObject({ skipped: 3, shared: 3, waiting: 2, values: 0 })
    street.world.run()
    expect(street.went.map(([, at]) => at)).toEqual([0, 0, 0, 0, 100, 200])
  })
})

describe('eviction', () => {
  test('a value with calls in its line stays, and who is evicted leaves his debt', () => {
    const street = new Street({ ...TEN, max: 1 })
    street.come('A')
    street.come('A')
    // A waits: B has the shared line.
    street.come('B')
    street.come('B')
    expect(street.shown).toMatchObject({ values: 1, evicted: 0, shared: 2, waiting: 2 })
    street.world.run()
    expect(street.world.now()).toBe(100)
    street.come('C')
    expect(street.shown).toMatchObject({ evicted: 1, inherited: 1, waiting: 1 })
    street.world.run()
    expect(street.went.at(-1)).toEqual([4, 200])
  })

  test('a value with a rate of its own keeps its line, whoever comes; a closed one has no shared line', () => {
    const street = new Street({ ...TEN, max: 1, overrides: { slow: 0.1, closed: 0 } })
    let slow = 0
    for (let i = 0; i < 100; i++) {
      const names = ['slow', 'closed'].map((value) => street.come(value))
      for (let j = 0; j < 3; j++) street.come(`stranger ${i} ${j}`)
      street.world.advance(100)
      expect(street.outcomes.get(names[1]!)?.rejection?.never).toBe(true)
      if (street.outcomes.get(names[0]!)?.ok === true) slow++
    }
    expect(slow).toBe(1)
  })

  test('cycling over more values than there are places earns nothing', () => {
    const street = new Street({ rate: 10, maxWait: 50, max: 2 })
    for (let i = 0; i < 5000; i++) {
      street.come(i % 3)
      street.world.advance(2)
    }
    street.world.run()
    // 10 s: two lines and the shared one.
    expect(street.went.length).toBeLessThanOrEqual(3 * (1 + 100))
  })
})

describe('its life', () => {
  test('close ends every wait, and begins none any more', () => {
    const street = new Street(TEN)
    for (let i = 0; i < 3; i++) street.come('A')
    street.pipeline.close()
    street.come('B')
    expect([1, 2, 3].map((name) => street.outcomes.get(name)?.rejection?.reason)).toEqual([
      'closed',
      'closed',
      'closed',
    ])
    expect([street.world.timers, street.shown['waiting'], street.pipeline.inspect()['running']]).toEqual([0, 0, 0])
  })

  test('a reload keeps who waits in his place, at the new rate; one to slots lets them go as they were told', () => {
    const street = new Street(TEN)
    for (let i = 0; i < 3; i++) street.come('A')
    street.pipeline.reload([hotParameter({ parameter: 0, rate: 100, maxWait: 500 })])
    street.world.advance(20)
    expect(street.went.length).toBe(3)
    street.come('A')
    street.come('A')
    street.pipeline.reload([hotParameter({ parameter: 0, slots: 1 })])
    street.world.run()
    expect([street.went.length, street.world.timers]).toEqual([5, 0])
  })

  test('the error at the edge says what it is about', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('shop', [hotParameter({ parameter: 0, rate: 1, maxWait: 1 })], { runtime: world })
    await p.call(() => 1, { parameters: [7] })
    const error = await p.call(() => 1, { parameters: [7] }).catch((thrown: unknown) => thrown)
    expect(isRejected(error) && error.message).toBe(
      '[rate] refused by shop/hotParameter: 7: its turn would come in 1s, and 1ms is the longest wait; try again in 999ms',
    )
  })
})

test('property: per value first come, first served, never faster than the rate, and everybody is answered once', () => {
  const step = fc.record({
    value: fc.integer({ min: 0, max: 4 }),
    ms: fc.integer({ min: 0, max: 120 }),
    leaves: fc.option(fc.nat()),
  })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 80 }), (max, steps) => {
      const street = new Street({ rate: 20, maxWait: 300, max, size: 6 })
      const values: number[] = []
      const leavers: AbortController[] = []
      for (const { value, ms, leaves } of steps) {
        const leaver = new AbortController()
        leavers.push(leaver)
        values[street.come(value, { signal: leaver.signal })] = value
        if (leaves !== null) leavers[leaves % leavers.length]?.abort('gone')
        street.world.advance(ms)
        expect(street.shown['waiting']).toBeLessThanOrEqual(6 + max)
      }
      street.world.run()
      expect([street.outcomes.size, street.world.timers, street.shown['waiting']]).toEqual([steps.length, 0, 0])
      // With room for all, a value has one line.
      if (max < 5) return
      for (let value = 0; value <= 4; value++) {
        const mine = street.went.filter(([name]) => values[name] === value)
        expect(mine.map(([name]) => name)).toEqual(mine.map(([name]) => name).sort((a, b) => a - b))
        mine.forEach(([, at], i) => i === 0 || expect(at - mine[i - 1]![1]).toBeGreaterThanOrEqual(50 - 0.002))
      }
    }),
    { seed: 14, numRuns: 200 },
  )
})
