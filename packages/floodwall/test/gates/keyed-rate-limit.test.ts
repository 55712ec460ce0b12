import { type Criticality, keyedRateLimit, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Tickets } from '../../src/algorithms/keys/tickets.ts'
import { admitted, ask, offered, rejected } from '../support/asks.ts'
import { Keys } from '../support/keyed-rates.ts'

describe('C10 each key has its own limit', () => {
  test('C10 five calls of one key in one tick: exactly 2; a stranger is not touched', () => {
    const keys = new Keys({ rate: 2 })
    expect([keys.take('A', 5), keys.take('B', 5), keys.take('A', 1)]).toEqual([2, 2, 0])
    keys.world.advance(500)
    expect([keys.take('A', 5), keys.take('B', 5)]).toEqual([1, 1])
  })

  test('C10 equality is that of a Map: 1 and "1" are two, NaN is one, "" is a key', () => {
    const keys = new Keys({ rate: 2 })
    const all = [1, '1', Number.NaN, 'NaN', '', 0, 'true', 'null', 'undefined', 'x'.repeat(1024)]
    for (const key of all) expect(keys.take(key, 3), String(key).slice(0, 20)).toBe(2)
    for (const key of [...all, -0]) expect(keys.take(key)).toBe(0)
    expect(keys.shown).toMatchObject({ keys: all.length, shared: 0 })
  })

  test('C10 what is no key shares one limit: other types, texts of 10 KB, a `by` that throws', () => {
    const keys = new Keys({ rate: 3 })
    const long = 'x'.repeat(10_240)
    for (const key of [undefined, null, long]) expect(keys.take(key)).toBe(1)
    for (const key of [true, {}, [], Symbol('key'), `${long}y`]) expect(keys.take(key)).toBe(0)
    expect(keys.shown).toMatchObject({ keys: 0, shared: 8, others: 0 })
    const nobody = new Keys({
      rate: 1,
      by: () => {
        throw new Error('no user')
      },
    })
    expect([nobody.take('A'), nobody.take('B'), nobody.shown.keys]).toEqual([1, 0, 0])
  })

  test('C10 100,000 keys of one user each: none pays for another', () => {
    const keys = new Keys({ rate: 1 })
    let passed = 0
    for (let i = 0; i < 100_000; i++) passed += keys.take(`user-${i}`, 2)
    expect([passed, keys.shown.keys]).toEqual([100_000, 100_000])
  })
})

describe('a refusal', () => {
  test('says what its key has, when it can come again, and never the key', () => {
    const { gate } = new Keys({ rate: 10, burst: 3 })
    offered(gate, 3, 0, { key: 'secret' })
    const no = rejected(gate, 0, { key: 'secret' })
    expect(no).toMatchObject({ reason: 'rate', retryAfterMs: 100, value: 0, limit: 3, never: false })
    expect([no.gate.path, no.why]).toEqual(['api/keyedRateLimit', 'it costs more than its key has: 0 of 3 left'])
  })

  test('of what costs more than the burst, or comes to a rate of 0, is for ever', () => {
    const { gate } = new Keys({ rate: 10, burst: 3, overrides: { closed: { rate: 0 }, once: { rate: 0, burst: 1 } } })
    expect(rejected(gate, 0, { key: 'a', cost: 4 })).toMatchObject({ never: true, retryAfterMs: 0 })
    expect(rejected(gate, 0, { key: 'closed' })).toMatchObject({ never: true, limit: 0 })
    admitted(gate, 0, { key: 'once' })
    expect(rejected(gate, 1e9, { key: 'once' })).toMatchObject({ never: true, value: 0 })
  })

  test('takes nothing, and its time is exact', () => {
    const keys = new Keys({ rate: 3 })
    keys.take('a', 3)
    const { retryAfterMs } = rejected(keys.gate, keys.now, { key: 'a' })
    for (let i = 0; i < 100; i++) expect(rejected(keys.gate, keys.now, { key: 'a' }).retryAfterMs).toBe(retryAfterMs)
    expect(offered(keys.gate, 2, retryAfterMs - 0.001, { key: 'a' })).toHaveLength(0)
    expect(offered(keys.gate, 2, retryAfterMs, { key: 'a' })).toHaveLength(1)
  })

  test('by a pipeline reads like others', async () => {
    const world = new VirtualRuntime()
    const api = pipeline('api', [keyedRateLimit({ rate: 1 })], { runtime: world })
    await api.call(() => 1, { key: 'a' })
    await expect(api.call(() => 1, { key: 'a' })).rejects.toThrow(
      '[rate] refused by api/keyedRateLimit: it costs more than its key has: 0 of 1 left; try again in 1s',
    )
  })
})

