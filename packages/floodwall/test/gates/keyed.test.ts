import { breaker, bulkhead, Keyed, type KeyedOptions, keyed, rateLimit, retry, type Snapshot, shadow } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { parse } from '../../src/core/schema.ts'
import { admitted, ask, offered, rejected } from '../support/asks.ts'

function made(options: KeyedOptions): { world: VirtualRuntime; gate: Keyed } {
  const world = new VirtualRuntime()
  return { world, gate: keyed(options).build(world.env('api/keyed')) as Keyed }
}

interface Shown extends Snapshot {
  readonly keys: number
  readonly evicted: number
  readonly shared: number
  readonly others: { readonly used?: number; readonly tokens?: number }
}

function shown(gate: Keyed, now = 0): Shown {
  return parse(keyed.snapshot, gate.inspect(now), 'inspect()') as Shown
}

const TWO = bulkhead({ slots: 2 })

describe('C10 each key has its own limit', () => {
  test('C10 five calls with one value in one tick: exactly 2; one ends: exactly 1 more', () => {
    const { gate } = made({ of: TWO })
    const inside = offered(gate, 5, 0, { key: 'A' })
    expect(inside).toHaveLength(2)
    inside[0]?.settle('success', 1, 0)
    expect(offered(gate, 2, 0, { key: 'A' })).toHaveLength(1)
  })

  test('C10 room for 3 keys: hold A twice, touch B, C, D, E, end both A: of three A exactly 2', () => {
    const { gate } = made({ of: TWO, max: 3 })
    const held = offered(gate, 2, 0, { key: 'A' })
    for (const key of ['B', 'C', 'D', 'E']) admitted(gate, 0, { key }).settle('success', 1, 0)
    rejected(gate, 0, { key: 'A' })
    for (const permit of held) permit.settle('success', 1, 0)
    expect(offered(gate, 3, 0, { key: 'A' })).toHaveLength(2)
    expect(shown(gate)).toMatchObject({ keys: 3, shared: 0 })
  })

  test('C10 a key that is held is never evicted, however many strangers come', () => {
    const { gate } = made({ of: TWO, max: 3 })
    const held = offered(gate, 2, 0, { key: 'A' })
    for (let i = 0; i < 10_000; i++) {
      admitted(gate, 0, { key: `stranger ${i}` }).settle('success', 1, 0)
      if (i % 100 === 0) rejected(gate, 0, { key: 'A' })
    }
    for (const permit of held) permit.settle('success', 1, 0)
    expect(offered(gate, 9, 0, { key: 'A' })).toHaveLength(2)
    expect(shown(gate).keys).toBe(3)
  })

  test('C10 no counter is ever negative: each end acts on the counter that it took', () => {
    const { gate } = made({ of: TWO, max: 1 })
    const own = offered(gate, 2, 0, { key: 'A' })
    // Nothing can go, so B goes through the shared gate; then B gets a gate of its own while the first still runs.
    const shared = admitted(gate, 0, { key: 'B' })
    expect(shown(gate)).toMatchObject({ shared: 1, others: { used: 1 } })
    for (const permit of own) permit.cancel(0)
    const [b1, b2] = offered(gate, 3, 0, { key: 'B' })
    shared.settle('success', 1, 0)
    expect(shown(gate).others.used).toBe(0)
    b1?.cancel(0)
    b2?.cancel(0)
    expect([offered(gate, 9, 0, { key: 'B' }).length, shown(gate).evicted]).toEqual([2, 1])
  })

  test('C10 equality is that of a Map: 1 and "1" are two, NaN is one, "" is a key', () => {
    const long = 'x'.repeat(10_240)
    const { gate } = made({ of: TWO })
    const keys = [1, '1', Number.NaN, 'NaN', '', 0, 'true', 'null', 'undefined', long, `${long}y`]
    for (const key of keys) expect(offered(gate, 3, 0, { key }), String(key).slice(0, 20)).toHaveLength(2)
    expect(shown(gate).keys).toBe(keys.length)
    // Once more, after others came: the same counters.
    for (const key of [...keys, -0]) expect(offered(gate, 1, 0, { key })).toHaveLength(0)
    expect(shown(gate).keys).toBe(keys.length)
  })

  test('C10 what the types forbid is still one key each, and never a crash', () => {
    const object = {}
    const values: unknown[] = [true, null, undefined, object, [], Symbol('key')]
    const { gate } = made({ of: TWO })
    for (const key of values) expect(offered(gate, 3, 0, { key: key as string })).toHaveLength(2)
    expect(offered(gate, 1, 0, { key: object as string })).toHaveLength(0)
    expect(offered(gate, 1, 0, { key: {} as string })).toHaveLength(1)
  })

  test('C10 a call that says no key shares the key ""', () => {
    const { gate } = made({ of: TWO })
    offered(gate, 2, 0)
    rejected(gate, 0, { key: '' })
  })
})

describe('keys by a function', () => {
  test('that looks at the call', () => {
    const { gate } = made({ of: TWO, by: ({ criticality }) => criticality })
    offered(gate, 2, 0, { key: 'A' })
    rejected(gate, 0, { key: 'B' })
    admitted(gate, 0, { key: 'A', criticality: 'sheddable' })
  })
})

