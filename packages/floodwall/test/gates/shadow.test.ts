import { breaker, bulkhead, type Layer, rateLimit, retry, Shadow, type Snapshot, shadow } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { parse } from '../../src/core/schema.ts'
import { admitted, offered } from '../support/asks.ts'

function made(of: Layer): { world: VirtualRuntime; gate: Shadow } {
  const world = new VirtualRuntime()
  return { world, gate: shadow({ of }).build(world.env('api/shadow')) as Shadow }
}

interface Shown extends Snapshot {
  readonly wouldRefuse: readonly { path: string; reason: string; count: number }[]
  readonly of: Snapshot
}

function shown(gate: Shadow, now = 0): Shown {
  return parse(shadow.snapshot, gate.inspect(now), 'inspect()') as Shown
}

describe('a gate in the shadow', () => {
  test('admits every call, and counts what it would have refused', () => {
    const { gate } = made(bulkhead({ slots: 2 }))
    expect(offered(gate, 100, 0)).toHaveLength(100)
    expect(shown(gate)).toMatchObject({
      wouldRefuse: [{ path: 'api/shadow/bulkhead', reason: 'full', count: 98 }],
      of: { kind: 'bulkhead', used: 2, most: 2 },
    })
  })

  test('the gate inside sees the calls that it admitted, and only those', () => {
    const { gate } = made(bulkhead({ slots: 2 }))
    const permits = offered(gate, 5, 0)
    for (const permit of permits.slice(2)) permit.settle('success', 1, 0)
    expect(shown(gate).of['used']).toBe(2)
    for (const permit of permits.slice(0, 2)) permit.settle('success', 1, 0)
    expect(shown(gate).of['used']).toBe(0)
  })

  test('a breaker opens in there, probes and closes, and nobody is refused', () => {
    const { world, gate } = made(breaker({ consecutive: 3, openFor: '1s', jitter: 0, probes: 2 }))
    const state = () => shown(gate, world.now()).of['state']
    const call = (verdict: 'success' | 'failure') => admitted(gate, world.now()).settle(verdict, 1, world.now())
    for (let i = 0; i < 10; i++) call('failure')
    expect([state(), shown(gate).wouldRefuse]).toEqual([
      'open',
      [{ path: 'api/shadow/breaker', reason: 'open', count: 7 }],
    ])
    world.advance('1s')
    const probes = offered(gate, 5, world.now())
    expect(probes).toHaveLength(5)
    for (const permit of probes.slice(2)) permit.settle('failure', 1, world.now())
    expect(state()).toBe('halfOpen')
    for (const permit of probes.slice(0, 2)) permit.settle('success', 1, world.now())
    expect(state()).toBe('closed')
    expect(shown(gate, world.now()).wouldRefuse).toEqual([
      { path: 'api/shadow/breaker', reason: 'open', count: 7 },
      { path: 'api/shadow/breaker', reason: 'probing', count: 3 },
    ])
  })

  test('refusals are told of as such, one event a second, and the counts lose nothing', () => {
    const { world, gate } = made(rateLimit({ rate: 0 }))
    for (let ms = 0; ms < 2500; ms++) {
      admitted(gate, world.now())
      world.advance(1)
    }
    const told = world.events.map((event) => event.type === 'refused' && [event.at, event.count, event.shadow])
    expect(told).toEqual([
      [0, 1, true],
      [1000, 1000, true],
      [2000, 1000, true],
    ])
    expect(shown(gate, world.now()).wouldRefuse).toEqual([
      { path: 'api/shadow/rateLimit', reason: 'rate', count: 2500 },
    ])
  })

  test('a permit that nobody counts ends once like any other', () => {
    const { gate } = made(bulkhead({ slots: 0 }))
    const permit = admitted(gate, 0)
    permit.settle('success', 1, 0)
    permit.cancel(0)
    expect([permit.open, shown(gate).of['used']]).toEqual([false, 0])
  })

  test.each([
    [bulkhead({ slots: 1 }), true, false],
    [breaker({ slowAfter: 1 }), false, true],
    [rateLimit({ rate: 1 }), false, false],
  ])('it holds and measures as the gate inside does (%#)', (of, holds, timed) => {
    const { gate } = made(of)
    expect([gate.holds, gate.timed]).toEqual([holds, timed])
  })

  test('idle as the gate inside', () => {
    const { gate } = made(bulkhead({ slots: 1 }))
    const [real, unreal] = offered(gate, 2, 0)
    expect(gate.idle(0)).toBe(false)
    real?.cancel(0)
    expect(gate.idle(0)).toBe(true)
    unreal?.cancel(0)
  })

  test('a policy has nothing to refuse: refused before anything is built', () => {
    expect(() => made(retry())).toThrow('shadow.of: expected a layer that makes a gate')
  })
})
