import fc from 'fast-check'
import {
  answered,
  breaker,
  bulkhead,
  type Call,
  deadline,
  failed,
  type Layer,
  type Outcome,
  type Pipeline,
  pipeline,
  type RetryOptions,
  retry,
  timeout,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { operationOf } from '../../src/core/attempts.ts'
import { fateOf, hangs, layerOf, leftIn, NOTHING } from '../core/fate.ts'

// Retries that are used up say so upwards, and nobody further out adds tries of his own.

const error = new Error('down')
const soon = { first: 1, atMost: 1 } as const

/** What a pipeline makes of work that always ends with `end`. */
function run(layers: readonly Layer[], end: Outcome<unknown>, init: object = { idempotent: true }) {
  const world = new VirtualRuntime()
  const p = pipeline('p', layers, { runtime: world })
  const seen = { tries: 0, outcome: undefined as Outcome<unknown> | undefined }
  p.start(
    (_, done) => (seen.tries++, done(end)),
    (outcome) => (seen.outcome = outcome),
    init,
  )
  world.run()
  expect(leftIn(world, p)).toEqual(NOTHING)
  return { tries: seen.tries, outcome: seen.outcome as Outcome<unknown>, p, world }
}

describe('the outcome says "not again"', () => {
  test.each<[string, RetryOptions, number]>([
    ['when the tries are used up', { attempts: 2, backoff: soon }, 2],
    ['when the budget is', { budget: { ratio: 0.1, minimum: 0 } }, 1],
    ['when a second try was not worth its wait', { attempts: 3, wait: (n) => (n === 1 ? 1 : -1) }, 2],
  ])('%s; the error is the target’s own', (_, options, tries) => {
    for (const verdict of ['failure', 'timeout', 'overload'] as const) {
      const end = failed(error, verdict)
      const { outcome, ...seen } = run([retry(options)], end)
      expect([seen.tries, outcome.error === error, { ...outcome }]).toEqual([tries, true, { ...end, noRetry: true }])
    }
    const answer = answered({ status: 503 }, 'failure')
    const { outcome } = run([retry(options)], answer)
    expect([outcome.value === answer.value, outcome.noRetry]).toEqual([true, true])
  })

  test('when what came last did not run: exhausted is exhausted', () => {
    const { outcome } = run([retry({ attempts: 2, backoff: soon })], failed(error, 'failure', false), {})
    expect(outcome).toMatchObject({ ran: false, noRetry: true })
  })

  test('when the second try was refused further in', () => {
    const { outcome, tries } = run([retry({ backoff: soon }), breaker({ consecutive: 1 })], failed(error))
    expect([tries, outcome.error === error, outcome.noRetry]).toEqual([1, true, true])
  })

  test('when time was over while a second try waited', () => {
    const world = new VirtualRuntime()
    const layers = [timeout({ after: 50 }), retry({ wait: () => 1000 })]
    const p = pipeline('p', layers, { runtime: world })
    let outcome: Outcome<unknown> | undefined
    p.start(
      (_, done) => done(failed(error)),
      (o) => (outcome = o),
      { idempotent: true },
    )
    world.run()
    expect(outcome).toMatchObject({ verdict: 'timeout', noRetry: true })
  })
})

describe('it does not', () => {
  test.each<[string, RetryOptions, Outcome<unknown>, object]>([
    ['of a success', {}, answered(1), { idempotent: true }],
    ['of what is nobody’s fault', {}, failed(error, 'ignored'), { idempotent: true }],
    ['where retries are left to others: one try', { attempts: 1 }, failed(error), { idempotent: true }],
    ['where retries are left to others: a ratio of 0', { budget: { ratio: 0 } }, failed(error), { idempotent: true }],
    ['of what may have run, and must not twice', {}, failed(error), {}],
    ['of what asks for too long a pause', {}, failed(error, 'overload', true, 60_001), { idempotent: true }],
    ['of a cause that is never tried again', { on: { failure: 'never' } }, failed(error), { idempotent: true }],
  ])('%s', (_, options, end, init) => {
    const { outcome, tries } = run([retry(options)], end, init)
    expect([tries, { ...outcome }]).toEqual([1, { ...end }])
  })

  test('of a wait that does not fit here: the hint goes to whoever has more time', () => {
    const end = failed(error, 'overload', true, 500)
    const inner = [deadline({ within: 100 }), retry()]
    expect(run(inner, end).outcome).toMatchObject({ noRetry: false, retryAfterMs: 500 })
    expect(run([retry({ attempts: 2 }), ...inner], end).tries).toBe(2)
  })

  test('of a refusal at the first try', () => {
    const { outcome } = run([retry(), bulkhead({ slots: 0 })], answered(1))
    expect(outcome).toMatchObject({ rejection: { reason: 'full' }, noRetry: false })
  })
})

/** `depth` pipelines, each of which calls the next with its own call as the parent, or as the work's author likes. */
function chained(world: VirtualRuntime, depth: number, attempts: number, wrap: (error: unknown) => unknown) {
  const budget = { ratio: 1, minimum: 1000 }
  const pipelines: Pipeline[] = Array.from({ length: depth }, (_, i) =>
    pipeline(`p${i}`, [retry({ attempts, backoff: soon, budget })], { runtime: world }),
  )
  const seen = { tries: 0 }
  const level = (i: number, parent: Call | undefined): Promise<unknown> => {
    const work = async (call: Call) => {
      if (i + 1 < depth)
        try {
          return await level(i + 1, call)
        } catch (e) {
          throw wrap(e)
        }
      seen.tries++
      throw error
    }
    return (pipelines[i] as Pipeline).call(work, { idempotent: true, ...(parent && { parent }) })
  }
  return { pipelines, seen, start: () => level(0, undefined) }
}

describe('retries over several levels multiply nothing', () => {
  test('in one pipeline: for any depth and any numbers of tries, the innermost that tries at all tries alone', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 5 }), (numbers) => {
        const budget = { ratio: 1, minimum: 1000 }
        const layers = numbers.map((attempts) => retry({ attempts, backoff: soon, budget }))
        const { tries } = run(layers, failed(error))
        expect(tries).toBe(numbers.findLast((n) => n > 1) ?? 1)
      }),
      { seed: 6, numRuns: 300 },
    )
  })

  test.each([1, 2, 3, 4, 5])('%d pipelines, one the work of the other', async (depth) => {
    for (const wrap of [(e: unknown) => e, (cause: unknown) => new Error('wrapped', { cause })]) {
      const world = new VirtualRuntime()
      const { pipelines, seen, start } = chained(world, depth, 3, wrap)
      const fate = fateOf(start())
      await world.advanceAsync('1m')
      expect([seen.tries, fate.state, leftIn(world, ...pipelines)]).toEqual([3, 'failed', NOTHING])
      const retries = pipelines.map((p) => layerOf(p, 'retry')['retries'])
      expect(retries).toEqual(Array.from({ length: depth }, (_, i) => (i === depth - 1 ? 2 : 0)))
    }
  })

  /** Several calls side by side on behalf of one: how often the last of them was tried. */
  const siblings = async (join: (each: Promise<unknown>[]) => Promise<unknown>, errors: readonly unknown[]) => {
    const world = new VirtualRuntime()
    const budget = { ratio: 1, minimum: 1000 }
    const outer = pipeline('outer', [retry({ backoff: soon, budget })], { runtime: world })
    const inner = pipeline('inner', [retry({ attempts: 2, backoff: { first: 0 }, budget }), timeout({ after: 100 })], {
      runtime: world,
    })
    let tries = 0
    const each = (error: unknown, parent: Call) =>
      inner.call(() => (tries++, error === undefined ? hangs() : Promise.reject(error)), { idempotent: true, parent })
    const fate = fateOf(
      outer.call((call) => join(errors.map((error) => each(error, call))), { idempotent: true }),
      world,
    )
    await world.advanceAsync('1m')
    expect([fate.state, leftIn(world, outer, inner)]).toEqual(['failed', NOTHING])
    return tries
  }
  const wrapped = (all: Promise<unknown>[]): Promise<unknown> =>
    Promise.any(all).catch((cause: unknown) => Promise.reject(new Error('none', { cause })))

  test.each<[string, (all: Promise<unknown>[]) => Promise<unknown>]>([
    ['Promise.all', (all) => Promise.all(all)],
    ['Promise.any', (all) => Promise.any(all)],
    ['Promise.any, wrapped', wrapped],
    ['the first of them', (all) => (void Promise.allSettled(all), all[0] as Promise<unknown>)],
    ['the second of them', (all) => (void Promise.allSettled(all), all[1] as Promise<unknown>)],
  ])('siblings whose retries end in the same sweep: %s', async (_, join) => {
    // All time out at once; of two errors; of a word and an error.
    const ends = [
      [undefined, undefined, undefined],
      [error, new Error('other')],
      ['no', new Error('other')],
    ]
    for (const errors of ends) expect(await siblings(join, errors)).toBe(2 * errors.length)
  })

  test('an error whose getters throw, or which is its own cause, is a new failure', async () => {
    const loop = new Error('loop')
    Object.assign(loop, { cause: loop, errors: [loop, loop, loop] })
    const trap = Object.defineProperty(new Error('trap'), 'errors', {
      get: () => {
        throw error
      },
    })
    for (const own of [loop, trap]) {
      const world = new VirtualRuntime()
      const { seen, start } = chained(world, 2, 2, () => own)
      fateOf(start())
      await world.advanceAsync('1m')
      expect(seen.tries).toBe(4)
    }
  })

  test('an error of the author’s own, after the one below was given up, is a new failure', async () => {
    const world = new VirtualRuntime()
    const { seen, start } = chained(world, 2, 2, () => new Error('another matter'))
    fateOf(start())
    await world.advanceAsync('1m')
    expect(seen.tries).toBe(4)
  })

  test('the next operation that meets the same error object begins anew', async () => {
    const world = new VirtualRuntime()
    const { seen, start } = chained(world, 2, 3, (e) => e)
    for (let i = 1; i <= 3; i++) {
      fateOf(start())
      await world.advanceAsync('1m')
      expect(seen.tries).toBe(3 * i)
    }
  })

  test.each([
    [1, 2],
    [2, 2],
    [3, 3],
  ])('a body that is gone at try %d: tried again further out only if nobody has (%d tries)', async (goneAt, all) => {
    const world = new VirtualRuntime()
    const inner = pipeline('inner', [retry({ backoff: soon })], { runtime: world })
    const outer = pipeline('outer', [retry({ attempts: 2, backoff: soon })], { runtime: world })
    let tries = 0
    const work = (parent: Call) =>
      new Promise((_, reject) => {
        let own = 0
        inner.start(
          (call, done) => {
            tries++
            const gone = ++own === goneAt
            if (gone) operationOf(call).bodyGone = true
            done(failed(error, 'failure', gone, 0, gone))
          },
          (outcome) => reject(outcome.error),
          { idempotent: true, parent },
        )
      })
    const fate = fateOf(outer.call(work, { idempotent: true }))
    await world.advanceAsync('1m')
    expect([tries, fate.value === error]).toEqual([all, true])
  })

  test('a target that forbids it is obeyed at every level', async () => {
    const world = new VirtualRuntime()
    const inner = pipeline('inner', [retry({ backoff: soon })], { runtime: world })
    const outer = pipeline('outer', [retry({ backoff: soon })], { runtime: world })
    let tries = 0
    const no = (parent: Call) =>
      new Promise((resolve, reject) =>
        inner.start(
          (_, done) => (tries++, done(failed(error, 'overload', true, 0, true))),
          (o) => (o.ok ? resolve(o.value) : reject(o.error)),
          { idempotent: true, parent },
        ),
      )
    const fate = fateOf(outer.call(no, { idempotent: true }))
    await world.advanceAsync('1m')
    expect([tries, fate.value === error]).toEqual([1, true])
  })
})
