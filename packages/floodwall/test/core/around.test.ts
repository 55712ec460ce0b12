import {
  type AsyncPolicy,
  answered,
  around,
  breaker,
  bulkhead,
  type Call,
  failed,
  type Outcome,
  pipeline,
  queue,
  retry,
  timeout,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, type Fate, fateOf, hangs, layerOf, leftIn, NOTHING, takes } from './fate.ts'

// A policy in async style, by somebody who may do anything.

function around_(author: AsyncPolicy, ...inner: Parameters<typeof pipeline>[1][number][]) {
  const world = new VirtualRuntime()
  return { world, p: pipeline('p', [around(author, 'mine'), ...inner], { runtime: world }) }
}

const sleeps = (world: VirtualRuntime, ms: number) => new Promise<void>((resolve) => void world.after(ms, resolve))

test('sees the outcome and may replace it', async () => {
  const { p } = around_(
    async (call, next) => {
      const outcome = await next(call)
      return outcome.ok ? answered(`<${String(outcome.value)}>`) : outcome
    },
    bulkhead({ slots: 1 }),
  )
  expect(await p.call(() => 'a')).toBe('<a>')
  const error = new Error('x')
  await expect(p.call(() => Promise.reject(error))).rejects.toBe(error)
  expect(layerOf(p, 'mine')).toEqual({ kind: 'mine', path: 'p/mine' })
})

test('a refusal further in is an outcome for him, not a throw', async () => {
  const reasons: unknown[] = []
  const { p } = around_(
    async (call, next) => {
      const outcome = await next(call)
      reasons.push(outcome.rejection?.reason, outcome.ran)
      return outcome
    },
    bulkhead({ slots: 0 }),
  )
  await expect(p.call(() => 1)).rejects.toMatchObject({ code: 'full', path: 'p/bulkhead' })
  expect(reasons).toEqual(['full', false])
})

describe('an author who', () => {
  const error = new Error('author')
  const authors: [string, AsyncPolicy, (fate: Fate) => unknown, unknown][] = [
    [
      'throws at once',
      () => {
        throw error
      },
      (f) => f.value,
      error,
    ],
    [
      'rejects',
      async () => {
        throw error
      },
      (f) => f.value,
      error,
    ],
    [
      'throws after the answer',
      async (call, next) => {
        await next(call)
        throw error
      },
      (f) => f.value,
      error,
    ],
    ['forgets next', async () => answered('own'), (f) => f.value, 'own'],
    [
      'forgets return',
      (async (call: Call, next: (c: Call) => Promise<unknown>) => {
        await next(call)
      }) as never,
      (f) => (f.value as Error).message,
      'p/mine: expected the policy to answer with an outcome, got undefined',
    ],
    [
      'returns the value instead',
      (async (call: Call, next: (c: Call) => Promise<Outcome<unknown>>) => (await next(call)).value) as never,
      (f) => (f.value as Error).message,
      'p/mine: expected the policy to answer with an outcome, got "work"',
    ],
    ['returns no promise', (() => answered('sync')) as never, (f) => f.value, 'sync'],
    [
      'calls next twice with call.again()',
      async (call, next) => {
        await next(call)
        return next(call.again())
      },
      (f) => f.value,
      'work',
    ],
    [
      'calls next twice with the same call',
      async (call, next) => {
        await next(call)
        return next(call)
      },
      (f) => f.value,
      'work',
    ],
    [
      'calls next after his answer',
      async (call, next) => {
        setImmediate(() => void next(call))
        return answered('early')
      },
      (f) => f.value,
      'early',
    ],
  ]

  test.each(authors)('%s: the caller is answered once and nothing is left', async (_, author, look, expected) => {
    const { world, p } = around_(author, bulkhead({ slots: 1 }), timeout({ after: 100 }))
    for (let i = 0; i < 3; i++) {
      const fate = fateOf(p.call(() => 'work'))
      await world.settle()
      expect(look(fate)).toEqual(expected)
    }
    expect(leftIn(world, p)).toEqual(NOTHING)
    expect(await p.call(async () => 'work').catch(() => 'free')).toBeDefined()
  })

  test('never answers: an abort frees the caller', async () => {
    const { world, p } = around_(() => new Promise(() => {}), bulkhead({ slots: 1 }))
    const aborter = new AbortController()
    const fate = fateOf(p.call(() => 1, { signal: aborter.signal }))
    await world.settle()
    aborter.abort('left')
    await world.settle()
    expect([fate.value, leftIn(world, p)]).toEqual(['left', NOTHING])
  })

  test('never answers after the work: a deadline frees the caller', async () => {
    const { world, p } = around_(
      async (call, next) => {
        await next(call)
        return new Promise(() => {})
      },
      bulkhead({ slots: 1 }),
    )
    const fate = fateOf(
      p.call(() => 1, { within: 100 }),
      world,
    )
    await world.advanceAsync(100)
    expect([codeOf(fate), fate.at, leftIn(world, p)]).toEqual(['deadline', 100, NOTHING])
  })

  test('never answers after attempts of his own: a deadline frees the caller', async () => {
    const { world, p } = around_(async (call, next) => {
      await next(call)
      await next(call.again())
      return new Promise(() => {})
    })
    const fate = fateOf(p.call(() => 1, { within: 100 }))
    await world.advanceAsync(100)
    expect([codeOf(fate), leftIn(world, p)]).toEqual(['deadline', NOTHING])
  })
})

