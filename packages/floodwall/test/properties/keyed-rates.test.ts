import fc from 'fast-check'
import type { Permit } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { Gcra } from '../../src/algorithms/rates/gcra.ts'
import { ask } from '../support/asks.ts'
import { Keys } from '../support/keyed-rates.ts'
import { excess, type Grant } from '../support/rates.ts'

/** What an eighth of a millisecond and a price of 2^n can say exactly: sums of these are never rounded. */
const exactRate = fc.constantFrom(0, 1, 2, 4, 16, 64)
const exactStep = fc.record({
  wait: fc.oneof(
    fc.constant(0),
    fc.nat(8000).map((n) => n / 8),
  ),
  back: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(500) }),
  key: fc.oneof(fc.nat(5), fc.nat(5).map(String), fc.constant(Number.NaN)),
  cost: fc.oneof(fc.constant(1), fc.nat(6), fc.constantFrom(0.5, 130)),
  /** At once, or so many calls later. */
  cancels: fc.option(fc.nat(3), { freq: 2 }),
})
const steps = fc.array(exactStep, { maxLength: 120, size: 'max' })

describe('limits by key are a GCRA for each key in a Map', () => {
  test('bit for bit, with costs, cancels and a clock that steps back', () => {
    let granted = 0
    let refused = 0
    fc.assert(
      fc.property(exactRate, fc.nat(8), steps, (rate, burst, life) => {
        const keys = new Keys({ rate, per: 1024, burst })
        const naive = new Map<string | number, Gcra>()
        const out: { readonly in: number; readonly cancel: (now: number) => void }[] = []
        let time = 0
        let newest = 0
        for (const [step, { wait, back, key, cost, cancels }] of life.entries()) {
          time += wait
          newest = Math.max(newest, time - back)
          for (const due of out) if (due.in === step) due.cancel(time - back)
          if (!naive.has(key)) naive.set(key, new Gcra({ rate, per: 1024 }, burst, 0))
          const mine = naive.get(key) as Gcra
          const waitMs = mine.take(cost, newest)
          const answer = keys.gate.tryAcquire(ask(time - back, { key, cost }))
          if (answer.ok !== (waitMs === 0)) throw new Error(`${key}: ${answer.ok}, where a GCRA says ${waitMs}`)
          if (answer.ok) granted++
          else {
            refused++
            const never = waitMs === Number.POSITIVE_INFINITY
            expect([answer.never, answer.retryAfterMs, answer.value]).toEqual([
              never,
              never ? 0 : waitMs,
              mine.left(newest),
            ])
          }
          if (!answer.ok || cancels === null) continue
          const takenAt = newest
          const cancel = (now: number) => {
            answer.cancel(now)
            mine.give(cost, takenAt, newest)
          }
          if (cancels === 0) cancel(time - back)
          else out.push({ in: step + cancels, cancel })
        }
        expect(keys.shown).toMatchObject({ keys: naive.size, evicted: 0, shared: 0 })
      }),
      { seed: 95, numRuns: 120 },
    )
    expect(Math.min(granted, refused)).toBeGreaterThan(1000)
  })

  test('with any rate and any time, to a thousand-millionth', () => {
    const rate = fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.double({ min: 1e-4, max: 10, noNaN: true }))
    const step = fc.tuple(
      fc.double({ min: 0, max: 400, noNaN: true }),
      fc.nat(3),
      fc.double({ min: 0, max: 3, noNaN: true }),
    )
    fc.assert(
      fc.property(rate, fc.array(step, { maxLength: 100, size: 'max' }), (perSecond, life) => {
        const keys = new Keys({ rate: perSecond, burst: 5 }, 1e6)
        const naive = Array.from({ length: 4 }, () => new Gcra({ rate: perSecond, per: 1000 }, 5, 1e6))
        let now = 1e6
        for (const [wait, key, cost] of life) {
          now += wait
          const waitMs = naive[key]?.take(cost, now) ?? 0
          const answer = keys.gate.tryAcquire(ask(now, { key, cost }))
          const mine = answer.ok ? 0 : answer.retryAfterMs
          expect(Math.abs(mine - waitMs)).toBeLessThan(1e-6 * (1 + waitMs))
        }
      }),
      { seed: 96, numRuns: 100 },
    )
  })
})

