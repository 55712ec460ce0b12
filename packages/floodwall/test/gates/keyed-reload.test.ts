import {
  breaker,
  bulkhead,
  type Gate,
  Keyed,
  type KeyedOptions,
  keyed,
  rateLimit,
  retry,
  Shadow,
  shadow,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { admitted, offered, rejected } from '../support/asks.ts'

/** Gates by key in a world, and a reload as a pipeline does it. */
class House {
  readonly world = new VirtualRuntime()
  readonly gate: Keyed

  constructor(options: KeyedOptions) {
    this.gate = keyed(options).build(this.world.env('api/keyed')) as Keyed
  }

  reload(options: KeyedOptions): void {
    expect(keyed(options).build(this.world.env('api/keyed'), this.gate)).toBe(this.gate)
  }

  get now(): number {
    return this.world.now()
  }
}

describe('C36 a reload of gates by key', () => {
  test.each([
    [4, 5, 2],
    [4, 4, 1],
    [4, 3, 0],
    [4, 2, 0],
  ])('C36 slots %i -> %i with 3 inside: %i more, never two sets of slots', (before, after, more) => {
    const house = new House({ of: bulkhead({ slots: before }) })
    const inside = offered(house.gate, 3, 0, { key: 'A' })
    house.reload({ of: bulkhead({ slots: after }) })
    expect(offered(house.gate, 9, 0, { key: 'A' })).toHaveLength(more)
    for (const permit of inside) permit.settle('success', 1, 0)
    expect(offered(house.gate, 9, 0, { key: 'A' })).toHaveLength(after - more)
    expect(offered(house.gate, 9, 0, { key: 'B' })).toHaveLength(after)
  })

  test('C36 a bucket is not filled: neither that of a key nor the shared one', () => {
    const house = new House({ of: rateLimit({ rate: 10 }), max: 1 })
    offered(house.gate, 8, 0, { key: 'A' })
    offered(house.gate, 7, 0, { key: 'B' })
    house.reload({ of: rateLimit({ rate: 20 }), max: 1 })
    expect(offered(house.gate, 99, 0, { key: 'A' })).toHaveLength(2)
    expect(offered(house.gate, 99, 0, { key: 'C' })).toHaveLength(3)
  })

  test('C36 what is open stays open to its time', () => {
    const of = breaker({ consecutive: 1, openFor: '10s', jitter: 0 })
    const house = new House({ of })
    admitted(house.gate, 0, { key: 'A' }).settle('failure', 1, 0)
    house.world.advance('3s')
    house.reload({ of: breaker({ consecutive: 2, openFor: '1s', jitter: 0 }) })
    expect(rejected(house.gate, house.now, { key: 'A' }).retryAfterMs).toBe(7000)
    admitted(house.gate, house.now, { key: 'B' })
  })

  test('C36 another kind of gate: each key starts anew, and who is inside leaves the old one', () => {
    const house = new House({ of: bulkhead({ slots: 1 }) })
    const inside = admitted(house.gate, 0, { key: 'A' })
    house.reload({ of: rateLimit({ rate: 2, charge: 'time' }) })
    expect([house.gate.holds, house.gate.timed]).toEqual([false, true])
    expect(offered(house.gate, 9, 0, { key: 'A' })).toHaveLength(2)
    inside.settle('success', 1, 0)
  })

  test('C36 by another key: from now on', () => {
    const of = bulkhead({ slots: 1 })
    const house = new House({ of, by: ({ criticality }) => criticality })
    admitted(house.gate, 0, { key: 'A' })
    rejected(house.gate, 0, { key: 'B' })
    house.reload({ of })
    admitted(house.gate, 0, { key: 'B' })
    rejected(house.gate, 0, { key: 'B' })
  })

  test('C36 a larger table takes more keys, a smaller one lets the idle go and nobody else', () => {
    const of = bulkhead({ slots: 1 })
    const house = new House({ of, max: 2 })
    const keys = () => house.gate.inspect(0)['keys']
    admitted(house.gate, 0, { key: 'A' })
    admitted(house.gate, 0, { key: 'B' })
    house.reload({ of, max: 100 })
    for (let i = 0; i < 98; i++) admitted(house.gate, 0, { key: i }).cancel(0)
    expect(keys()).toBe(100)
    house.reload({ of, max: 10 })
    expect(keys()).toBe(10)
    house.reload({ of, max: 1 })
    expect(keys()).toBe(2)
    for (const key of ['A', 'B']) rejected(house.gate, 0, { key })
    // Still one gate per key, and the search finds its way.
    admitted(house.gate, 0, { key: 'C' })
    expect(house.gate.inspect(0)).toMatchObject({ keys: 2, shared: 1 })
  })

  test('C36 a layer that is no gate changes nothing', () => {
    const house = new House({ of: bulkhead({ slots: 1 }) })
    admitted(house.gate, 0, { key: 'A' })
    expect(() => house.reload({ of: retry(), max: 1 })).toThrow('expected a layer that makes a gate')
    rejected(house.gate, 0, { key: 'A' })
    expect(house.gate.inspect(0)['max']).toBe(10_000)
  })
})

describe('C36 a reload of a gate in the shadow', () => {
  const inside = (gate: Gate) => gate.inspect(0)['of'] as Record<string, unknown>

  test('C36 keeps the gate and what it would have refused', () => {
    const world = new VirtualRuntime()
    const gate = shadow({ of: bulkhead({ slots: 2 }) }).build(world.env('api/shadow')) as Shadow
    const [first] = offered(gate, 5, 0)
    expect(shadow({ of: bulkhead({ slots: 3 }) }).build(world.env('api/shadow'), gate)).toBe(gate)
    expect(inside(gate)).toMatchObject({ slots: 3, used: 2 })
    offered(gate, 5, 0)
    expect(gate.inspect(0)['wouldRefuse']).toEqual([{ path: 'api/shadow/bulkhead', reason: 'full', count: 7 }])
    first?.settle('success', 1, 0)
    expect(inside(gate)['used']).toBe(2)
  })

  test('C36 another kind of gate in there starts anew', () => {
    const world = new VirtualRuntime()
    const gate = shadow({ of: bulkhead({ slots: 1 }) }).build(world.env('api/shadow')) as Shadow
    const permit = admitted(gate, 0)
    shadow({ of: breaker({ slowAfter: 1 }) }).build(world.env('api/shadow'), gate)
    expect([gate.holds, gate.timed, inside(gate)['kind']]).toEqual([false, true, 'breaker'])
    permit.settle('success', 1, 0)
    expect(() => shadow({ of: retry() }).build(world.env('api/shadow'), gate)).toThrow(
      'expected a layer that makes a gate',
    )
    expect(inside(gate)['kind']).toBe('breaker')
  })

  test('C36 through keys and shadows, down to the gate', () => {
    const world = new VirtualRuntime()
    const layer = (slots: number) => keyed({ of: shadow({ of: bulkhead({ slots }) }), max: 1 })
    const gate = layer(1).build(world.env('api/keyed')) as Keyed
    admitted(gate, 0, { key: 'A' })
    offered(gate, 3, 0, { key: 'B' })
    const others = () => gate.inspect(0)['others']
    expect(others()).toMatchObject({ wouldRefuse: [{ count: 2 }], of: { slots: 1, used: 1 } })
    layer(2).build(world.env('api/keyed'), gate)
    offered(gate, 3, 0, { key: 'B' })
    expect(others()).toMatchObject({ wouldRefuse: [{ count: 4 }], of: { slots: 2, used: 2 } })
  })
})
