import { hotParameter, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Door } from '../gates/hot-parameter-scene.ts'
import { ask } from '../support/asks.ts'

const CACHES = ['lru', 'tinyLfu'] as const

describe.each(CACHES)('C10 slots per value, %s', (cache) => {
  test('C10 five calls with A in one tick: exactly 2; one ends: exactly 1 more', () => {
    const door = new Door({ slots: 2, cache })
    const inside = door.hold('A', 5)
    expect(inside).toHaveLength(2)
    door.end(inside.slice(0, 1))
    expect(door.hold('A', 2)).toHaveLength(1)
  })

  test('C10 the first of a value is counted as any other, and with 0 slots nobody passes, first or not', () => {
    expect(new Door({ slots: 1, cache }).hold('A', 9)).toHaveLength(1)
    const closed = new Door({ slots: 0, cache })
    for (let i = 0; i < 10_000; i++) expect(closed.ask(`value ${i % 7}`)).toMatchObject({ ok: false, never: true })
  })

  test('C10 room for 3: hold A twice, touch B to E, end both A: of three A exactly 2', () => {
    const door = new Door({ slots: 2, max: 3, cache })
    const held = door.hold('A', 2)
    for (const value of ['B', 'C', 'D', 'E']) door.end(door.hold(value))
    expect(door.hold('A')).toEqual([])
    door.end(held)
    expect(door.hold('A', 3)).toHaveLength(2)
  })

  test('C10 room for 1, held: a second value shares a limit, and each end comes to where it began', () => {
    const door = new Door({ slots: 1, max: 1, cache })
    const [a] = door.hold('A')
    const [b] = door.hold('B')
    expect([door.hold('B'), door.hold('C'), door.hold('A')]).toEqual([[], [], []])
    door.end([a!])
    const [own] = door.hold('B', 3)
    door.end([b!])
    expect(door.hold('B')).toEqual([])
    door.end([own!])
    expect([door.hold('B', 3).length, door.shown.values]).toEqual([1, 1])
  })

  test('C10 held all the while, 10,000 strangers come: nothing of A is lost or gained', () => {
    const door = new Door({ slots: 2, max: 3, cache })
    const held = door.hold('A', 2)
    for (let i = 0; i < 10_000; i++) {
      door.end(door.hold(i))
      if (i % 500 === 0) expect(door.hold('A')).toEqual([])
    }
    for (const permit of held) {
      permit.cancel(0)
      permit.settle('success', 1, 0)
    }
    expect([door.hold('A', 9).length, door.shown.values]).toEqual([2, 3])
  })
})

describe('C10 values', () => {
  const long = 'x'.repeat(10_240)

  test('C10 equality is that of a Map: types are told apart, NaN is one, a text of 10 KB is one of its own', () => {
    const door = new Door({ slots: 2 })
    const values = [
      1,
      '1',
      true,
      'true',
      'null',
      'undefined',
      Number.NaN,
      'NaN',
      '',
      0,
      1n,
      long,
      `${long}y`,
      `y${long}`,
    ]
    for (const value of values) expect(door.hold(value, 3), String(value).slice(0, 20)).toHaveLength(2)
    for (const value of [...values, -0, `${long}`]) expect(door.hold(value)).toEqual([])
    expect(door.shown).toMatchObject({ values: values.length, shared: 0, skipped: 0 })
  })

  test('C10 null, undefined and a call without so many arguments: not limited, and never a crash', () => {
    const door = new Door({ slots: 1, parameter: 2 })
    const answers = [[], ['A'], ['A', 'B'], ['A', 'B', null], ['A', 'B', undefined]].flatMap((args) => [
      door.call({ parameters: args }),
      door.call({ parameters: args }),
    ])
    expect(answers.every(({ ok }) => ok)).toBe(true)
    for (const answer of answers) if (answer.ok) answer.settle('success', 1, 0)
    expect(door.gate.tryAcquire(ask(0)).ok).toBe(true)
    expect(door.shown).toMatchObject({ skipped: 11, values: 0 })
    const three = { parameters: ['A', 'B', 'C'] }
    expect([door.call(three).ok, door.call(three).ok]).toEqual([true, false])
  })

  test('C10 an object, a list, a function share one limit: no way around it, and told once', () => {
    const door = new Door({ slots: 2 })
    const odd = [{}, [], () => 1, Symbol('s'), new Date(0), 2n ** 70n, 'x'.repeat(100_000)]
    expect(odd.flatMap((value) => door.hold(value))).toHaveLength(2)
    expect(door.hold({})).toEqual([])
    expect(door.shown).toMatchObject({ shared: 8, values: 0, hottest: [{ value: 'others', refused: 6 }] })
    const warnings = door.world.events.filter(({ type }) => type === 'warning')
    expect(warnings.map((event) => 'why' in event && event.why)).toContain(
      'the parameter 0 is of the type object: such calls share one limit',
    )
    expect(warnings.length).toBe(new Set(warnings.map((event) => JSON.stringify(event))).size)
  })

  test('C10 a function or a getter that throws: the shared limit, never a crash', () => {
    const thrower = () => {
      throw new Error('boom')
    }
    const door = new Door({ slots: 1, parameter: thrower })
    expect([door.ask('A').ok, door.ask('B').ok, door.shown.shared]).toEqual([true, false, 2])
  })

  test('C10 an exception by hand (A: 5) goes by the same equality as check and count', () => {
    const door = new Door({
      slots: 2,
      overrides: new Map<string | number, number>([
        ['A', 5],
        [1, 4],
        [Number.NaN, 3],
        [long, 1],
        ['closed', 0],
      ]),
    })
    expect(
      ['A', 1, '1', Number.NaN, 'NaN', `${long}`, 'closed', 'B'].map((value) => door.hold(value, 9).length),
    ).toEqual([5, 4, 2, 3, 2, 1, 0, 2])
  })
})

describe('C10 through a pipeline', () => {
  test('C10 refusals carry the rule, the value in a short form and the count; nothing is left behind', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('shop', [hotParameter({ parameter: 1, slots: 1 })], { runtime: world })
    const ends: (() => void)[] = []
    const work = () => new Promise<string>((resolve) => ends.push(() => resolve('done')))
    const first = p.call(work, { parameters: ['ann', 'item\n\u202e7'] })
    await expect(p.call(work, { parameters: ['ben', 'item\n\u202e7'] })).rejects.toThrow(
      '[full] refused by shop/hotParameter: "item\\n\\u202e7": 1 of 1 slots are taken',
    )
    const other = p.call(work, { parameters: ['ben', 'item 8'] })
    for (const end of ends) end()
    expect(await Promise.all([first, other])).toEqual(['done', 'done'])
    expect(p.inspect()).toMatchObject({ running: 0, calls: { success: 2, refused: 1 } })
    expect(await p.call(() => 'again', { parameters: ['ann', 'item\n\u202e7'] })).toBe('again')
  })
})
