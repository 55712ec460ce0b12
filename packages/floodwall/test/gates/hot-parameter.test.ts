import fc from 'fast-check'
import { type CounterCacheMaker, type Gate, hotParameter, lru } from 'floodwall'
import { gateContract, VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { rejected } from '../support/asks.ts'
import { rateBy } from '../support/rates.ts'
import { Door, type Given } from './hot-parameter-scene.ts'

describe('a rate per value', () => {
  test('is exact: burst at once, then one each 1/rate, and each value has its own', () => {
    const door = new Door({ rate: 10, burst: 3 })
    expect([door.hold('a', 9).length, door.hold('b', 9).length]).toEqual([3, 3])
    door.world.advance(99)
    expect(door.ask('a')).toMatchObject({ ok: false, reason: 'rate', retryAfterMs: expect.closeTo(1, 9) })
    door.world.advance(1)
    expect([door.hold('a', 9).length, door.shown.refused]).toEqual([1, 6 + 6 + 1 + 8])
  })

  test.each([600, 1500, 0.2])('%d a second is just that', (rate) => {
    // Asked each 0.25 ms, a burst of one would lose what was earned between two questions.
    const door = new Door({ rate, burst: 2 })
    let passed = 0
    for (let ms = 0; ms < 10_000; ms += 0.25) {
      if (door.ask('a').ok) passed++
      door.world.advance(0.25)
    }
    expect(Math.abs(passed - rate * 10)).toBeLessThanOrEqual(rate * 10 * 0.02 + 2)
  })

  test('a cost of more than the burst can never pass, and a cancel gives back', () => {
    const door = new Door({ rate: 1, burst: 4 })
    expect(door.ask('a', 5)).toMatchObject({ ok: false, never: true })
    const answer = door.ask('a', 4)
    expect([answer.ok, door.ask('a').ok]).toEqual([true, false])
    if (answer.ok) answer.cancel(0)
    expect(door.ask('a', 4).ok).toBe(true)
  })

  test('a clock that steps back gives nothing', () => {
    const gate = hotParameter({ parameter: ({ key }) => key, rate: 1, burst: 1 }).build(
      new VirtualRuntime().env(),
    ) as Gate
    const at = (now: number) =>
      gate.tryAcquire({ now, deadline: Number.POSITIVE_INFINITY, criticality: 'critical', cost: 1, key: 'a' }).ok
    expect([at(5000), at(1000), at(5999), at(6000)]).toEqual([true, false, false, true])
  })

  test('values with ten times the rate have ten times the burst, unless they say', () => {
    const door = new Door({
      rate: 10,
      burst: 2,
      overrides: { vip: 100, slow: 1, none: 0, own: { rate: 10, burst: 7 } },
    })
    const most = ['vip', 'slow', 'none', 'own', 'any'].map((value) => door.hold(value, 200).length)
    expect(most).toEqual([20, 1, 0, 7, 2])
  })
})

describe('eviction', () => {
  test('the worked example: c has the debt of a, and is refused for a second as a would have been', () => {
    const door = new Door({ rate: 1, burst: 1, max: 2 })
    expect(['a', 'b', 'c', 'd', 'a'].map((value) => door.ask(value).ok)).toEqual([true, true, false, false, false])
    expect(door.shown).toMatchObject({ values: 2, evicted: 3, inherited: 3 })
    door.world.advance(1000)
    expect(['e', 'f', 'g'].map((value) => door.ask(value).ok)).toEqual([true, true, false])
  })

  test.each(['lru', 'tinyLfu'] as const)(
    'cycling over more values than there are places earns nothing, %s',
    (cache) => {
      const door = new Door({ rate: 2, burst: 2, max: 5, cache })
      let passed = 0
      for (let i = 0; i < 20_000; i++) {
        if (door.ask(i % 6).ok) passed++
        door.world.advance(1)
      }
      // 5 records, 20 s: each its burst, and 2 a second.
      expect(passed).toBeLessThanOrEqual(5 * (2 + 40))
    },
  )

  test('an idle value is free to go, and its newcomer owes nothing', () => {
    const door = new Door({ rate: 1, burst: 1, max: 2 })
    door.hold('a')
    door.world.advance(1000)
    door.hold('b')
    expect(door.ask('c').ok).toBe(true)
    expect(door.shown).toMatchObject({ evicted: 1, inherited: 0 })
    expect(door.ask('b').ok).toBe(false)
  })

  test('property: whatever comes, all values together get at most max times what one gets', () => {
    const step = fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 400 }))
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 3 }),
        fc.constantFrom('lru', 'tinyLfu' as const),
        fc.array(step, { maxLength: 150 }),
        (max, burst, cache, steps) => {
          const door = new Door({ rate: 5, burst, max, cache })
          let passed = 0
          for (const [value, ms] of steps) {
            if (door.ask(value).ok) passed++
            door.world.advance(ms)
            expect(door.shown.values).toBeLessThanOrEqual(max)
            expect(passed).toBeLessThanOrEqual(max * (burst + (5 * door.world.now()) / 1000) + 1e-6)
          }
        },
      ),
      { seed: 11, numRuns: 150 },
    )
  })

  test('property: where there is room for all, each value has what a GCRA of its own would give', () => {
    const step = fc.tuple(
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 0, max: 300 }),
      fc.integer({ min: 0, max: 3 }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const door = new Door({ rate: 7, burst: 3 })
        const naive = new Map<number, ReturnType<typeof rateBy>>()
        for (const [value, ms, cost] of steps) {
          const rate = naive.get(value) ?? rateBy('gcra', { rate: 7, burst: 3 })
          naive.set(value, rate)
          expect(door.ask(value, cost).ok).toBe(rate.take(cost, door.world.now()) === 0)
          door.world.advance(ms)
        }
      }),
      { seed: 12, numRuns: 200 },
    )
  })

  test('property: slots: never above the limit of a value, and all come back', () => {
    const step = fc.record({ value: fc.integer({ min: 0, max: 6 }), end: fc.option(fc.nat()), cancel: fc.boolean() })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom('lru', 'tinyLfu' as const),
        fc.array(step, { maxLength: 120 }),
        (max, cache, steps) => {
          const door = new Door({ slots: 2, max, cache })
          const held: { value: number; end: () => void }[] = []
          for (const { value, end, cancel } of steps) {
            const answer = door.ask(value)
            if (answer.ok) held.push({ value, end: () => (cancel ? answer.cancel(0) : answer.settle('failure', 1, 0)) })
            // Of its own record, and of the one that is shared.
            expect(held.filter((other) => other.value === value).length).toBeLessThanOrEqual(2 + 2)
            expect(held.length).toBeLessThanOrEqual(2 * (max + 1))
            if (end !== null && held.length > 0) held.splice(end % held.length, 1)[0]?.end()
          }
          for (const { end } of held) end()
          expect(door.gate.idle?.(0)).toBe(true)
          expect(door.hold(99, 9)).toHaveLength(2)
        },
      ),
      { seed: 13, numRuns: 200 },
    )
  })
})

