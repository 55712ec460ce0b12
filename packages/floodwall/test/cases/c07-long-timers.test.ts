import {
  breaker,
  bulkhead,
  type Duration,
  deadline,
  pipeline,
  queue,
  rateLimit,
  retry,
  systemRuntime,
  timeout,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codeOf, fateOf, hangs, layerOf, leftIn, NOTHING } from '../core/fate.ts'

// setTimeout takes at most 2,147,483,647 ms; a longer delay becomes 1 ms, so that a 30-day limit vanished at once.
// (node-rate-limiter-flexible #71, #231, express-rate-limit #546, #550)

const warnings: Error[] = []
const note = (warning: Error) => void warnings.push(warning)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

beforeAll(() => void process.on('warning', note))
afterAll(async () => {
  await pause(5)
  process.off('warning', note)
  expect(warnings).toEqual([])
})

const DAYS_30 = 2_592_000_000

describe('C07 a real timer', () => {
  test.each([
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32,
    DAYS_30,
    1e12,
    31_536_000_000_000,
    Number.MAX_SAFE_INTEGER,
    Number.POSITIVE_INFINITY,
  ])('of %d ms does not fire at once, and can be cancelled', async (ms) => {
    let fired = 0
    const cancels = [systemRuntime.after(ms, () => fired++), systemRuntime.after(ms, () => fired++, true)]
    await pause(15)
    expect(fired).toBe(0)
    // In one turn: the test runner has timers of its own, which come and go.
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const before = timers()
    for (const cancel of cancels) {
      cancel()
      cancel()
    }
    // The one in the background does not count: it keeps nothing alive.
    expect(timers()).toBe(before - 1)
  })

  test.each([0, -1, -DAYS_30, Number.NaN, 0.2])(
    'of %d ms fires once, soon, and not before the caller goes on',
    async (ms) => {
      let fired = 0
      systemRuntime.after(ms, () => fired++)
      expect(fired).toBe(0)
      await pause(15)
      expect(fired).toBe(1)
    },
  )

  test('of layers and calls: none of a month or a thousand years rings early', async () => {
    const layers = [
      deadline({ within: '365000d' }),
      retry({ backoff: { first: '300d', atMost: '300d' } }),
      queue({ atMost: '30d' }),
      breaker({ consecutive: 1, openFor: '30d', openAtMost: '30d' }),
      bulkhead({ slots: 1 }),
      timeout({ after: '30d' }),
    ]
    const p = pipeline('p', layers)
    const fate = fateOf(p.call((call) => (call.hold(DAYS_30), hangs()), { within: DAYS_30 * 12 }))
    const waiting = fateOf(p.call(() => 1, { within: 2 ** 31 }))
    await pause(15)
    expect([fate.state, waiting.state, leftIn(undefined, p)]).toEqual([
      'pending',
      'pending',
      { ...NOTHING, running: 2, used: 1, waiting: 1 },
    ])
    p.close()
    await pause(0)
    expect(codeOf(waiting)).toBe('closed')
  })
})

describe('C07 limits of 30 days', () => {
  test('the 6th and 7th take are refused; the time to wait is of days', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [rateLimit({ rate: 5, per: '30d' })], { runtime: world })
    const takes = await Promise.all(Array.from({ length: 6 }, () => p.outcome(() => 1)))
    world.advance(50)
    const seventh = await p.outcome(() => 1)
    expect([...takes.map((o) => o.ok), seventh.ok]).toEqual([true, true, true, true, true, false, false])
    expect(seventh.rejection?.retryAfterMs).toBeCloseTo(DAYS_30 / 5 - 50, 0)
  })

  test('an open breaker of a thousand years holds, and needs no timer', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [breaker({ consecutive: 1, openFor: '365000d', openAtMost: '365000d', jitter: 0 })], {
      runtime: world,
    })
    await p.outcome(() => Promise.reject(new Error('down')))
    world.advance('364999d')
    expect([layerOf(p, 'breaker')['state'], world.timers]).toEqual(['open', 0])
    world.advance('1d')
    expect(await p.call(() => 1)).toBe(1)
  })
})

describe('C07 windows that are none are refused at construction, with the field’s name', () => {
  const makes: [string, (span: Duration) => unknown][] = [
    ['rateLimit.per', (per) => rateLimit({ rate: 1, per })],
    ['breaker.over', (over) => breaker({ over })],
    ['breaker.openFor', (openFor) => breaker({ openFor })],
    ['timeout.after', (after) => timeout({ after })],
    ['deadline.within', (within) => deadline({ within })],
    ['queue.atMost', (atMost) => queue({ atMost })],
    ['retry.budget.over', (over) => retry({ budget: { over } })],
  ]

  test.each(makes)('%s', (field, make) => {
    for (const span of [Number.POSITIVE_INFINITY, Number.NaN, 0, -1, '60', 1e16])
      expect(() => make(span as Duration), String(span)).toThrow(`[config] ${field}: expected a span`)
  })
})
