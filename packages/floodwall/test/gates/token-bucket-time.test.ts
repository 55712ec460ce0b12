import { describe, expect, test } from 'vitest'
import { admitted, offered, rejected, VERDICTS } from '../support/asks.ts'
import { Tap } from '../support/buckets.ts'

/** Half a processor: 500 ms of work per second, 1000 ms can be saved up. */
const HALF = { rate: 500, burst: 1000, charge: 'time' } as const

describe('a bucket that charges for time', () => {
  test('asks for latency', () => {
    expect([new Tap(HALF).gate.timed, new Tap({ rate: 1 }).gate.timed]).toEqual([true, false])
  })

  test('an estimate is taken, and what the work took is settled', () => {
    const tap = new Tap(HALF)
    const cheap = admitted(tap.gate, tap.now, { cost: 100 })
    expect(tap.tokens).toBe(900)
    cheap.settle('success', 30, tap.now)
    expect(tap.tokens).toBe(970)
    const dear = admitted(tap.gate, tap.now, { cost: 100 })
    dear.settle('success', 400, tap.now)
    expect(tap.tokens).toBe(570)
  })

  test.each(VERDICTS)('whatever came of it, the work was done: %s', (verdict) => {
    const tap = new Tap(HALF)
    admitted(tap.gate, tap.now, { cost: 100 }).settle(verdict, 300, tap.now)
    expect(tap.tokens).toBe(700)
  })

  test('cancelled, nothing was', () => {
    const tap = new Tap(HALF)
    admitted(tap.gate, tap.now, { cost: 100 }).cancel(tap.now)
    expect(tap.tokens).toBe(1000)
  })

  test('an underestimate is owed: refused until the debt is earned', () => {
    const tap = new Tap(HALF)
    admitted(tap.gate, tap.now, { cost: 10 }).settle('success', 1500, tap.now)
    expect(tap.tokens).toBe(-500)
    const no = rejected(tap.gate, tap.now, { cost: 10 })
    expect(no).toMatchObject({ retryAfterMs: 1020, value: -500, limit: 10, never: false })
    tap.world.advance(1020)
    admitted(tap.gate, tap.now, { cost: 10 })
  })

  test('up to one burst: one wild call does not silence its caller for ever', () => {
    const tap = new Tap(HALF)
    admitted(tap.gate, tap.now, { cost: 1 }).settle('timeout', 1e9, tap.now)
    expect(tap.tokens).toBe(-1000)
    tap.world.advance(2000)
    expect(tap.tokens).toBe(0)
    tap.world.advance(2)
    admitted(tap.gate, tap.now, { cost: 1 })
  })

  test('many that were underestimated together owe one burst, together', () => {
    const tap = new Tap(HALF)
    for (const permit of offered(tap.gate, 1000, tap.now, { cost: 1 })) permit.settle('success', 100, tap.now)
    expect(tap.tokens).toBe(-1000)
  })

  test('an overestimate saves no more than the burst', () => {
    const tap = new Tap(HALF)
    const permit = admitted(tap.gate, tap.now, { cost: 1000 })
    tap.world.advance(1500)
    permit.settle('success', 0, tap.now)
    expect(tap.tokens).toBe(1000)
  })

  test('time passes while the work runs: it is earned once', () => {
    const tap = new Tap(HALF)
    const permit = admitted(tap.gate, tap.now, { cost: 1000 })
    tap.world.advance(1000)
    permit.settle('success', 1000, tap.now)
    expect(tap.tokens).toBe(500)
  })

  test('what is earned above the burst while the work runs is lost, before it is settled', () => {
    const tap = new Tap(HALF)
    const permit = admitted(tap.gate, tap.now, { cost: 1000 })
    tap.world.advance(3000)
    permit.settle('success', 2000, tap.now)
    expect(tap.tokens).toBe(0)
  })

  test.each([
    [Number.NaN, 900],
    [-5, 900],
    [Number.NEGATIVE_INFINITY, 900],
    [0, 1000],
    [Number.POSITIVE_INFINITY, -1000],
  ])('C06 a latency of %d: the estimate stands where it is none', (tookMs, tokens) => {
    const tap = new Tap(HALF)
    admitted(tap.gate, tap.now, { cost: 100 }).settle('success', tookMs, tap.now)
    expect(tap.tokens).toBe(tokens)
  })

  test('not idle while a cost is an estimate: the debt would be forgotten', () => {
    const tap = new Tap(HALF)
    const [first, second] = offered(tap.gate, 2, tap.now)
    tap.world.advance('1h')
    expect(tap.gate.idle(tap.now)).toBe(false)
    first?.settle('success', 0, tap.now)
    expect(tap.gate.idle(tap.now)).toBe(false)
    second?.cancel(tap.now)
    expect(tap.gate.idle(tap.now)).toBe(true)
  })

  test('a latency that is none ends the estimate too', () => {
    const tap = new Tap(HALF)
    admitted(tap.gate, tap.now).settle('success', Number.NaN, tap.now)
    tap.world.advance('1h')
    expect(tap.gate.idle(tap.now)).toBe(true)
  })
})
