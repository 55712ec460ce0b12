import { answered, deadline, failed, type Outcome, pipeline, retry } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { fateOf, leftIn, NOTHING } from '../core/fate.ts'

// Dates were read as numbers and gave NaN, and a NaN delay is "now". (undici #4084, pi #9571, mastra #23778, denoland/std #7299)
// Here: what a retry makes of a wish in milliseconds. How a header becomes one is tested where headers are read.

/** When the second try came, after a first that wished `retryAfterMs`; undefined: it never came. */
function secondTry(wish: unknown, options: Parameters<typeof retry>[0] = {}, seed = 1): number | undefined {
  const world = new VirtualRuntime({ seed })
  const p = pipeline('p', [retry({ backoff: { first: 50, atMost: 50 }, ...options })], { runtime: world })
  let second: number | undefined
  let tries = 0
  p.start(
    (_, done) => {
      if (++tries === 1) return done(failed(new Error('x'), 'overload', true, wish as number))
      second = world.now()
      done(answered(1))
    },
    () => {},
    { idempotent: true },
  )
  world.run()
  expect(leftIn(world, p)).toEqual(NOTHING)
  return second
}

describe('C20 a wish of the target', () => {
  test('is waited for, with jitter on top: who was told the same does not come back together', () => {
    const all = Array.from({ length: 100 }, (_, seed) => secondTry(5000, {}, seed) as number)
    expect(Math.min(...all)).toBeGreaterThanOrEqual(5000)
    expect(Math.max(...all)).toBeLessThan(5050)
    expect(new Set(all).size).toBeGreaterThan(90)
  })

  test('of 0 is no wish: the normal backoff', () => {
    const all = Array.from({ length: 100 }, (_, seed) => secondTry(0, {}, seed) as number)
    expect(Math.max(...all)).toBeLessThan(50)
    expect(new Set(all).size).toBeGreaterThan(90)
  })

  test('over the longest pause is not waited for at all', () => {
    expect([secondTry(60_000) === undefined, secondTry(60_001), secondTry(31_536_000_000)]).toEqual([
      false,
      undefined,
      undefined,
    ])
    expect(secondTry(5001, { pauseAtMost: '5s' })).toBeUndefined()
  })

  test('over the remaining deadline hands the error up at once, with the hint', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [deadline({ within: '5s' }), retry()], { runtime: world })
    const error = Object.assign(new Error('busy'), { retryAfterMs: 5001 })
    const fate = fateOf(
      p.call(() => Promise.reject(error), { idempotent: true }),
      world,
    )
    await world.settle()
    expect([fate.value === error, fate.at, leftIn(world, p)]).toEqual([true, 0, NOTHING])
    const outcome = await p.outcome(() => Promise.reject(error))
    expect(outcome.retryAfterMs).toBe(5001)
  })
})

describe('C20 a wish on the error or on the answer', () => {
  const wish = async (value: object, ok: boolean): Promise<Outcome<unknown>> =>
    pipeline('p', [], { runtime: new VirtualRuntime(), classify: () => 'overload' }).outcome(() =>
      ok ? value : Promise.reject(value),
    )

  test.each([
    [5000, 5000],
    [0.5, 0.5],
    [0, 0],
    [-3, 0],
    [Number.NaN, 0],
    [Number.POSITIVE_INFINITY, 0],
    ['120', 0],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
    [null, 0],
    [undefined, 0],
    [new Date(0), 0],
    [5n, 0],
  ])('of %s is one of %d ms', async (retryAfterMs, ms) => {
    for (const ok of [true, false]) expect((await wish({ retryAfterMs }, ok)).retryAfterMs).toBe(ms)
  })

  test.each([
    [true, true],
    [false, false],
    ['true', false],
    [1, false],
    [undefined, false],
  ])('noRetry of %s is %s', async (noRetry, is) => {
    for (const ok of [true, false]) expect((await wish({ noRetry }, ok)).noRetry).toBe(is)
  })

  test('of a success is none', async () => {
    const p = pipeline('p', [], { runtime: new VirtualRuntime() })
    expect(await p.outcome(() => ({ retryAfterMs: 5000, noRetry: true }))).toMatchObject({
      retryAfterMs: 0,
      noRetry: false,
    })
  })
})
