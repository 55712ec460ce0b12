import fc from 'fast-check'
import {
  type Ask,
  Cluster,
  type ClusterOptions,
  ConsistentHash,
  type Endpoint,
  PowerOfChoices,
  RoundRobin,
  Weighted,
} from 'floodwall'
import { pickerContract, VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'

const pickers = {
  'round robin': () => new RoundRobin(),
  weighted: () => new Weighted(),
  random: () => new PowerOfChoices(1),
  'power of two choices': () => new PowerOfChoices(2),
  'least loaded': () => new PowerOfChoices(Number.POSITIVE_INFINITY),
  'consistent hash': () => new ConsistentHash(),
}

for (const [name, make] of Object.entries(pickers)) {
  describe(`${name} keeps the picker contract`, () => {
    for (const check of pickerContract(make)) test(check.name, check.run)
  })
}

const never = () => false

function scene(options: ClusterOptions, endpoints: readonly Endpoint[]) {
  const world = new VirtualRuntime({ seed: 9, startAt: 5000 })
  const cluster = new Cluster({ slowStart: 0, ...options }, world.env('cluster'))
  cluster.update(endpoints)
  const ask = (key: string | number = ''): Ask => ({
    now: world.now(),
    deadline: Number.POSITIVE_INFINITY,
    criticality: 'critical',
    cost: 1,
    key,
  })
  /** Places a call and answers after `tookMs`; the endpoint's id. */
  const call = (key?: string | number): string => {
    const placed = cluster.place(ask(key), never)
    if (!placed.ok) throw new Error(placed.why)
    return placed.member.endpoint.id
  }
  return { world, cluster, ask, call }
}

function counts(ids: readonly string[]): Record<string, number> {
  const seen: Record<string, number> = {}
  for (const id of ids) seen[id] = (seen[id] ?? 0) + 1
  return seen
}

const many = (n: number, of: () => string) => Array.from({ length: n }, of)

describe('shares', () => {
  test('round robin visits n endpoints once each in n picks', () => {
    const { call } = scene({ picker: 'roundRobin' }, [{ id: 'a' }, { id: 'b' }, { id: 'c' }])
    expect(counts(many(30, call))).toEqual({ a: 10, b: 10, c: 10 })
  })

  test('weighted: the shares are the weights, and the strong does not come in a row', () => {
    const { call } = scene({ picker: 'weighted' }, [{ id: 'a', weight: 3 }, { id: 'b' }, { id: 'c' }])
    const picks = many(500, call)
    const { a = 0, b = 0, c = 0 } = counts(picks)
    expect(a).toBeGreaterThanOrEqual(298)
    expect(a).toBeLessThanOrEqual(302)
    expect(Math.abs(b - c)).toBeLessThanOrEqual(2)
    expect(picks.join('')).not.toContain('aaaa')
  })

  test('weighted: for any weights the shares are the weights (property)', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 }), (weights) => {
        const { call } = scene(
          { picker: 'weighted' },
          weights.map((weight, i) => ({ id: `e${i}`, weight })),
        )
        const total = weights.reduce((a, b) => a + b, 0)
        const seen = counts(many(total * 40, call))
        weights.forEach((weight, i) =>
          expect(Math.abs((seen[`e${i}`] ?? 0) - weight * 40)).toBeLessThanOrEqual(weights.length + 2),
        )
      }),
      { seed: 20261130, numRuns: 100 },
    )
  })

  test('weighted: one that left and one that joined between two picks are noticed', () => {
    const { cluster, call } = scene({ picker: 'weighted' }, [{ id: 'a' }, { id: 'b' }])
    many(10, call)
    cluster.update([{ id: 'a' }, { id: 'c' }])
    const { b = 0, c = 0 } = counts(many(40, call))
    expect([b, c > 15]).toEqual([0, true])
  })

  test('random spreads evenly, within chance', () => {
    const { call } = scene({ picker: 'random' }, [{ id: 'a' }, { id: 'b' }, { id: 'c' }, { id: 'd' }])
    for (const n of Object.values(counts(many(8000, call)))) expect(Math.abs(n - 2000)).toBeLessThan(150)
  })
})

