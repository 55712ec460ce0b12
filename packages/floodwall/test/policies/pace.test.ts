import { answered, isRejected, type Outcome, pace, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { parse } from '../../src/core/schema.ts'

interface Options {
  readonly rate: number
  readonly per?: number
  readonly burst?: number
  readonly atMost?: number
  readonly size?: number
}

/** A pace in a world of its own. What went, and when. */
class Street {
  readonly world: VirtualRuntime
  readonly pipeline
  readonly went: [name: number, at: number][] = []
  readonly outcomes = new Map<number, Outcome<unknown>>()
  private names = 0

  constructor(options: Options, startAt = 0) {
    this.world = new VirtualRuntime({ startAt })
    this.pipeline = pipeline('street', [pace(options)], { runtime: this.world })
  }

  /** A call that comes now; its name is the next number. */
  come(init: { readonly cost?: number; readonly within?: number; readonly signal?: AbortSignal } = {}): number {
    const name = this.names++
    this.pipeline.start(
      (_, done) => {
        this.went.push([name, this.world.now()])
        done(answered(name))
      },
      (outcome) => this.outcomes.set(name, outcome),
      init,
    )
    return name
  }

  get shown(): Record<string, number> {
    const [layer] = this.pipeline.inspect()['layers'] as object[]
    return parse(pace.snapshot, layer, 'inspect()') as Record<string, number>
  }

  why(name: number): string {
    return this.outcomes.get(name)?.rejection?.why ?? ''
  }
}

describe('a steady stream', () => {
  test('the worked example: five at once at 10/s go each 100 ms', () => {
    const street = new Street({ rate: 10 })
    for (let i = 0; i < 5; i++) street.come()
    expect(street.shown).toMatchObject({ waiting: 4, passed: 1, paced: 0, waitMs: 500 })
    street.world.run()
    expect(street.went).toEqual([0, 1, 2, 3, 4].map((i) => [i, i * 100]))
    expect(street.shown).toMatchObject({ waiting: 0, passed: 1, paced: 4, perSecond: 10 })
    expect(street.world.timers).toBe(0)
  })

  test('a burst goes at once, and idling saves no more than that', () => {
    const street = new Street({ rate: 10, burst: 3 })
    street.world.advance('1h')
    for (let i = 0; i < 5; i++) street.come()
    street.world.run()
    expect(street.went.map(([, at]) => at - 3_600_000)).toEqual([0, 0, 0, 100, 200])
  })

  test('who would wait too long is told at once, and when there will be a place', () => {
    const street = new Street({ rate: 10, atMost: 250 })
    for (let i = 0; i < 5; i++) street.come()
    expect([3, 4].map((name) => street.outcomes.get(name)?.rejection)).toMatchObject([
      { reason: 'rate', retryAfterMs: 50, value: 300, limit: 250, never: false },
      { reason: 'rate', retryAfterMs: 50, value: 300, limit: 250, never: false },
    ])
    expect(street.why(3)).toBe('its turn would come in 300ms, and 250ms is the longest wait')
    street.world.advance(50)
    street.come()
    street.world.run()
    expect(street.went.map(([, at]) => at)).toEqual([0, 100, 200, 300])
    expect(street.shown).toMatchObject({ refused: 2 })
  })

  test('never is told apart from not now', () => {
    const street = new Street({ rate: 10, atMost: 250 })
    const never = street.come({ cost: 5 })
    expect(street.outcomes.get(never)?.rejection).toMatchObject({ reason: 'rate', never: true, retryAfterMs: 0 })
    expect(street.why(never)).toBe('costs 5, and at 10 per 1s that takes more than 250ms')
    const none = new Street({ rate: 0 })
    expect(none.outcomes.get(none.come())?.rejection).toMatchObject({ never: true, retryAfterMs: 0 })
    expect(none.shown).toMatchObject({ waitMs: 0 })
    // It has taken nothing.
    street.come()
    expect(street.went).toEqual([[1, 0]])
  })

  test('more than a burst goes, for who waits as long as it takes', () => {
    const street = new Street({ rate: 10, atMost: 1000 })
    street.come({ cost: 4 })
    street.come()
    street.world.run()
    expect(street.went).toEqual([
      [0, 300],
      [1, 400],
    ])
  })

  test('a deadline that would be over first is heeded when the call comes', () => {
    const street = new Street({ rate: 10 })
    for (let i = 0; i < 3; i++) street.come()
    const late = street.come({ within: 250 })
    expect(street.outcomes.get(late)?.rejection).toMatchObject({ reason: 'deadline', value: 250, limit: 300 })
    expect(street.why(late)).toBe('250ms remain, and its turn would come in 300ms')
    street.come({ within: 301 })
    street.world.run()
    expect(street.went.at(-1)).toEqual([4, 300])
    expect(street.shown).toMatchObject({ tooLate: 1 })
  })

  test('places are bounded', () => {
    const street = new Street({ rate: 10, size: 2 })
    for (let i = 0; i < 4; i++) street.come()
    expect(street.outcomes.get(3)?.rejection).toMatchObject({ reason: 'queue-full', value: 2, retryAfterMs: 100 })
    street.world.run()
    expect(street.went.length).toBe(3)
  })

  test('what costs nothing has nothing to wait for', () => {
    const street = new Street({ rate: 1 })
    street.come()
    street.come()
    street.come({ cost: 0 })
    expect(street.went).toEqual([
      [0, 0],
      [2, 0],
    ])
    street.pipeline.close()
  })
})

describe('who leaves', () => {
  test.each([1, 2, 3])('number %d leaves, and those behind him move up', (leaver) => {
    const street = new Street({ rate: 10 })
    const controller = new AbortController()
    for (let i = 0; i < 5; i++) street.come(i === leaver ? { signal: controller.signal } : {})
    street.world.advance(50)
    controller.abort(new Error('left'))
    expect(street.outcomes.get(leaver)).toMatchObject({ ok: false, ran: false, verdict: 'ignored' })
    street.world.run()
    expect(street.went.map(([, at]) => at)).toEqual([0, 100, 200, 300])
    expect(street.went.map(([name]) => name)).toEqual([0, 1, 2, 3, 4].filter((name) => name !== leaver))
    expect(street.world.timers).toBe(0)
  })

  test('all leave, and it is as if they had never come', () => {
    const street = new Street({ rate: 10, atMost: 5000 })
    const controller = new AbortController()
    street.come()
    for (let i = 0; i < 30; i++) street.come({ signal: controller.signal, cost: 1 + (i % 3) / 2 })
    street.world.advance(10)
    controller.abort()
    expect([street.world.timers, street.shown['waiting'], Math.round(street.shown['waitMs']!)]).toEqual([0, 0, 90])
    street.come()
    street.world.run()
    expect(street.went.map(([name, at]) => [name, Math.round(at)])).toEqual([
      [0, 0],
      [31, 100],
    ])
  })

  test('closing ends every wait', () => {
    const street = new Street({ rate: 1 })
    for (let i = 0; i < 2; i++) street.come()
    street.pipeline.close()
    expect(street.outcomes.get(1)?.rejection).toMatchObject({ reason: 'closed', never: true })
    expect(street.world.timers).toBe(0)
  })

  test('a reload keeps the line, and goes on at the new pace', () => {
    const street = new Street({ rate: 10 })
    for (let i = 0; i < 4; i++) street.come()
    street.world.advance(50)
    street.pipeline.reload([pace({ rate: 20 })])
    street.world.run()
    // Half a unit was earned, and the rest comes twice as fast.
    expect(street.went).toEqual([
      [0, 0],
      [1, 75],
      [2, 125],
      [3, 175],
    ])
  })

  test('who is let go may bring others: they stand behind', () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [pace({ rate: 10 })], { runtime: world })
    const went: [string, number][] = []
    const come = (name: string, more?: () => void) =>
      p.start(
        (_, done) => {
          went.push([name, world.now()])
          more?.()
          done(answered(1))
        },
        () => {},
      )
    come('a', () => come('b', () => come('c')))
    come('d')
    world.run()
    expect(went).toEqual([
      ['a', 0],
      ['b', 100],
      ['d', 200],
      ['c', 300],
    ])
  })

  test('as promises', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [pace({ rate: 10, atMost: 100 })], { runtime: world })
    const all = Promise.allSettled([1, 2, 3].map((n) => p.call(() => n)))
    await world.advanceAsync(1000)
    const [first, second, third] = await all
    expect([first, second]).toEqual([
      { status: 'fulfilled', value: 1 },
      { status: 'fulfilled', value: 2 },
    ])
    expect(isRejected((third as PromiseRejectedResult).reason)).toBe(true)
  })
})