test('his own retry after a timeout further in works, and can be aborted while he sleeps', async () => {
  const attempts: number[] = []
  const { world, p } = around_(
    async (call, next) => {
      let outcome = await next(call)
      for (let at = call; !outcome.ok && at.attempt < 5; ) {
        await sleeps(world, 50)
        at = call.again()
        outcome = await next(at)
      }
      return outcome
    },
    timeout({ after: 100 }),
  )
  const work = (call: Call) => {
    attempts.push(call.attempt)
    return call.attempt < 2 ? hangs() : 'third'
  }
  const fate = fateOf(p.call(work), world)
  await world.advanceAsync(299)
  expect([fate.state, attempts]).toEqual(['pending', [0, 1]])
  await world.advanceAsync(1)
  expect([fate.value, attempts]).toEqual(['third', [0, 1, 2]])

  const aborter = new AbortController()
  const left = fateOf(p.call(hangs, { signal: aborter.signal }), world)
  await world.advanceAsync(120)
  aborter.abort('left')
  await world.settle()
  expect([left.value, left.at]).toEqual(['left', 420])
})

test('work of a first attempt that ends late does not answer for the second', async () => {
  const { world, p } = around_(
    async (call, next) => {
      await next(call)
      await sleeps(world, 500)
      return next(call.again())
    },
    bulkhead({ slots: 2 }),
    timeout({ after: 100 }),
  )
  let tries = 0
  const fate = fateOf(
    p.call(() => (++tries === 1 ? takes(world, 300, 'late')() : 'second')),
    world,
  )
  await world.advanceAsync(599)
  expect(fate.state).toBe('pending')
  await world.advanceAsync(1)
  expect([fate.value, leftIn(world, p)]).toEqual(['second', NOTHING])
})

test('who answers before the work has ended cancels it: permits further in are settled', async () => {
  const { world, p } = around_(
    (call, next) => Promise.race([next(call), sleeps(world, 10).then(() => failed('mine', 'timeout'))]),
    breaker({ consecutive: 1 }),
    bulkhead({ slots: 1 }),
    timeout({ after: 1000 }),
  )
  let signal: AbortSignal | undefined
  const fate = fateOf(
    p.call((call) => {
      signal = call.signal
      return takes(world, 100, 'late')()
    }),
  )
  await world.advanceAsync(10)
  expect([fate.value, (signal as unknown as AbortSignal).reason.name, layerOf(p, 'bulkhead')['used']]).toEqual([
    'mine',
    'AbortError',
    1,
  ])
  // A choice of the author's is no evidence against the target.
  expect(layerOf(p, 'breaker')['state']).toBe('closed')
  await world.advanceAsync(90)
  expect(leftIn(world, p)).toEqual(NOTHING)
})

describe('two attempts at once (a hedge by hand)', () => {
  const hedge: AsyncPolicy = (call, next) => Promise.race([next(call), next(call.again())])

  test('the first to answer wins, the other is cancelled and gives its slot back', async () => {
    const { world, p } = around_(hedge, bulkhead({ slots: 2 }), timeout({ after: 1000 }))
    const signals: AbortSignal[] = []
    const fate = fateOf(
      p.call((call) => {
        signals.push(call.signal)
        return takes(world, call.attempt === 0 ? 200 : 50, call.attempt)()
      }),
    )
    await world.advanceAsync(50)
    expect([fate.value, layerOf(p, 'bulkhead')['used']]).toEqual([1, 1])
    expect(signals[0]?.aborted).toBe(true)
    await world.advanceAsync(150)
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('an abort ends both', async () => {
    const { world, p } = around_(
      async (call, next) => (await Promise.all([next(call), next(call.again())]))[0],
      bulkhead({ slots: 2 }),
    )
    const aborter = new AbortController()
    const signals: AbortSignal[] = []
    const fate = fateOf(
      p.call(
        (call) => {
          signals.push(call.signal)
          return takes(world, 50, 1)()
        },
        { signal: aborter.signal },
      ),
    )
    await world.settle()
    aborter.abort('left')
    await world.settle()
    expect([fate.value, signals.map((s) => s.reason)]).toEqual(['left', ['left', 'left']])
    await world.advanceAsync(50)
    expect(leftIn(world, p)).toEqual(NOTHING)
  })
})

test('a waiting room outside hears a refusal that took its time', async () => {
  const world = new VirtualRuntime()
  const slow: AsyncPolicy = async (call, next) => {
    await Promise.resolve()
    return next(call)
  }
  const p = pipeline('p', [queue({ atMost: '10s' }), around(slow), bulkhead({ slots: 1 })], { runtime: world })
  const fates = Array.from({ length: 5 }, (_, i) => fateOf(p.call(takes(world, 10, i)), world))
  await world.advanceAsync(50)
  expect(fates.map((f) => [f.value, f.at])).toEqual([
    [0, 10],
    [1, 20],
    [2, 30],
    [3, 40],
    [4, 50],
  ])
  expect([layerOf(p, 'queue')['admitted'], leftIn(world, p)]).toEqual([4, NOTHING])
})

test('a retry outside goes on after an author who answered early', async () => {
  const world = new VirtualRuntime()
  const impatient: AsyncPolicy = (call, next) =>
    Promise.race([next(call), sleeps(world, 10).then(() => failed('mine', 'timeout'))])
  const p = pipeline('p', [retry({ attempts: 3, backoff: { first: 1 } }), around(impatient), bulkhead({ slots: 3 })], {
    runtime: world,
  })
  let tries = 0
  const fate = fateOf(p.call(() => (++tries < 3 ? takes(world, 1000, 'late')() : 'third'), { idempotent: true }))
  await world.advanceAsync(100)
  expect([fate.value, tries]).toEqual(['third', 3])
  await world.advanceAsync(1000)
  expect(leftIn(world, p)).toEqual(NOTHING)
})