describe('load', () => {
  test('least loaded takes the one with fewer calls inside', () => {
    const { cluster, call } = scene({ picker: 'leastLoaded' }, [{ id: 'a' }, { id: 'b' }])
    const a = cluster.members.find((m) => m.endpoint.id === 'a')
    a?.slots.tryAcquire()
    expect(counts(many(50, call))).toEqual({ b: 50 })
  })

  test('two choices avoid the slow one, and forget its slowness', () => {
    const { world, cluster, ask } = scene({}, [{ id: 'slow' }, { id: 'fast' }])
    for (const member of cluster.members) {
      const permit = member.tryAcquire(ask())
      if (permit.ok) permit.settle('success', member.endpoint.id === 'slow' ? 900 : 10, world.now())
    }
    const pick = () => {
      const placed = cluster.place(ask(), never)
      return placed.ok ? placed.member.endpoint.id : 'none'
    }
    expect(counts(many(200, pick))['slow'] ?? 0).toBeLessThan(60)
    world.advance('120s')
    // Both are forgotten by now: neither is preferred for what it was two minutes ago.
    expect(counts(many(400, pick))['slow'] ?? 0).toBeGreaterThan(100)
  })
})

describe('consistent hash', () => {
  const fleet = (n: number) => Array.from({ length: n }, (_, i) => ({ id: `10.0.0.${i}:80` }))

  test('the same key goes to the same endpoint', () => {
    const { call } = scene({ picker: 'consistentHash' }, fleet(10))
    for (let k = 0; k < 200; k++) expect(call(`user ${k}`)).toBe(call(`user ${k}`))
  })

  test('when one of ten leaves, only its keys move', () => {
    const { cluster, call } = scene({ picker: 'consistentHash' }, fleet(10))
    const before = Array.from({ length: 2000 }, (_, k) => call(k))
    cluster.update(fleet(9))
    const moved = before.filter((id, k) => id !== '10.0.0.9:80' && call(k) !== id).length
    expect(moved).toBe(0)
  })

  test('keys are spread within a factor of two of even', () => {
    const { call } = scene({ picker: 'consistentHash' }, fleet(10))
    let key = 0
    for (const n of Object.values(counts(many(10_000, () => call(key++))))) {
      expect(n).toBeGreaterThan(500)
      expect(n).toBeLessThan(2000)
    }
  })

  test('a hot key overflows to others at 1.25 times an even share', () => {
    const { cluster, ask } = scene({ picker: 'consistentHash' }, fleet(4))
    for (let i = 0; i < 100; i++) {
      const placed = cluster.place(ask('hot'), never)
      if (placed.ok) placed.member.slots.tryAcquire()
    }
    const inside = cluster.members.map((m) => m.inFlight)
    expect(inside.reduce((a, b) => a + b, 0)).toBe(100)
    expect(Math.max(...inside)).toBeLessThanOrEqual(Math.ceil((1.25 * 100) / 4))
  })
})

describe('zones', () => {
  const endpoints = [
    { id: 'a1', zone: 'a' },
    { id: 'a2', zone: 'a' },
    { id: 'b1', zone: 'b' },
    { id: 'b2', zone: 'b' },
  ]

  test('our zone is preferred while half of it is in choice, then all are alike', () => {
    const { cluster, call } = scene({ picker: 'roundRobin', zone: 'a' }, endpoints)
    expect(Object.keys(counts(many(40, call))).sort()).toEqual(['a1', 'a2'])
    cluster.isolate('a1', 60_000, 'test')
    expect(Object.keys(counts(many(40, call)))).toEqual(['a2'])
    cluster.isolate('a2', 60_000, 'test')
    expect(Object.keys(counts(many(40, call))).sort()).toEqual(['b1', 'b2'])
  })
})

describe('slow start', () => {
  test('a new endpoint begins with a tenth of its share and has the whole after the slow start', () => {
    const { world, cluster, call } = scene({ picker: 'weighted', slowStart: '10s' }, [{ id: 'old' }])
    world.advance('20s')
    cluster.update([{ id: 'old' }, { id: 'new' }])
    const early = counts(many(110, call))['new'] ?? 0
    expect(early).toBeLessThan(20)
    world.advance('20s')
    many(50, call)
    const late = counts(many(200, call))['new'] ?? 0
    expect(Math.abs(late - 100)).toBeLessThanOrEqual(3)
  })
})