describe('what is limited', () => {
  const cases: [string, Given['parameter'], object, unknown][] = [
    ['an argument', 1, { parameters: ['x', 'A'] }, 'A'],
    ['the last argument', -1, { parameters: ['x', 'A'] }, 'A'],
    [
      'a part of a request',
      'query:item',
      { parameters: (name: string) => (name === 'query:item' ? 'A' : undefined) },
      'A',
    ],
    ['a field of the data', 'user.id', { data: { user: { id: 'A' } } }, 'A'],
    ['what a function says', ({ init }) => init?.data, { data: 'A' }, 'A'],
    ['nothing of the prototype', 'constructor.name', { data: {} }, undefined],
    ['no index of a request', 0, { parameters: () => 'A' }, undefined],
    ['no part of a list of arguments', 'query:item', { parameters: ['A'] }, undefined],
    ['no field of what has none', 'user.id', { data: 'user' }, undefined],
  ]
  test.each(cases)('%s', (_, parameter, init, value) => {
    const door = new Door({ slots: 0, ...(parameter === undefined ? {} : { parameter }) })
    const answer = door.call(init)
    expect(answer.ok).toBe(value === undefined)
    if (!answer.ok) expect(answer.why).toBe(`${JSON.stringify(value)}: 0 of 0 slots are taken`)
  })
})

