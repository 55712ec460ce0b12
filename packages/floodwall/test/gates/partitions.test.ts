import { AdaptiveLimit, bulkhead, type Gate, Partitions, type Permit, partitions, pipeline, Semaphore } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { layerOf, leftIn, NOTHING } from '../core/fate.ts'
import { admitted, ask, offered, rejected } from '../support/asks.ts'

const world = (): VirtualRuntime => new VirtualRuntime({ startAt: 10_000 })
const byKey = { by: 'key', keepFor: 1000 } as const

/** Ten slots: 6 for a, 3 for b, 1 for all others. */
function ten(shares: Record<string, number> = { a: 0.6, b: 0.3 }) {
  const slots = new Semaphore({ slots: 10 }, world().env('slots'))
  const gate = new Partitions(slots, { shares, ...byKey })
  const part = (name: string) =>
    (gate.inspect(0)['parts'] as { name: string; own: number; used: number; kept: number; refused: number }[]).find(
      (one) => one.name === name,
    )
  return { slots, gate, part }
}

const end = (permits: Permit[], now: number): void => permits.pop()?.settle('success', 1, now)

describe('slots', () => {
  test('of others may be used while they do not want them', () => {
    const { gate } = ten()
    expect(offered(gate, 20, 0, { key: 'b' }).length).toBe(10)
    expect(rejected(gate, 0, { key: 'b' })).toMatchObject({ reason: 'full', value: 10, limit: 10 })
  })

  test('that are lent come back to their owner first, one after the other', () => {
    const { gate } = ten()
    const b = offered(gate, 10, 0, { key: 'b' })
    const a: Permit[] = []
    for (let now = 1; now <= 10; now++) {
      rejected(gate, now, { key: 'a' })
      end(b, now)
      const tried = gate.tryAcquire(ask(now, { key: 'b' }))
      if (a.length < 6) {
        // What has come free is kept for a.
        expect(tried).toMatchObject({ ok: false, reason: 'full', value: b.length, limit: 3 })
        a.push(admitted(gate, now, { key: 'a' }))
      } else break
    }
    expect([a.length, b.length]).toEqual([6, 3])
  })

  test('of its own are there for who has wanted them within the span, and for others after it', () => {
    const { gate, part } = ten()
    const a = offered(gate, 4, 0, { key: 'a' })
    while (a.length > 0) end(a, 10)
    expect(offered(gate, 20, 500, { key: 'b' }).length).toBe(6)
    expect(part('a')).toMatchObject({ own: 6, used: 0, kept: 4 })
    // At once, whatever b does.
    const again = offered(gate, 4, 600, { key: 'a' })
    expect(again.length).toBe(4)
    while (again.length > 0) end(again, 600)
    expect(offered(gate, 20, 1500, { key: 'b' }).length).toBe(0)
    expect(offered(gate, 20, 1700, { key: 'b' }).length).toBe(4)
  })

  test('of names without a share are those of other, whatever strangers send', () => {
    const { gate, part } = ten()
    for (let i = 0; i < 100_000; i++) gate.tryAcquire(ask(0, { key: `k${i}` }))
    for (const key of ['__proto__', 'constructor', 'other', '']) gate.tryAcquire(ask(0, { key }))
    expect((gate.inspect(0)['parts'] as unknown[]).length).toBe(3)
    expect(part('other')).toMatchObject({ own: 1, used: 10 })
  })

  test('that are too few for all shares go to the largest rests, and their sum is the limit', () => {
    const owns = (limit: number, shares: Record<string, number>): number[] => {
      const gate = new Partitions(new Semaphore({ slots: limit }), { shares, ...byKey })
      return (gate.inspect(0)['parts'] as { own: number }[]).map(({ own }) => own)
    }
    expect(owns(10, { a: 0.6, b: 0.3 })).toEqual([6, 3, 1])
    expect(owns(2, { a: 0.6, b: 0.3 })).toEqual([1, 1, 0])
    expect(owns(1, { a: 0.6, b: 0.3 })).toEqual([1, 0, 0])
    expect(owns(7, { a: 1 / 3, b: 1 / 3, c: 1 / 3 })).toEqual([3, 2, 2, 0])
    expect(owns(10, { a: 0.5, other: 0.2 })).toEqual([5, 2])
    expect(owns(0, { a: 1 })).toEqual([0, 0])
  })
})

test('a closed bulkhead stays closed, and says that no wait helps', () => {
  const gate = new Partitions(new Semaphore({ slots: 0 }), { shares: { a: 1 }, ...byKey })
  expect(rejected(gate, 0, { key: 'b' })).toMatchObject({ reason: 'full', never: true })
})

test('refusals explain themselves, and name a time after which it is otherwise', () => {
  const { gate } = ten()
  const a = offered(gate, 6, 0, { key: 'a' })
  while (a.length > 0) end(a, 0)
  offered(gate, 4, 0, { key: 'b' })
  const refusal = rejected(gate, 0, { key: 'b' })
  expect([refusal.why, refusal.retryAfterMs]).toEqual([
    'it has 4 slots, 3 of its own, and what is free is kept for others',
    1000,
  ])
  admitted(gate, refusal.retryAfterMs, { key: 'b' })
})

