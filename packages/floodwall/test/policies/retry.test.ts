import {
  answered,
  breaker,
  bulkhead,
  type Call,
  deadline,
  failed,
  type Outcome,
  pipeline,
  type RetryOptions,
  rateLimit,
  retry,
  timeout,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, fateOf, hangs, layerOf, leftIn, NOTHING } from '../core/fate.ts'

// Again, if it is worth it: it may run twice (or nothing ran), nobody forbade it, the wait fits, the budget has some left.

/** Tries with outcomes of its own, in order; the last one again and again. */
function tries(outcomes: readonly Outcome<unknown>[], options: RetryOptions = {}, init: object = { idempotent: true }) {
  const world = new VirtualRuntime()
  const p = pipeline('p', [retry({ backoff: { first: 100, atMost: 100 }, ...options })], { runtime: world })
  const at: number[] = []
  let got: Outcome<unknown> | undefined
  p.start(
    (_, done) => {
      at.push(world.now())
      done(outcomes[Math.min(at.length, outcomes.length) - 1] as Outcome<unknown>)
    },
    (outcome) => (got = outcome),
    init,
  )
  world.run()
  expect(leftIn(world, p)).toEqual(NOTHING)
  return { count: at.length, at, got: got as unknown as Outcome<unknown>, p }
}

const error = new Error('x')
const fail = failed(error)

describe('is tried again', () => {
  test.each<[string, Outcome<unknown>]>([
    ['a failure', fail],
    ['a timeout', failed(error, 'timeout')],
    ['overload', failed(error, 'overload')],
    ['an answer found wanting', answered(503, 'failure')],
  ])('%s, up to the number of tries, and the last one is handed up', (_, outcome) => {
    const { count, got } = tries([outcome])
    expect([count, got, got.error]).toEqual([3, { ...outcome, noRetry: true }, outcome.error])
  })

  test('until it succeeds', () => {
    const { count, got } = tries([fail, fail, answered('third')])
    expect([count, got.value]).toEqual([3, 'third'])
  })

  test('what did not run, also when it may not run twice', () => {
    const refused = failed(error, 'failure', false)
    expect(tries([refused], {}, {}).count).toBe(3)
    expect(tries([refused, refused, answered(1)], {}, {}).got.value).toBe(1)
    // The second try ran: there it ends.
    expect(tries([refused, fail, answered(1)], {}, {}).count).toBe(2)
  })

  test('after a timeout of the attempt, with the slot of the first still taken', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [retry({ backoff: { first: 10, atMost: 10 } }), timeout({ after: 100 })], {
      runtime: world,
    })
    let count = 0
    const fate = fateOf(
      p.call(() => (++count < 3 ? hangs() : 'third'), { idempotent: true }),
      world,
    )
    await world.advanceAsync(199)
    expect(count).toBe(2)
    await world.advanceAsync(21)
    expect([fate.value, count, layerOf(p, 'timeout')['timeouts']]).toEqual(['third', 3, 2])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })
})

describe('is not tried again', () => {
  test.each<[string, Outcome<unknown>, object]>([
    ['a success', answered(1), { idempotent: true }],
    ['what is no evidence: a bad request, a caller who left', failed(error, 'ignored'), { idempotent: true }],
    ['what may have run, when twice does harm', fail, {}],
    ['what the target forbids', failed(error, 'failure', true, 0, true), { idempotent: true }],
    ['what the target forbids although nothing ran', failed(error, 'failure', false, 0, true), {}],
    ['what would have to wait too long', failed(error, 'overload', true, 60_001), { idempotent: true }],
  ])('%s', (_, outcome, init) => {
    const { count, got } = tries([outcome], {}, init)
    expect([count, got]).toEqual([1, outcome])
  })

  test('a refusal further in', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [retry(), bulkhead({ slots: 0 })], { runtime: world })
    expect(await p.outcome(() => 1, { idempotent: true })).toMatchObject({ rejection: { reason: 'full' } })
    expect([layerOf(p, 'retry'), world.timers]).toMatchObject([{ retries: 0, waiting: 0, budget: { spent: 0 } }, 0])
  })

  test('attempts 1 is no retry at all', () => {
    expect(tries([fail], { attempts: 1 }).count).toBe(1)
  })
})

test('a refusal of the second try hands up what the target said, not the refusal', async () => {
  const world = new VirtualRuntime()
  const p = pipeline('p', [retry(), breaker({ consecutive: 1 })], { runtime: world })
  const fate = fateOf(p.call(() => Promise.reject(error), { idempotent: true }))
  await world.advanceAsync('10s')
  expect([fate.value === error, layerOf(p, 'breaker')['opened'], leftIn(world, p)]).toEqual([true, 1, NOTHING])
})

test('a refusal of the second try costs no budget and is none of the tries: nobody has seen it', async () => {
  const world = new VirtualRuntime()
  const layers = [
    retry({ backoff: { first: 10 }, budget: { minimum: 1 } }),
    rateLimit({ rate: 1, per: '1s', burst: 1 }),
  ]
  const p = pipeline('p', layers, { runtime: world })
  for (let i = 1; i <= 3; i++) {
    const fate = fateOf(p.call(() => Promise.reject(error), { idempotent: true }))
    await world.advanceAsync('2s')
    expect(fate.value === error).toBe(true)
    expect(layerOf(p, 'retry')).toMatchObject({ retries: i, overBudget: 0, budget: { spent: 0 }, tries: [i] })
  }
})