describe('what is given back', () => {
  test.each([1, 2, 127, 128, 129, 0.5, 1000.25])('a cancelled permit of cost %d gives back its cost', (cost) => {
    const { gate } = new Keys({ rate: 2000 })
    const permit = admitted(gate, 0, { key: 'a', cost })
    admitted(gate, 0, { key: 'a', cost: 2000 - cost }).settle('success', 1, 0)
    rejected(gate, 0, { key: 'a' })
    permit.cancel(0)
    admitted(gate, 0, { key: 'a', cost })
    rejected(gate, 0, { key: 'a' })
  })

  test('is never more than is missing still, however late', () => {
    for (const cost of [10, 0.5]) {
      const { gate, world } = new Keys({ rate: 10 })
      const permits = offered(gate, 10 / cost, 0, { key: 'a', cost })
      world.advance(500)
      expect(offered(gate, 9, world.now(), { key: 'a' })).toHaveLength(5)
      for (const permit of permits) permit.cancel(world.now())
      // Of one that cost 10 half has been earned anew; of each half the half second has made up for.
      expect(offered(gate, 20, world.now(), { key: 'a' })).toHaveLength(cost === 10 ? 5 : 0)
    }
  })

  test('at another price than it was taken for, nothing that may have been earned since', () => {
    const keys = new Keys({ rate: 1000, burst: 10 })
    const permits = offered(keys.gate, 10, 0, { key: 'a' })
    keys.world.advance(1000)
    keys.reload({ rate: 1, burst: 10 })
    expect(keys.take('a', 10)).toBe(10)
    for (const permit of permits) permit.cancel(keys.now)
    expect(keys.take('a', 10)).toBe(0)
  })

  test('permits that nobody ends fill their places and no more', () => {
    const tickets = new Tickets()
    for (let i = 0; i < 300_000; i++) tickets.tag(5, 1, 0, false)
    const tag = tickets.tag(5, 7, 0, false)
    expect([tag, tickets.costOf(tag)]).toEqual([0, 0])
    expect(tickets.costOf(tickets.tag(5, 7, 0, true))).toBe(7)
  })

  test('goes to nobody when the seat is somebody else’s', () => {
    const { gate, world } = new Keys({ rate: 1, burst: 2, max: 1 })
    const permits = [...offered(gate, 1, 0, { key: 'a' }), ...offered(gate, 1, 0, { key: 'a', cost: 0.5 })]
    world.advance(2000)
    expect(offered(gate, 3, world.now(), { key: 'b' })).toHaveLength(2)
    for (const permit of permits) permit.cancel(world.now())
    expect(offered(gate, 3, world.now(), { key: 'b' })).toHaveLength(0)
  })

  test('after the key has come back to the same seat is not its own any more', () => {
    const { gate } = new Keys({ rate: 1, max: 1 })
    const [permit] = offered(gate, 1, 0, { key: 'a' })
    offered(gate, 1, 5000, { key: 'b' })
    offered(gate, 1, 10_000, { key: 'a' })
    permit?.cancel(10_000)
    rejected(gate, 10_000, { key: 'a' })
  })

  test('a clock that steps back takes nothing and gives nothing', () => {
    const { gate } = new Keys({ rate: 1 }, 10_000)
    admitted(gate, 12_000, { key: 'a' })
    expect(rejected(gate, 10_000, { key: 'a' }).retryAfterMs).toBe(1000)
    rejected(gate, 12_999, { key: 'a' })
    admitted(gate, 13_000, { key: 'a' })
    admitted(gate, 11_000, { key: 'b' })
    expect(rejected(gate, 11_000, { key: 'b' }).retryAfterMs).toBe(1000)
  })
})

describe('limits of their own', () => {
  const keys = () =>
    new Keys({
      rate: 2,
      overrides: { 'free:*': { rate: 1 }, 'free:vip': { rate: 5, burst: 9 }, 42: { rate: 3, per: '1m' } },
    })

  test.each([
    ['ann', 2],
    ['free:ann', 1],
    ['free:vip', 9],
    [42, 3],
    ['42', 3],
  ])('%s passes %d times', (key, times) => expect(keys().take(key, 20)).toBe(times))

  test('each at its own rate', () => {
    const { gate } = keys()
    offered(gate, 20, 0, { key: 42 })
    expect(rejected(gate, 0, { key: 42 })).toMatchObject({ retryAfterMs: 20_000, limit: 3 })
  })

  test('rate 0 is a list of those who may', () => {
    const list = new Keys({ rate: 0, overrides: { 'partner-*': { rate: 1 } } })
    expect([list.take('partner-7'), list.take('ann')]).toEqual([1, 0])
  })
})