test('by criticality, by method, and by a function that may throw', () => {
  const of = bulkhead({ slots: 4 })
  const build = (by: 'criticality' | 'method' | (() => string)): Gate =>
    partitions({ of, shares: { critical: 0.5 }, by }).build(world().env('p')) as Gate
  const used = (gate: Gate) => (gate.inspect(0)['parts'] as { used: number }[]).map((part) => part.used)
  const [c, m, t] = [
    build('criticality'),
    build('method'),
    build(() => {
      throw new Error('x')
    }),
  ]
  for (const gate of [c, m, t]) {
    admitted(gate, 0, { method: 'critical', criticality: 'critical' })
    admitted(gate, 0, { criticality: 'sheddable' })
  }
  expect([used(c), used(m), used(t)]).toEqual([
    [1, 1],
    [1, 1],
    [0, 2],
  ])
})

describe('over a limit that changes', () => {
  test('shares follow it', () => {
    const inner = new Semaphore({ slots: 10 })
    const gate = new Partitions(inner, { shares: { a: 0.5, b: 0.5 }, ...byKey })
    const own = () => (gate.inspect(0)['parts'] as { own: number }[]).map((part) => part.own)
    expect(own()).toEqual([5, 5, 0])
    inner.resize(4)
    expect(own()).toEqual([2, 2, 0])
    const b = offered(gate, 4, 0, { key: 'b' })
    inner.resize(2)
    // Twice as many inside as there are slots: nobody passes until they have drained.
    for (let now = 1; now <= 3; now++) {
      rejected(gate, now, { key: 'a' })
      end(b, now)
    }
    expect(rejected(gate, 4, { key: 'b' })).toMatchObject({ value: 1, limit: 1 })
    admitted(gate, 4, { key: 'a' })
  })

  test('an adaptive limit learns from what happens inside', () => {
    const inner = new AdaptiveLimit({ estimator: 'aimd', initial: 10 })
    const gate = new Partitions(inner, { shares: { a: 0.5 }, ...byKey })
    expect(gate.timed).toBe(true)
    const permits = offered(gate, 10, 0, { key: 'a' })
    for (const permit of permits) permit.settle('overload', 20, 100)
    expect(inner.limit).toBeLessThan(10)
    expect(gate.limit).toBe(inner.limit)
    const own = (gate.inspect(200)['parts'] as { own: number }[]).map((part) => part.own)
    expect(own.reduce((sum, n) => sum + n, 0)).toBe(inner.limit)
  })
})

test('a reload keeps who is inside counted, by name', () => {
  const w = world()
  const layer = (shares: Record<string, number>, slots = 10) =>
    partitions({ of: bulkhead({ slots }), shares, by: 'key' })
  const p = pipeline('p', [layer({ a: 0.6, b: 0.3 })], { runtime: w })
  const ends: (() => void)[] = []
  const come = (key: string) =>
    p.start(
      (_, done) => void ends.push(() => done({ ...OK })),
      () => {},
      { key },
    )
  for (const key of ['a', 'a', 'b', 'x']) come(key)
  p.reload([layer({ a: 0.2, c: 0.5 }, 8)])
  const parts = () =>
    (layerOf(p, 'partitions')['parts'] as { name: string; own: number; used: number }[]).map(({ name, own, used }) => [
      name,
      own,
      used,
    ])
  expect([parts(), layerOf(p, 'partitions')['used']]).toEqual([
    [
      ['a', 2, 2],
      ['c', 4, 0],
      ['other', 2, 1],
    ],
    4,
  ])
  for (const done of ends) done()
  expect([parts().map(([, , used]) => used), leftIn(w, p)]).toEqual([[0, 0, 0], NOTHING])
})

const OK = {
  ok: true,
  value: 1,
  error: undefined,
  verdict: 'success',
  ran: true,
  rejection: undefined,
  retryAfterMs: 0,
  noRetry: false,
} as const

test('options: shares add up to 1 at most, and are of classes where classes name the parts', () => {
  const of = bulkhead({ slots: 1 })
  const make = (shares: Record<string, number>, by?: 'key') => () =>
    partitions(by === undefined ? { of, shares } : { of, shares, by })
  expect(make({ critical: 0.7, sheddable: 0.4 })).toThrow('shares that add up to at most 1')
  expect(make({ CRITICAL: 0.7 })).toThrow('with by: "criticality", shares of criticalPlus, critical')
  expect(make(Object.fromEntries(Array.from({ length: 65 }, (_, i) => [i, 0.01])), 'key')).toThrow(
    'at most 64 partitions',
  )
  expect(make({ critical: 0.1, sheddable: 0.2, sheddablePlus: 0.3, criticalPlus: 0.4 })).not.toThrow()
})