describe('the wait', () => {
  test('is full jitter below a ceiling that grows', () => {
    const waits = (attempt: number) =>
      Array.from({ length: 200 }, (_, seed) => {
        const world = new VirtualRuntime({ seed })
        const p = pipeline(
          'p',
          [retry({ attempts: 5, backoff: { first: 100, factor: 3, atMost: 500 }, budget: { minimum: 9 } })],
          { runtime: world },
        )
        const at: number[] = []
        p.start(
          (_call, done) => (at.push(world.now()), done(fail)),
          () => {},
          { idempotent: true },
        )
        world.run()
        return (at[attempt] as number) - (at[attempt - 1] as number)
      })
    for (const [attempt, ceiling] of [
      [1, 100],
      [2, 300],
      [3, 500],
      [4, 500],
    ] as const) {
      const all = waits(attempt)
      expect(Math.max(...all)).toBeLessThan(ceiling)
      expect(Math.max(...all)).toBeGreaterThan(ceiling * 0.9)
      expect(Math.min(...all)).toBeLessThan(ceiling * 0.1)
    }
  })

  test('is not begun when it does not fit before the deadline: the error comes at once', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [deadline({ within: 1000 }), retry({ backoff: { first: '60s', atMost: '60s' } })], {
      runtime: world,
    })
    const fate = fateOf(
      p.call(() => Promise.reject(error), { idempotent: true }),
      world,
    )
    await world.settle()
    expect([fate.value === error, fate.at, leftIn(world, p)]).toEqual([true, 0, NOTHING])
  })

  test('ends at once by abort and by close, and gives its grant back', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [retry({ backoff: { first: '10s', atMost: '10s' } })], { runtime: world })
    const aborter = new AbortController()
    const fate = fateOf(p.call(() => Promise.reject(error), { idempotent: true, signal: aborter.signal }))
    await world.settle()
    expect(layerOf(p, 'retry')).toMatchObject({ waiting: 1, budget: { spent: 1 } })
    aborter.abort('left')
    await world.settle()
    expect([fate.value, layerOf(p, 'retry')]).toMatchObject(['left', { waiting: 0, retries: 0, budget: { spent: 0 } }])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })
})

describe('retries within retries', () => {
  const nested = (world: VirtualRuntime, attempts: number) =>
    pipeline(
      'p',
      [
        retry({ attempts: 2, backoff: { first: 100, atMost: 100 } }),
        retry({ attempts, backoff: { first: 1, atMost: 1 } }),
      ],
      { runtime: world },
    )

  test('do not multiply: only the one directly above the failure tries again', async () => {
    const world = new VirtualRuntime()
    const p = nested(world, 2)
    const attempts: number[] = []
    const fate = fateOf(
      p.call(
        (call: Call) => {
          attempts.push(call.attempt)
          throw error
        },
        { idempotent: true },
      ),
    )
    await world.advanceAsync(1000)
    expect([attempts, fate.value === error, leftIn(world, p)]).toEqual([[0, 1], true, NOTHING])
  })

  test('an abort ends the wait of the outer one', async () => {
    const world = new VirtualRuntime()
    const p = nested(world, 1)
    const aborter = new AbortController()
    let count = 0
    const fate = fateOf(
      p.call(
        () => {
          count++
          throw error
        },
        { idempotent: true, signal: aborter.signal },
      ),
      world,
    )
    await world.advanceAsync(3)
    expect([count, leftIn(world, p).waiting]).toEqual([1, 1])
    aborter.abort('left')
    await world.advanceAsync(1000)
    expect([fate.value, fate.at, count, leftIn(world, p)]).toEqual(['left', 3, 1, NOTHING])
  })

  test('a timeout outside both ends both', async () => {
    const world = new VirtualRuntime()
    const layers = [
      timeout({ after: 50 }),
      retry({ backoff: { first: 200, atMost: 200 } }),
      retry({ attempts: 1, backoff: { first: 1, atMost: 1 } }),
    ]
    for (const work of [() => Promise.reject(error), hangs]) {
      const p = pipeline('p', layers, { runtime: world })
      const began = world.now()
      const fate = fateOf(p.call(work, { idempotent: true }), world)
      await world.advanceAsync(1000)
      expect([codeOf(fate), fate.at - began, leftIn(world, p).waiting, world.timers]).toEqual(['timeout', 50, 0, 0])
    }
  })
})

test('a reload of other settings keeps what is spent and who waits', async () => {
  const world = new VirtualRuntime()
  const first = { backoff: { first: '10s', atMost: '10s' } } as const
  const p = pipeline('p', [retry(first)], { runtime: world })
  let count = 0
  const fate = fateOf(p.call(() => (++count === 1 ? Promise.reject(error) : 'second'), { idempotent: true }))
  await world.settle()
  p.reload([retry({ ...first, attempts: 5 })])
  expect(layerOf(p, 'retry')).toMatchObject({ waiting: 1, budget: { spent: 1 } })
  await world.advanceAsync('10s')
  expect([fate.value, leftIn(world, p)]).toEqual(['second', NOTHING])
  p.reload([retry({ ...first, attempts: 5, budget: { ratio: 0 } })])
  expect(layerOf(p, 'retry')).toMatchObject({ budget: { spent: 0, allowed: 0 } })
})
