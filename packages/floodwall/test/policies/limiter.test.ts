import { isRejected, type Limiter, type LimiterOptions, limiter, type RejectedError, type Reservation } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'

function world(options: LimiterOptions): { time: VirtualRuntime; it: Limiter } {
  const time = new VirtualRuntime()
  return { time, it: limiter(options, time) }
}

/** The promise; throws with the limiter's own words when there is none. */
function promised(it: Limiter, cost = 1, atMost?: number): Reservation {
  const answer = it.reserve(cost, atMost === undefined ? {} : { atMost })
  if (!answer.ok) throw new Error(answer.why)
  return answer
}

async function fault(of: Promise<unknown>): Promise<RejectedError> {
  try {
    await of
  } catch (error) {
    if (isRejected(error)) return error
    throw error
  }
  throw new Error('resolved')
}

describe('allow', () => {
  test('two a second is one more each 500 ms', () => {
    const { time, it } = world({ rate: 2 })
    expect([it.allow(), it.allow(), it.allow(), it.left]).toEqual([true, true, false, 0])
    time.advance(499)
    expect(it.allow()).toBe(false)
    time.advance(1)
    expect([it.allow(), it.allow()]).toEqual([true, false])
  })

  test('a cost is taken whole or not at all; what is none is 1', () => {
    const { it } = world({ rate: 10 })
    expect([it.allow(7), it.allow(4), it.allow(3), it.allow()]).toEqual([true, false, true, false])
    const odd = world({ rate: 2 }).it
    expect([odd.allow(Number.NaN), odd.allow(-5), odd.allow('x' as never), odd.allow(0)]).toEqual([
      true,
      true,
      false,
      true,
    ])
  })

  test('not past those who were promised what comes next', () => {
    const { time, it } = world({ rate: 10, burst: 1 })
    expect([promised(it).delayMs, promised(it).delayMs]).toEqual([0, 100])
    time.advance(150)
    expect(it.allow(0.5)).toBe(true)
    expect(it.allow(0.5)).toBe(false)
  })
})

describe('reserve', () => {
  test('tells when; later for each; and a refusal tells how long, or never', () => {
    const { it } = world({ rate: 10, burst: 2, atMost: 250, name: 'mail' })
    expect([1, 2, 3, 4].map(() => promised(it).delayMs)).toEqual([0, 0, 100, 200])
    expect(it.reserve()).toMatchObject({ ok: false, reason: 'rate', never: false, retryAfterMs: 50 })
    expect(it.reserve(3)).toMatchObject({ ok: false, reason: 'rate', never: true, retryAfterMs: 0 })
    const whys = [it.reserve(), it.reserve(3)].map((no) => (no.ok ? '' : no.why))
    expect(whys).toEqual([
      'at 10 per 1s it would take 300ms, and 250ms is the longest wait',
      'costs 3, and no more than 2 can ever be had at once',
    ])
    // No refusal has taken anything.
    expect(promised(it, 1, 300).delayMs).toBe(300)
    expect(it.left).toBe(-3)
  })

  test('atMost 0 is "now, or not at all"', () => {
    const { it } = world({ rate: 10, burst: 1 })
    promised(it, 1, 0)
    expect(it.reserve(1, { atMost: 0 })).toMatchObject({ ok: false, retryAfterMs: 100 })
  })

  test('cancelled, the last is as if it had never been, and so are those before it that were', () => {
    const { it } = world({ rate: 10, burst: 1 })
    const all = [1, 2, 3, 4].map(() => promised(it))
    all[2]!.cancel()
    expect(promised(it, 0.5).delayMs).toBe(200)
    all[1]!.cancel()
    all[3]!.cancel()
    // The half that was taken of the third place stands; what is free around it goes to who fits in.
    expect([promised(it, 0.5).delayMs, promised(it).delayMs]).toEqual([100, 200].map(() => expect.any(Number)))
  })

  test('all cancelled: everything is back', () => {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 0, 2],
      [1, 2, 0],
      [2, 0, 1],
      [0, 2, 1],
    ] as const) {
      const { it } = world({ rate: 10, burst: 1 })
      const all = [1, 2, 3].map(() => promised(it))
      for (const i of order) {
        all[i]!.cancel()
        all[i]!.cancel()
      }
      expect([it.left, it.allow(), it.allow()], String(order)).toEqual([1, true, false])
    }
  })

  test('the place of one who left in the middle goes to the next who fits in; nobody is promised what another has', () => {
    const { time, it } = world({ rate: 10, burst: 1 })
    const all = [1, 2, 3, 4].map(() => promised(it))
    all[1]!.cancel()
    expect([promised(it).delayMs, promised(it).delayMs]).toEqual([100, 400])
    // What has gone by has gone by.
    all[2]!.cancel()
    time.advance(250)
    expect(promised(it).delayMs).toBe(250)
  })

  test.each(['slidingLog', 'fixedWindow', 'slidingWindow', 'gcra', 'leakyBucket', 'warmUp'] as const)(
    'by %s: promises never fall, and hold',
    (algorithm) => {
      const { it } = world({ rate: 4, algorithm })
      const delays = Array.from({ length: 12 }, () => promised(it).delayMs)
      expect([...delays].sort((a, b) => a - b)).toEqual(delays)
      expect(delays[11]).toBeGreaterThan(900)
      expect(it.reserve(5)).toMatchObject({ ok: false, never: true })
    },
  )

  test('rate 0, and a closed one', () => {
    const { it } = world({ rate: 0 })
    expect([it.allow(), it.reserve()]).toMatchObject([false, { ok: false, never: true }])
    const open = world({ rate: 5 }).it
    open.close()
    expect([open.allow(), open.reserve()]).toMatchObject([false, { ok: false, reason: 'closed', never: true }])
  })
})