test('a parameter that no call has is told: after 100 calls, after 1000, and not once one had it', () => {
  const door = new Door({ slots: 1, parameter: 'query:itme' })
  const whys = () =>
    door.world.events.flatMap((event) => (event.type === 'warning' && 'why' in event ? [event.why] : []))
  const request = (item?: string) => door.call({ parameters: () => item })
  for (let i = 0; i < 99; i++) request()
  expect(whys()).toEqual([])
  for (let i = 99; i < 2000; i++) request()
  const told = [100, 1000].map((n) => `the parameter "query:itme" was in none of ${n} calls: nothing is limited by it`)
  expect(whys()).toEqual(told)
  request('tv')
  for (let i = 0; i < 20_000; i++) request()
  expect(whys()).toEqual(told)
})

describe('options', () => {
  const fault = (options: object) => {
    try {
      hotParameter({ parameter: 0, ...options } as never)
    } catch (error) {
      return (error as Error).message
    }
    return 'none'
  }
  test.each([
    [{}, 'either slots or rate'],
    [{ slots: 1, rate: 1 }, 'either slots or rate'],
    [{ slots: 1, burst: 1 }, 'burst with rate only'],
    [{ slots: 1, maxWait: 1 }, 'maxWait with rate only'],
    [{ rate: 1, maxWait: 1, burst: 2 }, 'no burst with maxWait'],
    [{ rate: 1, maxWait: 1, overrides: { a: { rate: 1, burst: 2 } } }, 'no burst in overrides'],
    [{ slots: 1, per: '1s' }, 'per with rate only'],
    [{ slots: 1, size: 10 }, 'size with maxWait only'],
    [{ rate: 1, size: 10 }, 'size with maxWait only'],
    [{ slots: 1, overrides: { a: 1, b: 1.5 } }, 'hotParameter.overrides.b: expected a whole number from 0'],
    [{ slots: 1, overrides: { a: { rate: 1 } } }, 'hotParameter.overrides.a: expected a whole number from 0'],
    [
      {
        rate: 1,
        overrides: [
          ['a', 1],
          [7, -1],
        ],
      },
      'hotParameter.overrides[1]: expected a value and its limit',
    ],
    [{ rate: 1, overrides: { a: 1, b: { rat: 1 }, c: -1 } }, 'overrides.b: expected a number of 0 or more, or { rate'],
    [{ rate: 1, overrides: { a: 1, b: 1, c: -1 } }, 'hotParameter.overrides.c: expected a number of 0 or more'],
    [{ slots: 1, overrides: [[{}, 1]] }, 'hotParameter.overrides[0]: expected a value and its limit'],
    [{ slots: 1, overrides: 7 }, 'hotParameter.overrides: expected limits by value'],
    [{ slots: 1, cache: 'lfu' }, 'hotParameter.cache: expected "lru", "tinyLfu"'],
    [{ slots: 1, parameter: 1.5 }, 'hotParameter.parameter: expected the index of an argument'],
    [{ slots: 1, parameter: '' }, 'hotParameter.parameter: expected the index of an argument'],
    ...['qurey:item', 'path:x', 'path:', 'path:-1', 'query:', 'header:', 'header:x y', ':item', 'cookie:id'].map(
      (parameter): [object, string] => [{ slots: 1, parameter }, '"header:" or "query:" with a name, "path:" with'],
    ),
  ])('%j is refused', (options, message) => expect(fault(options)).toContain(message))

  test('what was read can be read again', () => {
    for (const given of [{ slots: 1 }, { rate: 1 }, { rate: 1, maxWait: 1 }]) {
      const { options } = hotParameter({ parameter: 0, ...given })
      expect(hotParameter(options as never).options).toEqual(options)
    }
  })

  test('overrides are an object, pairs or a Map, and mean the same', () => {
    const forms = [{ A: 5 }, [['A', 5]] as const, new Map([['A', 5]])]
    expect(forms.map((overrides) => new Door({ slots: 1, overrides } as Given).hold('A', 9).length)).toEqual([5, 5, 5])
  })

  test('a cache of your own', () => {
    const made: object[] = []
    const mine: CounterCacheMaker = (options) => {
      made.push(options)
      return lru(options)
    }
    const door = new Door({ slots: 1, max: 7, cache: mine })
    expect([door.hold('a', 3).length, made]).toEqual([1, [expect.objectContaining({ capacity: 7 })]])
  })

  test('a cache that forgets who is inside: no count below zero, the end comes to where it began', () => {
    const forgetful: CounterCacheMaker = ({ capacity }) => lru({ capacity })
    const door = new Door({ slots: 1, max: 1, cache: forgetful })
    const first = door.hold('a')
    door.hold('b')
    const second = door.hold('a')
    door.end(first)
    expect([second.length, door.hold('a').length]).toEqual([1, 0])
  })
})

