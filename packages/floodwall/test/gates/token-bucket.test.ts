import { rateLimit, TokenBucket } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { admitted, ask, offered, rejected, VERDICTS } from '../support/asks.ts'
import { Tap } from '../support/buckets.ts'

describe('a token bucket', () => {
  test('the worked example: rate 1/s, burst 10', () => {
    const tap = new Tap({ rate: 1, burst: 10 })
    expect([tap.take(1, 3), tap.tokens]).toEqual([1, 7])
    tap.world.advance(500)
    expect(tap.tokens).toBe(7.5)
    const no = rejected(tap.gate, tap.now, { cost: 8 })
    expect(no).toMatchObject({ reason: 'rate', retryAfterMs: 500, value: 7.5, limit: 8, never: false })
    expect(no.why).toBe('costs 8, 7.5 of 10 left; one more each 1s')
    tap.world.advance(499)
    rejected(tap.gate, tap.now, { cost: 8 })
    tap.world.advance(1)
    admitted(tap.gate, tap.now, { cost: 8 })
    expect(tap.tokens).toBe(0)
  })

  test('a refusal takes nothing, however often', () => {
    const tap = new Tap({ rate: 1, burst: 2 })
    tap.take(1, 1.5)
    expect([tap.take(10_000), tap.tokens]).toEqual([0, 0.5])
  })

  test('idling saves the burst and no more', () => {
    const tap = new Tap({ rate: 10, burst: 3 })
    tap.take(3)
    tap.world.advance('30d')
    expect([tap.take(9), tap.tokens]).toEqual([3, 0])
  })

  test.each([
    [{ rate: 100 }, 100, 100],
    [{ rate: 0.2 }, 1, 0.2],
    [{ rate: 1.5 }, 1.5, 1.5],
    [{ rate: 60, per: '1m' }, 60, 1],
    [{ rate: 5, per: '30d' }, 5, 5 / 2_592_000],
    [{ rate: 10, burst: 0.5 }, 0.5, 10],
    [{ rate: 0 }, 0, 0],
    [{ rate: 0, burst: 4 }, 4, 0],
  ] as const)('%j starts with a burst of %d, at %d per second', (options, burst, perSecond) => {
    const tap = new Tap(options)
    const shown = tap.gate.inspect(0)
    expect(shown).toMatchObject({ kind: 'rateLimit', path: 'api/rateLimit', tokens: burst, burst })
    expect(shown['perSecond']).toBeCloseTo(perSecond, 12)
  })

  test('100 ms at 10/s are one whole token, ten times over', () => {
    const tap = new Tap({ rate: 10, burst: 1 })
    const passed = Array.from({ length: 100 }, () => {
      const got = tap.take(1)
      tap.world.advance(100)
      return got
    })
    expect(passed).toEqual(Array.from({ length: 100 }, () => 1))
  })

  test.each([0, 1e9, 1e12])('whoever waits as told passes, from %d on', (startAt) => {
    const tap = new Tap({ rate: 7, burst: 3 }, startAt)
    for (let i = 0; i < 200; i++) {
      const cost = 1 + (i % 3)
      const answer = tap.gate.tryAcquire(ask(tap.now, { cost }))
      if (answer.ok) continue
      // Timers count whole milliseconds, and round up.
      tap.world.advance(Math.ceil(answer.retryAfterMs))
      admitted(tap.gate, tap.now, { cost })
    }
  })

  test('what costs nothing always passes', () => {
    const tap = new Tap({ rate: 1, burst: 1 })
    tap.take(1)
    expect([tap.take(1000, 0), tap.tokens]).toEqual([1000, 0])
  })

  test('cancelled, the tokens come back, and never above the burst', () => {
    const tap = new Tap({ rate: 1, burst: 5 })
    const permit = admitted(tap.gate, tap.now, { cost: 5 })
    tap.world.advance(2000)
    permit.cancel(tap.now)
    expect(tap.tokens).toBe(5)
  })

  test.each(VERDICTS)('settled as %s it gives nothing back: the call has been made', (verdict) => {
    const tap = new Tap({ rate: 1, burst: 2 })
    admitted(tap.gate, tap.now).settle(verdict, 500, tap.now)
    expect([tap.tokens, tap.gate.timed]).toEqual([1, false])
  })

  test('permits that nobody ends cost what they cost', () => {
    const tap = new Tap({ rate: 2 })
    expect(offered(tap.gate, 9, tap.now)).toHaveLength(2)
    tap.world.advance(1000)
    expect(offered(tap.gate, 9, tap.now)).toHaveLength(2)
  })

  test('idle when it is full: a new one would be the same', () => {
    const tap = new Tap({ rate: 1, burst: 2 })
    expect(tap.gate.idle(0)).toBe(true)
    admitted(tap.gate, 0)
    expect([tap.gate.idle(999), tap.gate.idle(1000)]).toEqual([false, true])
  })
})