describe('C08 pacing above 1000 a second, below one, and at zero', () => {
  test.each([1, 999, 1000, 1001, 1500, 2000, 2001, 5000])(
    'C08 at %i/s, a wait of 20 ms, twice as much for 2 s',
    (rate) => {
      const street = new Street({ rate, atMost: 20 })
      for (let i = 0; i < 4 * rate; i++) street.world.after((i * 500) / rate, () => street.come())
      street.world.run()
      const room = 1 + rate * 0.02
      expect(street.went.length).toBeLessThanOrEqual(2 * rate + 1 + room)
      expect(street.went.length).toBeGreaterThanOrEqual(0.98 * 2 * rate)
    },
  )

  test('C08 0.2/s for 30 s: one each 5 s; rate 0: none of 10,000', () => {
    const street = new Street({ rate: 0.2, atMost: 20 })
    for (let ms = 0; ms < 30_000; ms += 10) street.world.after(ms, () => street.come())
    street.world.run()
    // The last one has come at 29.99 s, and waits for its turn.
    expect(street.went.map(([, at]) => Math.round(at))).toEqual([0, 5000, 10_000, 15_000, 20_000, 25_000, 30_000])
    const none = new Street({ rate: 0, atMost: 20 })
    for (let i = 0; i < 10_000; i++) none.come()
    expect([none.went.length, none.shown['refused']]).toEqual([0, 10_000])
  })

  test('C08 cost 3 per call at 1500/s: 500 calls a second', () => {
    const street = new Street({ rate: 1500, burst: 3, atMost: 20 })
    for (let i = 0; i < 2000; i++) street.world.after(i, () => street.come({ cost: 3 }))
    street.world.run()
    expect(Math.abs(street.went.length - 1000)).toBeLessThanOrEqual(20)
  })

  test.each([0, 1e9])('C08 100,000/s over a second, from %d on: within a hundredth', (startAt) => {
    const street = new Street({ rate: 100_000, atMost: 10 }, startAt)
    for (let i = 0; i < 200_000; i++) street.world.after(i * 0.005, () => street.come())
    street.world.advance(1000)
    const { length } = street.went
    console.log(`pace at 100,000/s: ${length} in one second, ${(length / 1000 - 100).toFixed(3)} % off`)
    expect(Math.abs(length - 100_000)).toBeLessThanOrEqual(1000)
    const gaps = street.went.slice(1).map(([, at], i) => at - street.went[i]![1])
    expect(Math.min(...gaps.slice(0, 50_000))).toBeGreaterThan(0.008)
    street.pipeline.close()
  })

  test('100,000/s on timers of whole milliseconds that ring up to 3 ms late: the rate holds', () => {
    const world = new VirtualRuntime()
    let late = 0
    const coarse = {
      ...world.env(),
      after: (ms: number, fn: () => void) => world.after(Math.ceil(ms) + (late++ % 4), fn),
    }
    const p = pipeline('p', [pace({ rate: 100_000, atMost: 50 })], { runtime: coarse })
    let went = 0
    for (let i = 0; i < 200_000; i++)
      world.after(i * 0.005, () =>
        p.start(
          (_, done) => (went++, done(answered(1))),
          () => {},
        ),
      )
    world.advance(1000)
    expect(Math.abs(went - 100_000)).toBeLessThanOrEqual(1000)
    p.close()
  })
})