describe('a reload', () => {
  test('of other limits keeps who is inside, and what is owed', () => {
    const slots = new Door({ slots: 2 })
    const held = slots.hold('a', 2)
    slots.reload({ slots: 1, overrides: { a: 3 }, max: 5 })
    expect([slots.hold('a', 9).length, slots.hold('b', 9).length]).toEqual([1, 1])
    slots.end(held)
    expect(slots.hold('a', 9)).toHaveLength(2)
    const rate = new Door({ rate: 1, burst: 5 })
    rate.hold('a', 5)
    rate.reload({ rate: 2, burst: 9 })
    expect([rate.hold('a', 9).length, rate.hold('b', 9).length]).toEqual([0, 9])
    rate.world.advance('1s')
    expect(rate.hold('a', 9)).toHaveLength(2)
  })

  test('of a smaller table loses nobody who is inside', () => {
    const door = new Door({ slots: 1 })
    const held = Array.from({ length: 20 }, (_, i) => door.hold(i)[0]!)
    door.reload({ slots: 1, max: 3 })
    for (let i = 0; i < 20; i++) expect(door.hold(i)).toEqual([])
    door.end(held)
    for (let i = 100; i < 200; i++) door.end(door.hold(i))
    expect(door.hold(0)).toHaveLength(1)
  })

  test('of another parameter or another behaviour begins anew: equal values of two parameters are strangers', () => {
    const door = new Door({ rate: 1, burst: 1, per: '10s' })
    door.call({ parameters: ['7', '8'] })
    door.reload({ rate: 1, burst: 1, per: '10s', parameter: 1 })
    expect(door.call({ parameters: ['9', '7'] }).ok).toBe(true)
    door.reload({ slots: 1, parameter: 1 })
    expect(door.call({ parameters: ['9', '7'] }).ok).toBe(true)
  })
})

test('which values were refused most is shown, with a bound, whatever strangers send', () => {
  const door = new Door({ slots: 0 })
  for (let i = 0; i < 5000; i++) door.ask(i % 2 === 0 ? 'hot' : `stranger ${i}`)
  const { hottest, refused } = door.shown
  expect([hottest.length, hottest[0], refused]).toEqual([8, { value: '"hot"', refused: 2500 }, 5000])
})

const byKey: Given['parameter'] = ({ key }) => key
const gates: [string, Given][] = [
  ['slots', { slots: 3 }],
  ['slots, one value', { slots: 2, max: 1 }],
  ['slots, tinyLfu', { slots: 3, cache: 'tinyLfu' }],
  ['a rate', { rate: 10, burst: 4 }],
  ['a rate, tinyLfu', { rate: 0.5, cache: 'tinyLfu', max: 2 }],
]
describe.each(gates)('%s keeps the promises of a gate', (_, options) => {
  for (const check of gateContract((env) => hotParameter({ parameter: byKey, ...options } as never).build(env) as Gate))
    test(check.name, check.run)
})

test('its refusal is that of the rule, never of a value', () => {
  const gate = hotParameter({ parameter: byKey, slots: 0 }).build(new VirtualRuntime().env('shop/hot')) as Gate
  const no = rejected(gate, 0, { key: 'ann' })
  expect([no.gate, no.gate.path, no.value, no.limit, no.never]).toEqual([gate, 'shop/hot', 0, 0, true])
})
