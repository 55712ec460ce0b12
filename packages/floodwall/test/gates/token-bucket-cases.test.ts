import { TokenBucket } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { admitted, offered, rejected } from '../support/asks.ts'
import { Tap } from '../support/buckets.ts'

const HOUR_MS = 3_600_000
const MONTH_MS = 2_592_000_000

afterEach(() => {
  vi.useRealTimers()
})

describe('C06 the clock steps back one hour', () => {
  test('C06 the wall clock has no say: only monotonic time earns', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 })
    const tap = new Tap({ rate: 1, burst: 10 })
    expect(tap.take(1, 3)).toBe(1)
    vi.setSystemTime(1_700_000_000_000 - HOUR_MS)
    tap.world.advance(10)
    expect(tap.take(1)).toBe(1)
    expect(Math.floor(tap.tokens)).toBe(6)
    vi.setSystemTime(1_700_000_000_000 + HOUR_MS)
    tap.world.advance(10)
    expect(tap.take(20)).toBe(6)
    expect(rejected(tap.gate, tap.now).retryAfterMs).toBeLessThanOrEqual(1000)
  })

  // Decided: a runtime's clock never decreases (core/system.ts sees to it). Should an earlier `now` come all the same, it earns nothing and
  // costs nothing; tokens grow again once the newest time is passed, so that no to and fro of a clock makes tokens.
  test('C06 an earlier `now` takes no token and gives none', () => {
    const { gate } = new Tap({ rate: 1, burst: 10 }, 10 * HOUR_MS)
    const start = 10 * HOUR_MS
    admitted(gate, start, { cost: 3 })
    expect(gate.inspect(start - HOUR_MS)['tokens']).toBe(7)
    admitted(gate, start - HOUR_MS)
    expect(gate.inspect(start - HOUR_MS)['tokens']).toBe(6)
    expect(offered(gate, 20, start - HOUR_MS)).toHaveLength(6)
    expect(rejected(gate, start - HOUR_MS)).toMatchObject({ retryAfterMs: 1000, value: 0 })
    expect(gate.inspect(start)['tokens']).toBe(0)
    expect(gate.inspect(start + 2500)['tokens']).toBe(2.5)
  })

  test('C06 a clock that swings by an hour makes no tokens', () => {
    const { gate } = new Tap({ rate: 1, burst: 10 }, 10 * HOUR_MS)
    let granted = 0
    for (let i = 0; i < 1000; i++) granted += offered(gate, 3, 10 * HOUR_MS + (i % 2 === 0 ? i : i - HOUR_MS)).length
    expect(granted).toBe(10)
  })

  test('C06 a permit that ends before it began gives back what it took', () => {
    const { gate } = new Tap({ rate: 1, burst: 2 }, 10 * HOUR_MS)
    const [permit] = offered(gate, 2, 10 * HOUR_MS)
    permit?.cancel(9 * HOUR_MS)
    expect(gate.inspect(10 * HOUR_MS)['tokens']).toBe(1)
  })
})

describe('C07 a window of 30 days', () => {
  test.each([0, 1e9, 1e12])('C07 5 per 30 days, from %d on: 6 takes in one tick, and one 50 ms later', (startAt) => {
    const tap = new Tap({ rate: 5, per: '30d' }, startAt)
    expect(tap.take(6)).toBe(5)
    expect(rejected(tap.gate, tap.now).retryAfterMs).toBeCloseTo(MONTH_MS / 5)
    tap.world.advance(50)
    expect(tap.take(1)).toBe(0)
    // A whole window until all five are back: the bucket hands them out one each six days, not all at its end.
    expect(rejected(tap.gate, tap.now, { cost: 5 }).retryAfterMs).toBeCloseTo(MONTH_MS - 50, -1)
    tap.world.advance(MONTH_MS / 5)
    expect(tap.take(2)).toBe(1)
    tap.world.advance(MONTH_MS)
    expect([tap.take(6), tap.world.timers]).toEqual([5, 0])
  })

  test('C07 the same written in seconds', () => {
    const tap = new Tap({ rate: 5, per: '2592000s' })
    expect([tap.take(6), rejected(tap.gate, tap.now).retryAfterMs]).toEqual([5, MONTH_MS / 5])
  })

  test('C07 nothing for a billion seconds: the block holds after 50 ms and after a year', () => {
    const tap = new Tap({ rate: 1, per: '1000000000s' })
    tap.take(1)
    for (const span of ['50ms', '1h', '365d'] as const) {
      tap.world.advance(span)
      expect(tap.take(1)).toBe(0)
    }
    expect(tap.world.timers).toBe(0)
  })

  test.each([Number.POSITIVE_INFINITY, Number.NaN, 0, -1, '60', '-1s', '1e3s', null, {}, '400000d'])(
    'C07 a window of %s is refused by name',
    (per) => {
      expect(() => new TokenBucket({ rate: 5, per: per as number }, new VirtualRuntime().env())).toThrow(
        'rateLimit.per: expected a span such as 250 (ms), "250ms" or "1.5s", above 0',
      )
    },
  )
})