describe('what can never pass', () => {
  test('says so at once: more than the burst', () => {
    const no = rejected(new Tap({ rate: 5 }).gate, 0, { cost: 6 })
    expect(no).toMatchObject({ reason: 'rate', never: true, retryAfterMs: 0, value: 5, limit: 6 })
    expect(no.why).toBe('costs 6, and no more than 5 can ever be saved up')
  })

  test('without a rate, once the burst is spent', () => {
    const tap = new Tap({ rate: 0, burst: 2 })
    expect(tap.take(9)).toBe(2)
    const no = rejected(tap.gate, tap.now)
    expect(no).toMatchObject({ never: true, retryAfterMs: 0, value: 0, limit: 1 })
    expect(no.why).toBe('costs 1, 0 left, and at rate 0 nothing is earned')
  })

  test('exactly the burst is not too much', () => {
    expect(new Tap({ rate: 1, burst: 2.5 }).take(1, 2.5)).toBe(1)
  })
})

describe('a cost that is none', () => {
  // The types forbid it; a header that was parsed badly does not read types. Decided: it costs 1, as if nobody had said anything.
  test.each([Number.NaN, -1, Number.NEGATIVE_INFINITY, '3', null, undefined, {}])(
    '%s costs 1, and nothing is poisoned',
    (cost) => {
      const tap = new Tap({ rate: 1, burst: 3 })
      const more = { cost: cost as number }
      const permit = admitted(tap.gate, 0, more)
      expect(tap.tokens).toBe(2)
      permit.cancel(0)
      expect(tap.tokens).toBe(3)
      expect(offered(tap.gate, 1000, 0, more)).toHaveLength(3)
      expect(rejected(tap.gate, 0, more)).toMatchObject({ retryAfterMs: 1000, value: 0, limit: 1 })
    },
  )

  test('an infinite one can never pass, in finite numbers', () => {
    const tap = new Tap({ rate: 1, burst: 3 })
    const no = rejected(tap.gate, 0, { cost: Number.POSITIVE_INFINITY })
    expect([no.never, Number.isFinite(no.limit), tap.tokens]).toEqual([true, true, 3])
  })
})

describe('C36 (e) a reload is not a free burst', () => {
  function reload(tap: Tap, options: Parameters<typeof rateLimit>[0]): TokenBucket {
    return rateLimit(options).build(tap.world.env('api/rateLimit'), tap.gate) as TokenBucket
  }

  test.each([
    ['limit 10 -> 5', { rate: 5 }, 2],
    ['limit 10 -> 20', { rate: 20 }, 2],
    ['limit 10 -> 1', { rate: 1 }, 1],
    ['limit 10 -> 0', { rate: 0 }, 0],
    ['identical', { rate: 10 }, 2],
  ])('C36 %s with 2 of 10 left', (_, options, left) => {
    const tap = new Tap({ rate: 10 })
    tap.take(8)
    expect(reload(tap, options)).toBe(tap.gate)
    expect(tap.tokens).toBe(left)
  })

  test('C36 the time before it earned at the old rate', () => {
    const tap = new Tap({ rate: 1, burst: 1000 })
    tap.take(1, 1000)
    tap.world.advance('10s')
    reload(tap, { rate: 1000, burst: 1000 })
    expect(tap.tokens).toBeCloseTo(10, 9)
    tap.world.advance(100)
    expect(tap.tokens).toBeCloseTo(110, 9)
    reload(tap, { rate: 1, burst: 1000 })
    tap.world.advance('10s')
    expect(tap.tokens).toBeCloseTo(120, 9)
  })

  test('C36 reloaded each millisecond it grants what it always granted', () => {
    const tap = new Tap({ rate: 100, burst: 1 })
    let passed = 0
    for (let ms = 0; ms < 1000; ms++) {
      reload(tap, { rate: 100, burst: ms % 2 === 0 ? 1 : 2 })
      passed += tap.take(5)
      tap.world.advance(1)
    }
    expect(passed).toBe(100)
  })

  test('tokens and milliseconds of work are not the same coin: that is another bucket', () => {
    const tap = new Tap({ rate: 10 })
    expect(reload(tap, { rate: 10, charge: 'time' })).not.toBe(tap.gate)
  })
})