describe('a part of each burst for higher classes', () => {
  const from = (criticality: Criticality) => ({ key: 'a', criticality })

  test('the worked example: of 10, sheddable has 8 and critical 2 more', () => {
    const { gate } = new Keys({ rate: 10, reserve: { critical: 0.2 } })
    expect(offered(gate, 20, 0, from('sheddable'))).toHaveLength(8)
    expect(rejected(gate, 0, from('sheddablePlus'))).toMatchObject({ retryAfterMs: 100, value: 0, limit: 8 })
    expect(offered(gate, 20, 0, from('criticalPlus'))).toHaveLength(2)
    expect(offered(gate, 20, 100, from('sheddable'))).toHaveLength(0)
    expect(offered(gate, 20, 100, from('critical'))).toHaveLength(1)
  })

  test('each class has what is kept for it and those below', () => {
    const reserve = { criticalPlus: 0.1, critical: 0.2, sheddablePlus: 0.3 }
    const most = (['criticalPlus', 'critical', 'sheddablePlus', 'sheddable'] as const).map((criticality) => {
      const { gate } = new Keys({ rate: 10, reserve })
      return offered(gate, 20, 0, from(criticality)).length
    })
    expect(most).toEqual([10, 9, 7, 4])
  })

  test('a burst of one has no parts; and who is left nothing has nothing', () => {
    expect(offered(new Keys({ rate: 1, reserve: { critical: 0.5 } }).gate, 3, 0, from('sheddable'))).toHaveLength(1)
    const { gate } = new Keys({ rate: 1, reserve: { critical: 1 } })
    expect(rejected(gate, 0, from('sheddable')).never).toBe(true)
  })
})

describe('what a call costs', () => {
  test('is what a function says; one that throws or says nonsense costs 1', () => {
    let says: () => unknown = () => 3
    const { gate } = new Keys({ rate: 10, cost: () => says() as number })
    expect(offered(gate, 9, 0, { key: 'a' })).toHaveLength(3)
    for (const odd of [() => Number.NaN, () => -1, () => 'x', () => rejectedByUser()]) {
      says = odd
      expect(offered(gate, 1, 100_000, { key: 'b' })).toHaveLength(1)
    }
    expect(gate.quota(ask(100_000, { key: 'b' }))).toMatchObject({ left: 6 })
  })
})

function rejectedByUser(): never {
  throw new Error('no cost')
}

describe('quota', () => {
  test('is what the key has left, and takes nothing', () => {
    const { gate } = new Keys({ rate: 5, burst: 10 })
    const quota = (now: number, key: string) => gate.quota(ask(now, { key }))
    expect(quota(0, 'a')).toEqual({ limit: 10, windowMs: 2000, left: 10, resetMs: 0 })
    offered(gate, 7, 0, { key: 'a' })
    expect(quota(0, 'a')).toEqual({ limit: 10, windowMs: 2000, left: 3, resetMs: 200 })
    expect(quota(50, 'a')).toEqual({ limit: 10, windowMs: 2000, left: 3, resetMs: 150 })
    expect(quota(50, 'b')).toMatchObject({ left: 10 })
    expect(gate.inspect(50)).toMatchObject({ keys: 1 })
  })

  test('is that of the class, of the override, and of the others where there is no key', () => {
    const { gate } = new Keys({ rate: 10, reserve: { critical: 0.2 }, overrides: { vip: { rate: 20 } } })
    expect(gate.quota(ask(0, { key: 'a', criticality: 'sheddable' }))).toMatchObject({ limit: 8, left: 8, resetMs: 0 })
    expect(gate.quota(ask(0, { key: 'vip' }))).toMatchObject({ limit: 20, left: 20 })
    offered(gate, 4, 0, { key: null as unknown as string })
    expect(gate.quota(ask(0, { key: undefined as unknown as string }))).toMatchObject({ left: 6 })
    expect(new Keys({ rate: 1, cost: 'learned' }).gate.quota(ask(0))).toBeUndefined()
  })
})
