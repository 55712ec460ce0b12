import { describe, expect, test } from 'vitest'
import { admitted, ask, offered, rejected } from '../support/asks.ts'
import { Keys } from '../support/keyed-rates.ts'

describe('a full table', () => {
  test('the worked example: c takes over what a owes', () => {
    const keys = new Keys({ rate: 10, max: 2 })
    expect([keys.take('a', 20), keys.take('b', 20), keys.take('c', 20)]).toEqual([10, 10, 0])
    expect(rejected(keys.gate, 0, { key: 'c' }).retryAfterMs).toBe(100)
    expect(keys.shown).toMatchObject({ keys: 2, evicted: 1, inherited: 1, shared: 0 })
    keys.world.advance(100)
    expect(keys.take('c', 20)).toBe(1)
  })

  test.each([3, 4, 10, 100])('an attacker with %d keys in 2 seats gets what 2 keys get', (many) => {
    const keys = new Keys({ rate: 10, max: 2 })
    let passed = 0
    for (let i = 0; i < 10_000; i++) {
      passed += keys.take(`k${i % many}`)
      keys.world.advance(1)
    }
    // Bursts of 10 each, and 10 s of 10 a second each.
    expect(passed).toBeLessThanOrEqual(220)
    expect(passed).toBeGreaterThan(190)
  })

  test('who owes nothing goes first, and takes nothing over to the next', () => {
    const keys = new Keys({ rate: 1, per: '1h', max: 8 })
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) keys.take(key)
    // Known, and used up nothing.
    rejected(keys.gate, 0, { key: 'idle', cost: 2 })
    expect(keys.take('new')).toBe(1)
    expect(keys.shown).toMatchObject({ keys: 8, evicted: 1, inherited: 0 })
  })

  test('the one that owes least of those looked at is succeeded', () => {
    const keys = new Keys({ rate: 10, max: 4 })
    for (const [key, times] of [
      ['a', 9],
      ['b', 3],
      ['c', 5],
      ['d', 8],
    ] as const)
      keys.take(key, times)
    expect(keys.take('new', 20)).toBe(7)
  })

  test('200,000 strangers leave max keys, and together get no more than these', () => {
    const keys = new Keys({ rate: 1, per: '1h', max: 100 })
    let passed = 0
    for (let i = 0; i < 200_000; i++) passed += keys.take(i)
    expect(passed).toBe(100)
    expect(keys.shown).toMatchObject({ keys: 100, evicted: 199_900, shared: 0 })
  })

  test('nobody is locked out: a stranger comes in when the debt that he found is paid', () => {
    const keys = new Keys({ rate: 10, max: 2 })
    keys.take('a', 20)
    keys.take('b', 20)
    let waited = 0
    while (keys.take('ann') === 0) {
      keys.take('a', 5)
      keys.take('b', 5)
      keys.world.advance(10)
      waited += 10
    }
    expect(waited).toBeLessThanOrEqual(1000)
  })

  test('who owes more than the newcomer ever could stays, and newcomers share one limit', () => {
    const keys = new Keys({
      rate: 1,
      max: 1,
      overrides: { batch: { rate: 100, per: '1d' }, never: { rate: 0, burst: 1 } },
    })
    keys.take('batch', 100)
    expect([keys.take('a', 3), keys.take('b', 3), keys.take('batch')]).toEqual([1, 0, 0])
    expect(keys.shown).toMatchObject({ keys: 1, evicted: 0, shared: 6, others: 0 })
  })

  test('who finds no seat has the limit of his name all the same, with those of that name', () => {
    const overrides = {
      batch: { rate: 100, per: '1d' as const },
      'no*': { rate: 0 },
      'slow*': { rate: 1, per: '10m' as const },
    }
    const keys = new Keys({ rate: 10, max: 1, overrides })
    keys.take('batch', 100)
    expect([keys.take('nobody', 9), keys.take('slow-1', 9), keys.take('slow-2', 9), keys.take('ann', 99)]).toEqual([
      0, 1, 0, 10,
    ])
    // The same names: what they have taken stays taken.
    keys.reload({ rate: 10, max: 1, overrides })
    expect([keys.take('nobody', 9), keys.take('slow-3', 9), keys.take('ben', 99)]).toEqual([0, 0, 0])
    keys.reload({ rate: 10, max: 1 })
    expect([keys.take('batch', 9), keys.take('ben', 99)]).toEqual([0, 0])
  })

  test('where the rate is 0 nothing is ever paid off, and nobody with a debt goes', () => {
    const keys = new Keys({ rate: 0, burst: 1, max: 100 })
    let passed = 0
    for (let i = 0; i < 1000; i++) passed += keys.take(i, 2)
    keys.world.advance('365d')
    for (let i = 0; i < 1000; i++) passed += keys.take(i, 2)
    expect(passed).toBe(101)
    expect(keys.shown).toMatchObject({ keys: 100, evicted: 0 })
  })

  test('10,000 keys that have paid make room for as many others, none of which owes anything', () => {
    const keys = new Keys({ rate: 1, max: 10_000 })
    for (let i = 0; i < 10_000; i++) keys.take(i)
    for (let i = 10_000; i < 30_000; i++) {
      if (i % 10_000 === 0) keys.world.advance('2s')
      expect(keys.take(i)).toBe(1)
    }
    expect(keys.shown).toMatchObject({ keys: 10_000, evicted: 20_000, inherited: 0, shared: 0 })
  })

  test('what was used since the last look goes later', () => {
    const keys = new Keys({ rate: 1, burst: 1000, max: 8 })
    const touch = (key: unknown) => keys.gate.tryAcquire(ask(keys.now, { key: key as string, cost: 0 }))
    for (const key of ['hot', 1, 2, 3, 4, 5, 6, 7]) touch(key)
    for (let i = 8; i < 1000; i++) {
      touch('hot')
      touch(i)
    }
    // 992 strangers needed a seat, and none of them got the hot one.
    expect(keys.shown.evicted).toBe(992)
  })
})