describe('wait', () => {
  test('in the order of asking, each at its time', async () => {
    const { time, it } = world({ rate: 10, burst: 1 })
    const went: [number, number][] = []
    for (let i = 0; i < 4; i++) void it.wait().then(() => went.push([i, time.now()]))
    expect(it.waiting).toBe(3)
    await time.advanceAsync(1000)
    expect(went).toEqual([0, 1, 2, 3].map((i) => [i, i * 100]))
    expect([it.waiting, time.timers]).toEqual([0, 0])
  })

  test('who can never succeed hears it at once, and who would wait too long as well', async () => {
    const { time, it } = world({ rate: 10, burst: 1 })
    const never = await fault(it.wait(2))
    expect([never.code, never.rejection.never, never.retryAfterMs]).toEqual(['rate', true, 0])
    it.allow()
    const late = await fault(it.wait(1, { atMost: 50 }))
    expect([late.rejection.never, late.retryAfterMs]).toEqual([false, 50])
    expect(time.timers).toBe(0)
  })

  test('an abort ends it with its reason, and gives back what it took', async () => {
    const { time, it } = world({ rate: 10, burst: 1 })
    it.allow()
    const controller = new AbortController()
    const left = it.wait(1, { signal: controller.signal })
    const reason = new Error('left')
    controller.abort(reason)
    await expect(left).rejects.toBe(reason)
    await expect(it.wait(1, { signal: controller.signal })).rejects.toBe(reason)
    expect([time.timers, it.waiting, it.left]).toEqual([0, 0, 0])
    const next = it.wait()
    await time.advanceAsync(100)
    await next
  })

  test('a signal that outlives the wait has no listener of ours', async () => {
    const { time, it } = world({ rate: 10, burst: 1 })
    it.allow()
    let listeners = 0
    const { signal } = new AbortController()
    const { addEventListener, removeEventListener } = signal
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => (
      listeners++, addEventListener.apply(signal, args)
    )
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => (
      listeners--, removeEventListener.apply(signal, args)
    )
    const waits = it.wait(1, { signal })
    expect(listeners).toBe(1)
    await time.advanceAsync(100)
    await waits
    expect(listeners).toBe(0)
  })

  test('closing ends every wait', async () => {
    const { time, it } = world({ rate: 1 })
    it.allow()
    const waits = [fault(it.wait()), fault(it.wait())]
    it.close()
    expect((await Promise.all(waits)).map(({ code }) => code)).toEqual(['closed', 'closed'])
    expect(time.timers).toBe(0)
  })
})

describe('C07 C09 options and edges', () => {
  test('C09 (c) cost 6 with burst 5: never, by each of the verbs', async () => {
    const { it } = world({ rate: 5, burst: 5 })
    expect(it.allow(6)).toBe(false)
    expect(it.reserve(6)).toMatchObject({ never: true })
    expect((await fault(it.wait(6))).rejection.never).toBe(true)
  })

  test.each([Number.POSITIVE_INFINITY, Number.NaN, -1, '60'])('C07 a wait of %s is refused by name', (atMost) => {
    expect(() => limiter({ rate: 1, atMost: atMost as number })).toThrow('limiter.atMost: expected a span')
    expect(() => limiter({ rate: 1 }).reserve(1, { atMost: atMost as number })).toThrow('atMost: expected a span')
  })

  test('C07 a promise of 30 days', () => {
    const { time, it } = world({ rate: 1, per: '30d' })
    it.allow()
    const { delayMs } = promised(it, 1, 2_592_000_000)
    expect(delayMs).toBe(2_592_000_000)
    time.advance('29d')
    expect(it.allow()).toBe(false)
  })

  test.each([
    [{ rate: -1 }, 'limiter.rate'],
    [{ rate: 1, charge: 'time' }, 'limiter.charge: expected no such field'],
    [{ rate: 1, burst: 3, algorithm: 'slidingLog' }, 'no burst with'],
    [{ rate: 1, speed: 3 }, 'limiter.speed'],
  ])('%j is refused', (options, message) => expect(() => limiter(options as never)).toThrow(message))
})