const many = fc.array(
  fc.record({
    wait: fc.oneof(fc.constant(0), fc.nat(300)),
    back: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(400) }),
    key: fc.nat(12),
    cost: fc.oneof(fc.constant(1), fc.nat(4)),
    /** What becomes of the call; or in how many steps it is cancelled. */
    end: fc.oneof(fc.constantFrom('settle', 'cancel', 'later'), fc.integer({ min: 1, max: 9 })),
  }),
  { maxLength: 250, size: 'max' },
)
const small = fc.record({
  rate: fc.integer({ min: 1, max: 50 }),
  burst: fc.integer({ min: 1, max: 8 }),
  max: fc.integer({ min: 1, max: 6 }),
})

interface Life {
  readonly grants: (Grant & { readonly key: number })[]
  readonly keys: Keys
}

/** Plays a life; what was cancelled, at once or late, is no grant. */
function lived(
  keys: Keys,
  life: readonly { wait: number; back: number; key: number; cost: number; end: string | number }[],
): Life {
  const grants: Life['grants'] = []
  const out: Permit[] = []
  let time = 0
  let newest = 0
  const late: { readonly permit: Permit; readonly grant: Grant; readonly in: number }[] = []
  for (const [step, { wait, back, key, cost, end }] of life.entries()) {
    time += wait
    newest = Math.max(newest, time - back)
    for (const { permit, grant, in: due } of late) {
      if (due !== step) continue
      permit.cancel(time - back)
      const at = grants.findIndex((one) => one === grant)
      if (at >= 0) grants.splice(at, 1)
    }
    const answer = keys.gate.tryAcquire(ask(time - back, { key, cost }))
    if (!answer.ok) continue
    const grant = { at: newest, cost, key }
    if (end === 'cancel') answer.cancel(time - back)
    else if (cost > 0) grants.push(grant)
    if (typeof end === 'number') late.push({ permit: answer, grant, in: step + end })
    if (end === 'settle') answer.settle('success', 1, newest)
    if (end === 'later') out.push(answer)
  }
  for (const permit of out) permit.settle('success', 1, newest)
  return { grants, keys }
}

describe('with more keys than seats', () => {
  test('all keys together get no more than the seats and the shared one may, in any span', () => {
    let inherited = 0
    fc.assert(
      fc.property(small, many, ({ rate, burst, max }, life) => {
        const { grants, keys } = lived(new Keys({ rate, burst, max }), life)
        inherited += keys.shown.inherited
        expect(excess(grants, (t) => (max + 1) * (burst + (rate * t) / 1000))).toBeLessThanOrEqual(1e-6)
        expect(keys.shown.keys).toBeLessThanOrEqual(max)
      }),
      { seed: 97, numRuns: 100 },
    )
    expect(inherited).toBeGreaterThan(500)
  })

  test('no key gets more than burst + rate · t in any span, as long as it has its seat', () => {
    fc.assert(
      fc.property(small, many, ({ rate, burst }, life) => {
        const { grants, keys } = lived(new Keys({ rate, burst, max: 13 }), life)
        expect(keys.shown.evicted).toBe(0)
        for (let key = 0; key < 13; key++) {
          const his = grants.filter((grant) => grant.key === key)
          expect(excess(his, (t) => burst + (rate * t) / 1000)).toBeLessThanOrEqual(1e-6)
        }
      }),
      { seed: 98, numRuns: 100 },
    )
  })

  test('nor do limits of their own and parts of a burst make it more', () => {
    fc.assert(
      fc.property(small, many, ({ rate, burst, max }, life) => {
        const overrides = {
          1: { rate: 3 * rate, burst: 2 * burst },
          '1*': { rate: 1, per: '1m' as const },
          5: { rate: 0 },
        }
        const { grants } = lived(new Keys({ rate, burst, max, overrides, reserve: { criticalPlus: 0.3 } }), life)
        expect(excess(grants, (t) => (max + 1) * (2 * burst + (3 * rate * t) / 1000))).toBeLessThanOrEqual(1e-6)
        expect(grants.some(({ key }) => key === 5)).toBe(false)
      }),
      { seed: 99, numRuns: 100 },
    )
  })

  test('the whole gives no more than its own burst + rate · t, whatever the keys may', () => {
    let above = 0
    fc.assert(
      fc.property(small, many, fc.integer({ min: 1, max: 60 }), ({ rate, burst, max }, life, perSecond) => {
        const { grants, keys } = lived(new Keys({ rate, burst, max, oversell: { rate: perSecond } }), life)
        above += keys.shown.whole.above
        expect(excess(grants, (t) => perSecond + (perSecond * t) / 1000)).toBeLessThanOrEqual(1e-6)
      }),
      { seed: 100, numRuns: 100 },
    )
    expect(above).toBeGreaterThan(100)
  })
})