describe('C08 rates above 1000 a second, below one, and zero', () => {
  const RATES = [1, 999, 1000, 1001, 1500, 2000, 2001, 5000]

  test.each(RATES)('C08 paced (burst 1) at %i/s, offered twice as much for 2 s', (rate) => {
    const tap = new Tap({ rate, burst: 1 })
    const passed = tap.offer(500 / rate, 2000)
    expect(passed).toBeLessThanOrEqual(1 + rate * 2)
    expect(passed).toBeGreaterThanOrEqual(0.98 * rate * 2)
  })

  test.each(RATES)('C08 with the default burst at %i/s: the burst, and then the rate', (rate) => {
    const tap = new Tap({ rate })
    const passed = tap.offer(500 / rate, 4000)
    expect(passed).toBeLessThanOrEqual(rate + rate * 4)
    expect(passed).toBeGreaterThanOrEqual(0.98 * rate * 4)
  })

  test.each(RATES)('C08 at %i/s on a clock of whole milliseconds', (rate) => {
    // The turn clock of a busy process: all the calls of a millisecond come with one reading. A burst of 5 ms covers it.
    const tap = new Tap({ rate, burst: Math.max(1, rate / 200) })
    let passed = 0
    for (let ms = 0; ms < 2000; ms++) {
      passed += tap.take(Math.ceil((2 * rate) / 1000))
      tap.world.advance(1)
    }
    expect(passed).toBeLessThanOrEqual(Math.max(1, rate / 200) + rate * 2)
    expect(passed).toBeGreaterThanOrEqual(0.98 * rate * 2)
  })

  test.each(RATES)('C08 after a long life the rate %i/s is still exact', (rate) => {
    // 1e12 ms are told apart to 0.1 µs only: a take that comes so much too early is refused, and the second token of the burst saves
    // what is earned until the next.
    const tap = new Tap({ rate, burst: 2 }, 1e12)
    tap.take(2)
    tap.world.advance('3000d')
    const passed = tap.offer(500 / rate, 1000)
    expect(passed).toBeLessThanOrEqual(2 + rate)
    expect(passed).toBeGreaterThanOrEqual(0.98 * rate)
  })

  test('C08 0.2/s for 30 s: one each 5 s', () => {
    for (const options of [{ rate: 0.2 }, { rate: 1, per: '5s' }] as const) {
      const tap = new Tap(options)
      const at: number[] = []
      for (let ms = 0; ms < 30_000; ms += 10) {
        if (tap.take(1) === 1) at.push(ms)
        tap.world.advance(10)
      }
      expect(at).toEqual([0, 5000, 10_000, 15_000, 20_000, 25_000])
    }
  })

  test('C08 rate 0 admits none, on the first try and on the ten-thousandth', () => {
    const tap = new Tap({ rate: 0 })
    for (let i = 0; i < 10_000; i++) {
      const no = rejected(tap.gate, tap.now)
      expect([no.never, no.retryAfterMs, no.value]).toEqual([true, 0, 0])
      tap.world.advance('1d')
    }
  })

  test('C08 rate 0 with a burst that was asked for: that, and then nothing', () => {
    const tap = new Tap({ rate: 0, burst: 3 })
    expect(tap.take(10_000)).toBe(3)
    tap.world.advance('1000d')
    expect(tap.take(10_000)).toBe(0)
  })

  test('C08 cost 3 per call at 1500/s: 500 calls a second', () => {
    const tap = new Tap({ rate: 1500, burst: 3 })
    const passed = tap.offer(1, 2000, 3)
    expect(passed).toBeLessThanOrEqual(1 + 1000)
    expect(passed).toBeGreaterThanOrEqual(980)
  })
})

describe('C09 twice the limit across a boundary; a hoard after idling', () => {
  test('C09 (a) 5 per 60 s: of 5 takes at 59.999 s and 5 at 60.001 s, 5 pass', () => {
    const tap = new Tap({ rate: 5, per: '60s' })
    tap.world.advance(59_999)
    const before = tap.take(5)
    tap.world.advance(2)
    expect([before, tap.take(5)]).toEqual([5, 0])
  })

  test('C09 (a) the worst 60 s of a bucket: burst + refill, under 10', () => {
    // Five that were saved up, and one each 12 s: the tenth is earned when the 60 s are over.
    const tap = new Tap({ rate: 5, per: '60s' })
    tap.world.advance('1h')
    const start = tap.now
    const at: number[] = []
    for (let ms = 0; ms <= 180_000; ms++) {
      if (tap.take(1) === 1) at.push(tap.now - start)
      tap.world.advance(1)
    }
    const inWindow = at.map((from) => at.filter((t) => t >= from && t < from + 60_000).length)
    expect(Math.max(...inWindow)).toBe(9)
    expect(at.slice(0, 7)).toEqual([0, 1, 2, 3, 4, 12_000, 24_000])
  })

  test('C09 (b) a hoard: idle for 10 min at 1000/s, then a take of 5000', () => {
    // What a paced limiter with a maximum wait of 5 ms lets through at once is what a bucket with a burst of 5 does.
    const tap = new Tap({ rate: 1000, burst: 5 })
    tap.world.advance('10m')
    expect(rejected(tap.gate, tap.now, { cost: 5000 })).toMatchObject({ never: true, value: 5 })
    const passed: number[] = []
    for (let i = 0; passed.length < 100; i++) {
      if (tap.take(1) === 1) passed.push(i)
      else tap.world.advance(1)
    }
    expect(tap.take(1)).toBe(0)
    // 5 at once, 95 at the pace.
    expect(tap.now - 600_000).toBe(95)
  })

  test('C09 (c) a take of 6 with burst 5 can never succeed, and says so at once', () => {
    const tap = new Tap({ rate: 5, per: '60s' })
    expect(rejected(tap.gate, tap.now, { cost: 6 })).toMatchObject({ reason: 'rate', never: true, retryAfterMs: 0 })
    expect(tap.tokens).toBe(5)
  })
})
