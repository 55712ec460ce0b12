import { keyedRateLimit } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { admitted, ask, offered, rejected } from '../support/asks.ts'
import { Keys } from '../support/keyed-rates.ts'

// A limit in milliseconds of work per second: what a call will cost is learned from those before it.

const from = (key: string, method: string) => ({ key, method })

/** So many calls of a kind, each of which took `tookMs`. */
function taught(keys: Keys, method: string, tookMs: number, times = 3): void {
  for (let i = 0; i < times; i++) {
    admitted(keys.gate, keys.now, from(`teacher-${method}-${i}`, method)).settle('success', tookMs, keys.now)
  }
}

describe('costs that are learned', () => {
  test('the worked example: a report of 800 ms once in four seconds, with 200 ms a second', () => {
    const keys = new Keys({ rate: 200, burst: 800, cost: 'learned' })
    taught(keys, 'GET /report', 800)
    admitted(keys.gate, keys.now, from('a', 'GET /report')).settle('success', 800, keys.now)
    expect(rejected(keys.gate, keys.now, from('a', 'GET /report'))).toMatchObject({ retryAfterMs: 4000, limit: 800 })
  })

  test('each kind has its own; one that is new costs what all do; before any it is what the caller says', () => {
    const keys = new Keys({ rate: 100, cost: 'learned' })
    const cost = (key: string, method: string, said = 1) => {
      const [permit] = offered(keys.gate, 1, keys.now, { ...from(key, method), cost: said })
      const { retryAfterMs } = rejected(keys.gate, keys.now, { ...from(key, method), cost: 100 })
      permit?.cancel(keys.now)
      return retryAfterMs
    }
    const first = new Keys({ rate: 100, cost: 'learned' })
    offered(first.gate, 1, 0, { key: 'a', cost: 7 })
    expect(first.gate.inspect(0)).toMatchObject({ keys: 1 })
    taught(keys, 'slow', 60)
    taught(keys, 'fast', 20)
    expect(cost('a', 'slow')).toBeCloseTo(200)
    expect(offered(keys.gate, 9, keys.now, from('b', 'fast'))).toHaveLength(5)
    expect(offered(keys.gate, 9, keys.now, from('c', 'new'))).toHaveLength(2)
  })

  test('what took longer than was thought is owed, up to a burst; what took less comes back', () => {
    const keys = new Keys({ rate: 100, cost: 'learned' })
    taught(keys, 'x', 10)
    admitted(keys.gate, keys.now, from('a', 'x')).settle('success', 1e9, keys.now)
    expect(rejected(keys.gate, keys.now, from('a', 'y'))).toMatchObject({ value: -100 })
    const quick = new Keys({ rate: 100, cost: 'learned' })
    taught(quick, 'x', 100)
    const permit = admitted(quick.gate, 0, from('b', 'x'))
    rejected(quick.gate, 0, from('b', 'x'))
    permit.settle('ignored', 1, 0)
    expect(rejected(quick.gate, 0, from('b', 'x')).value).toBe(99)
  })

  test('an estimate above the burst is that of the burst: a route is not locked for ever', () => {
    const keys = new Keys({ rate: 100, cost: 'learned' })
    taught(keys, 'x', 5000)
    admitted(keys.gate, keys.now, from('a', 'x'))
    expect(rejected(keys.gate, keys.now, from('a', 'x'))).toMatchObject({ never: false, retryAfterMs: 1000 })
  })

  test.each([
    ['a closed key', { rate: 100, overrides: { a: { rate: 0 } } }, 'critical'],
    ['a closed group', { rate: 100, overrides: { 'a*': { rate: 0, per: '1h' } } }, 'critical'],
    ['a limit for some keys only', { rate: 0, overrides: { teacher: { rate: 100 } } }, 'critical'],
    ['a closed key of a whole that is oversold', { rate: 0, oversell: { rate: 1e6 } }, 'critical'],
    ['all kept for critical calls', { rate: 100, reserve: { critical: 1 } }, 'sheddable'],
    ['all kept for critical ones, by parts', { rate: 100, reserve: { criticalPlus: 0.5, critical: 0.5 } }, 'sheddable'],
  ] as const)('who may have nothing gets nothing, whatever was learned: %s', (_, options, criticality) => {
    for (const tookMs of [0, 0.001, 60, 1e6]) {
      const keys = new Keys({ ...options, cost: 'learned' })
      for (const permit of offered(keys.gate, 5, 0, { key: 'teacher', method: 'x' }))
        permit.settle('success', tookMs, 0)
      keys.world.advance('10m')
      for (const method of ['x', 'new', undefined])
        for (const cost of [0, 1, 1e9]) {
          const more = { key: 'a', method, cost, criticality }
          expect(offered(keys.gate, 100, keys.now, more)).toEqual([])
          expect(rejected(keys.gate, keys.now, more)).toMatchObject({ never: true, retryAfterMs: 0, limit: 0 })
        }
    }
  })

  test('a class has its part of what is learned, and no more', () => {
    const keys = new Keys({ rate: 100, reserve: { critical: 0.5 }, cost: 'learned' })
    taught(keys, 'x', 10)
    const sheddable = { ...from('a', 'x'), criticality: 'sheddable' } as const
    expect(offered(keys.gate, 20, 0, sheddable)).toHaveLength(5)
    expect(offered(keys.gate, 20, 0, from('a', 'x'))).toHaveLength(5)
    taught(keys, 'long', 5000)
    expect(offered(keys.gate, 9, 0, { ...sheddable, key: 'b', method: 'long' })).toHaveLength(1)
  })

  test('rate 0 with a burst: so much work, and then nothing', () => {
    const keys = new Keys({ rate: 0, burst: 50, cost: 'learned' })
    taught(keys, 'x', 10)
    expect([offered(keys.gate, 9, 0, from('a', 'x')), offered(keys.gate, 9, 1e9, from('a', 'x'))]).toMatchObject([
      { length: 5 },
      { length: 0 },
    ])
  })

  test('a key with a call out keeps its seat, so that the debt is not forgotten', () => {
    const keys = new Keys({ rate: 100, cost: 'learned', max: 1 })
    const permit = admitted(keys.gate, 0, { key: 'a' })
    for (let i = 0; i < 50; i++) offered(keys.gate, 1, 5000, { key: i })[0]?.settle('success', 1, 5000)
    expect(keys.shown).toMatchObject({ keys: 1, evicted: 0, shared: 50 })
    permit.settle('success', 10_000, 5000)
    expect(rejected(keys.gate, 5000, { key: 'a' }).value).toBe(-100)
    expect(keys.gate.idle(5000)).toBe(false)
    expect(keys.gate.idle(1e6)).toBe(true)
  })

  test('a latency that is none corrects nothing, and what was ignored teaches nothing', () => {
    const keys = new Keys({ rate: 100, cost: 'learned' })
    taught(keys, 'x', 10)
    admitted(keys.gate, keys.now, from('a', 'x')).settle('success', Number.NaN, keys.now)
    admitted(keys.gate, keys.now, from('b', 'x')).settle('ignored', 90, keys.now)
    expect(offered(keys.gate, 20, keys.now, from('a', 'x'))).toHaveLength(9)
    expect(offered(keys.gate, 20, keys.now, from('b', 'x'))).toHaveLength(1)
    expect(offered(keys.gate, 20, keys.now, from('c', 'x'))).toHaveLength(10)
  })

  test('names that are made up fill a small table, and no more', () => {
    const keys = new Keys({ rate: 1e6, cost: 'learned' })
    for (let i = 0; i < 1000; i++) taught(keys, `GET /${i}`, i, 1)
    taught(keys, 'known', 5)
    expect(keys.gate.tryAcquire(ask(0, from('a', 'GET /3'))).ok).toBe(true)
  })

  test('a cancelled call gives back what it was charged, and its seat', () => {
    const keys = new Keys({ rate: 100, cost: 'learned', max: 1, oversell: { rate: 1000 } })
    const permit = admitted(keys.gate, 0, { key: 'a', cost: 100 })
    permit.cancel(0)
    expect(keys.shown.whole.tokens).toBe(1000)
    expect(keys.gate.idle(0)).toBe(true)
  })

  test('calls are no milliseconds: a reload from one to the other begins anew', () => {
    const keys = new Keys({ rate: 1 })
    const other = keyedRateLimit({ rate: 1, cost: 'learned' }).build(keys.world.env(), keys.gate)
    expect(other).not.toBe(keys.gate)
  })
})