describe('C09 a hoard after idling', () => {
  test('C09 (b) 1000/s, a wait of 5 ms, idle 10 min: a take of 5000 is refused, the next 100 pass at the pace', () => {
    const street = new Street({ rate: 1000, atMost: 5 })
    street.world.advance('10m')
    const hoard = street.come({ cost: 5000 })
    expect(street.outcomes.get(hoard)?.rejection).toMatchObject({ reason: 'rate', never: true })
    const start = street.world.now()
    for (let i = 0; i < 100; i++) street.world.after(i, () => street.come())
    street.world.run()
    expect(street.went.map(([, at]) => at - start)).toEqual(Array.from({ length: 100 }, (_, i) => i))
  })
})

describe('C07 spans', () => {
  test('C07 a wait of 30 days needs one timer, and does not ring early', () => {
    const street = new Street({ rate: 1, per: 2_592_000_000, atMost: 2_592_000_000 })
    street.come()
    street.come()
    street.world.advance(50)
    expect([street.went.length, street.world.timers]).toEqual([1, 1])
    street.world.advance('30d')
    expect([street.went.length, street.world.timers]).toEqual([2, 0])
  })

  test.each([Number.POSITIVE_INFINITY, Number.NaN, 0, -1, '60'])('C07 a wait of %s is refused by name', (span) => {
    expect(() => pace({ rate: 1, atMost: span as number })).toThrow('pace.atMost: expected a span')
    expect(() => pace({ rate: 1, per: span as number })).toThrow('pace.per: expected a span')
  })
})