describe('a full table', () => {
  test('the worked example: c takes the place of the idle a', () => {
    const { gate } = made({ of: bulkhead({ slots: 1 }), max: 2 })
    for (const key of ['a', 'b', 'c']) admitted(gate, 0, { key }).cancel(0)
    expect(shown(gate)).toMatchObject({ keys: 2, evicted: 1, shared: 0 })
  })

  test('with a and b busy, c goes through the shared gate, which is limited too', () => {
    const { gate } = made({ of: bulkhead({ slots: 1 }), max: 2 })
    admitted(gate, 0, { key: 'a' })
    admitted(gate, 0, { key: 'b' })
    admitted(gate, 0, { key: 'c' })
    expect(rejected(gate, 0, { key: 'd' })).toMatchObject({ reason: 'full', value: 1, limit: 1 })
    expect(shown(gate)).toMatchObject({ keys: 2, evicted: 0, shared: 2 })
  })

  test('10,000 keys that came once and are idle make room for newcomers, each with a gate of its own', () => {
    const { world, gate } = made({ of: rateLimit({ rate: 1 }), max: 10_000 })
    for (let i = 0; i < 10_000; i++) admitted(gate, world.now(), { key: i })
    world.advance('2s')
    for (let i = 10_000; i < 30_000; i++) {
      admitted(gate, world.now(), { key: i })
      if (i % 1000 === 0) world.advance('2s')
    }
    expect(shown(gate, world.now())).toMatchObject({ keys: 10_000, evicted: 20_000, shared: 0 })
  })

  test('a key that is used goes later than one that is not', () => {
    const { gate } = made({ of: TWO, max: 4 })
    const use = (key: string | number) => admitted(gate, 0, { key }).cancel(0)
    for (const key of ['hot', 1, 2, 3]) use(key)
    for (let i = 4; i < 2000; i++) {
      use('hot')
      use(i)
    }
    // 1996 strangers needed a place. The first met a table in which everybody had been used, and took that of `hot`, once.
    expect(shown(gate)).toMatchObject({ evicted: 1997, shared: 0 })
  })

  test('a million strangers leave max + 1 gates', () => {
    const { gate } = made({ of: rateLimit({ rate: 0, burst: 1 }), max: 100 })
    for (let i = 0; i < 1_000_000; i++) gate.tryAcquire(ask(0, { key: i }))
    expect(shown(gate)).toMatchObject({ keys: 100, evicted: 0, shared: 999_900, others: { tokens: 0 } })
  })

  test('a breaker with calls inside stays, so that what they say is heard', () => {
    const { world, gate } = made({ of: breaker({ consecutive: 3 }), max: 1 })
    const inside = offered(gate, 3, world.now(), { key: 'A' })
    for (let i = 0; i < 100; i++) admitted(gate, world.now(), { key: `stranger ${i}` }).cancel(world.now())
    for (const permit of inside) permit.settle('failure', 1, world.now())
    expect(rejected(gate, world.now(), { key: 'A' }).reason).toBe('open')
  })

  test('a bucket that waits for the true cost stays, so that the debt is not forgotten', () => {
    const { world, gate } = made({ of: rateLimit({ rate: 100, charge: 'time' }), max: 1 })
    const inside = admitted(gate, world.now(), { key: 'A' })
    world.advance('10s')
    admitted(gate, world.now(), { key: 'B' }).cancel(world.now())
    inside.settle('success', 10_000, world.now())
    expect(rejected(gate, world.now(), { key: 'A' }).value).toBe(-100)
  })
})

describe('what it is made of', () => {
  test("permits are the inner gate's own, and so are refusals", () => {
    const { gate } = made({ of: bulkhead({ slots: 1 }) })
    admitted(gate, 0, { key: 'A' })
    const no = rejected(gate, 0, { key: 'A' })
    expect([no.gate.path, no.gate.kind, no.why]).toEqual(['api/keyed/bulkhead', 'bulkhead', '1 of 1 slots are taken'])
  })

  test.each([
    [bulkhead({ slots: 1 }), true, false],
    [breaker({ slowAfter: 1 }), false, true],
    [breaker(), false, false],
    [rateLimit({ rate: 1, charge: 'time' }), false, true],
    [keyed({ of: bulkhead({ slots: 1 }) }), true, false],
    [shadow({ of: rateLimit({ rate: 1, charge: 'time' }) }), false, true],
  ])('it holds and measures as its gates do (%#)', (of, holds, timed) => {
    const { gate } = made({ of })
    expect([gate.holds, gate.timed]).toEqual([holds, timed])
  })

  test('idle when every gate is', () => {
    const { world, gate } = made({ of: TWO, max: 1 })
    expect(gate.idle(0)).toBe(true)
    const own = admitted(gate, world.now(), { key: 'A' })
    const shared = admitted(gate, world.now(), { key: 'B' })
    own.cancel(0)
    expect(gate.idle(0)).toBe(false)
    shared.cancel(0)
    expect(gate.idle(0)).toBe(true)
  })

  test('a policy has no permits to give: refused before anything is built', () => {
    expect(() => made({ of: retry() })).toThrow('keyed.of: expected a layer that makes a gate')
  })
})