describe('what is given back', () => {
  /** As after so many changes of hands. */
  function turned(keys: Keys, turns: number): void {
    const seats = Reflect.get(keys.gate, 'seats') as object
    Reflect.set(seats, 'turn', turns)
  }

  test('goes to who has the seat still, and to nobody when it has changed hands, at the same instant too', () => {
    const keys = new Keys({ rate: 1, per: '1h', burst: 2, max: 1 })
    const first = admitted(keys.gate, 0, { key: 'a' })
    const second = admitted(keys.gate, 0, { key: 'b' })
    first.cancel(0)
    expect(keys.take('b', 9)).toBe(0)
    second.cancel(0)
    expect(keys.take('b', 9)).toBe(1)
  })

  test('goes to who has had the seat for long, however many others came since', () => {
    const keys = new Keys({ rate: 1, per: '1h', max: 9 })
    const other = admitted(keys.gate, 0, { key: 'a' })
    turned(keys, 0x7ffffffe)
    const permit = admitted(keys.gate, 0, { key: 'b' })
    for (const each of [other, permit]) each.cancel(0)
    expect([keys.take('a', 9), keys.take('b', 9)]).toEqual([1, 1])
  })

  test('goes to nobody when changes of hands were counted anew since, and from then on as before', () => {
    const keys = new Keys({ rate: 1, per: '1h', max: 9 })
    admitted(keys.gate, 0, { key: 'old' }).cancel(0)
    turned(keys, 0x7fffffff)
    const before = admitted(keys.gate, 0, { key: 'old' })
    const after = admitted(keys.gate, 0, { key: 'new' })
    before.cancel(0)
    after.cancel(0)
    expect([keys.take('old', 9), keys.take('new', 9)]).toEqual([0, 1])
    keys.world.advance('1h')
    admitted(keys.gate, keys.now, { key: 'old' }).cancel(keys.now)
    expect(keys.take('old', 9)).toBe(1)
  })
})

describe('a reload', () => {
  test('C36 keys keep what they have taken', () => {
    const keys = new Keys({ rate: 10 })
    keys.take('a', 8)
    keys.reload({ rate: 20 })
    expect([keys.take('a', 99), keys.take('b', 99)]).toEqual([12, 20])
    keys.reload({ rate: 5 })
    expect(keys.take('a', 99)).toBe(0)
    expect(rejected(keys.gate, 0, { key: 'a' }).retryAfterMs).toBe(200)
  })

  test('C36 keys get another limit of their own, or lose it', () => {
    const keys = new Keys({ rate: 10, overrides: { a: { rate: 100 } } })
    expect([keys.take('a', 50), keys.take('b', 5)]).toEqual([50, 5])
    keys.reload({ rate: 10, overrides: { 'b*': { rate: 30 } } })
    expect([keys.take('a', 99), keys.take('b', 99)]).toEqual([0, 25])
  })

  test('C36 a smaller table: who owes nothing goes at once, the others when they have paid', () => {
    const keys = new Keys({ rate: 1, max: 1000 })
    for (let i = 0; i < 500; i++) keys.take(i)
    keys.world.advance('2s')
    for (let i = 500; i < 600; i++) keys.take(i)
    keys.reload({ rate: 1, max: 10 })
    expect(keys.shown.keys).toBe(100)
    for (let i = 500; i < 600; i++) expect(keys.take(i)).toBe(0)
    for (let i = 1000; i < 1030; i++) {
      keys.world.advance('2s')
      keys.take(i)
    }
    expect(keys.shown.keys).toBeLessThanOrEqual(10)
    expect(keys.take(1029)).toBe(0)
  })

  test('C36 what is out across it finds its own key, or nobody', () => {
    const keys = new Keys({ rate: 1, per: '1h', max: 100 })
    const permits = Array.from(
      { length: 40 },
      (_, i) => offered(keys.gate, 1, 0, { key: i, cost: i % 2 === 0 ? 1 : 0.5 })[0],
    )
    keys.reload({ rate: 1, per: '1h', max: 50 })
    for (const permit of permits) permit?.cancel(0)
    for (let i = 0; i < 40; i++) expect(keys.take(i, 2)).toBe(1)
  })

  test('C36 what is out while seats get other numbers goes to its own key, and to no other', () => {
    const options = { rate: 1, per: '1h' as const, overrides: { 'idle-*': { rate: 1000 } } }
    const keys = new Keys({ ...options, max: 200 })
    for (let i = 0; i < 100; i++) keys.take(`idle-${i}`)
    const permits = [1, 0.5].flatMap((cost) =>
      Array.from({ length: 20 }, (_, i) => admitted(keys.gate, 0, { key: `${cost}-${i}`, cost })),
    )
    keys.world.advance(10)
    keys.reload({ ...options, max: 60 })
    expect(keys.shown.keys).toBe(60)
    for (const permit of permits) permit.cancel(keys.now)
    for (let i = 0; i < 20; i++) expect([keys.take(`1-${i}`), keys.take(`0.5-${i}`)]).toEqual([1, 1])
  })

  test('C36 by another function, from now on', () => {
    const keys = new Keys({ rate: 1 })
    keys.take('a')
    keys.reload({ rate: 1, by: ({ criticality }) => criticality })
    expect([keys.take('a'), keys.take('b')]).toEqual([1, 0])
  })
})
