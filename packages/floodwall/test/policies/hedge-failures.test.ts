import { answered, bulkhead, failed, isTimeout, pipeline, retry, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { layerOf } from '../core/fate.ts'
import { ample, error, fails, fixed, run } from './hedge-scene.ts'

// What the caller gets of several failures.

describe('when no attempt succeeds', () => {
  test.each<[string, 'failure' | 'timeout' | 'overload' | 'ignored', 'failure' | 'timeout' | 'overload', string]>([
    ['two failures', 'failure', 'failure', 'failure'],
    ['two timeouts', 'timeout', 'timeout', 'timeout'],
    ['overload and a timeout', 'overload', 'timeout', 'timeout'],
    ['overload and a failure', 'overload', 'failure', 'failure'],
  ])('%s: the worse verdict, both errors, and no retry further out', (_, a, b, verdict) => {
    const [one, two] = [new Error('one'), new Error('two')]
    const seen = run(
      [
        [100, failed(one, a)],
        [100, failed(two, b)],
      ],
      [fixed()],
    )
    const { errors } = seen.outcome.error as AggregateError
    expect([seen.outcome.verdict, seen.outcome.noRetry, errors[0] === one, errors[1] === two]).toEqual([
      verdict,
      true,
      true,
      true,
    ])
  })

  test('one error, of the only one that was sent, comes by identity', () => {
    const seen = run([fails(10)], [fixed({ budget: { ratio: 0.1, minimum: 0 } })])
    expect([seen.outcome.error === error, seen.outcome.noRetry]).toEqual([true, true])
    expect(run([fails(10)], [fixed({ budget: { ratio: 0 } })]).outcome.noRetry).toBe(false)
  })

  test('and of one whose second was refused', () => {
    const seen = run([fails(100)], [fixed(), bulkhead({ slots: 1 })])
    expect([seen.sent, seen.outcome.error === error, seen.outcome.noRetry]).toEqual([[0], true, true])
    expect(layerOf(seen.p, 'hedge')).toMatchObject({ hedges: 0, budget: { spent: 0 } })
  })

  test('an answer that was found wanting is handed up rather than an error', () => {
    const wanting = answered('503', 'failure')
    const seen = run(
      [
        [100, wanting],
        [100, failed(error)],
      ],
      [fixed()],
    )
    expect(seen.outcome).toMatchObject({ ok: true, value: '503', verdict: 'failure', noRetry: true })
  })

  test('what did not run did not run', () => {
    const refused = failed(error, 'failure', false)
    const both = run(
      [
        [10, refused],
        [10, refused],
      ],
      [fixed()],
    )
    expect(both.outcome).toMatchObject({ ran: false, noRetry: true })
  })

  test('a message that cannot be read leaves the errors as they are', () => {
    const odd = Object.defineProperty({}, 'message', {
      get() {
        throw error
      },
    }) as unknown
    const seen = run(
      [
        [10, failed(odd)],
        [10, failed('words')],
      ],
      [fixed()],
    )
    const { errors, message } = seen.outcome.error as AggregateError
    expect([errors[0] === odd, errors[1], message]).toEqual([
      true,
      'words',
      'p/hedge: 2 attempts have failed: unknown; words',
    ])
  })

  test('of two timeouts it is one, for whoever asks; of others it has the code of the first', () => {
    const late = run([], [fixed(), timeout({ after: 60 })]).outcome.error
    expect([isTimeout(late), (late as { code?: string }).code]).toEqual([true, 'timeout'])
    const coded = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    const both = (first: unknown) =>
      run(
        [
          [10, failed(first)],
          [10, failed(error)],
        ],
        [fixed()],
      ).outcome.error as { code?: unknown }
    expect([both(coded).code, both(error).code, isTimeout(both(coded))]).toEqual(['ECONNREFUSED', undefined, false])
  })

  test('thrown into another pipeline it says itself that there is no use in more', async () => {
    const world = new VirtualRuntime()
    const inner = pipeline('inner', [fixed()], { runtime: world })
    const outer = pipeline('outer', [retry({ budget: ample })], { runtime: world })
    let tries = 0
    const work = () => inner.call(() => Promise.reject(new Error(`${tries++}`)), { idempotent: true })
    const outcome = outer.outcome(work, { idempotent: true })
    await world.advanceAsync('1m')
    expect([(await outcome).noRetry, tries]).toEqual([true, 2])
  })
})
