import {
  breaker,
  bulkhead,
  type Call,
  type Classify,
  pipeline,
  RejectedError,
  Semaphore,
  TimeoutError,
  type Verdict,
  verdictByDefault,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { fateOf, layerOf } from './fate.ts'

// The verdict is stamped once, by the innermost step.

const call = {} as Call

describe('by default', () => {
  const named = (name: string) => Object.assign(new Error('x'), { name })
  const full = new Semaphore({ slots: 0 }).tryAcquire()
  const table: [string, boolean, unknown, Verdict][] = [
    ['an answer', true, 1, 'success'],
    ['an answer of undefined', true, undefined, 'success'],
    ['an error as an answer', true, new Error('x'), 'success'],
    ['an error', false, new Error('x'), 'failure'],
    ['undefined thrown', false, undefined, 'failure'],
    ['a string thrown', false, 'x', 'failure'],
    ['a refusal of another pipeline', false, full.ok ? 0 : new RejectedError(full), 'ignored'],
    ['a TimeoutError of ours', false, new TimeoutError('timeout', 'p', 1), 'timeout'],
    ['a deadline of another pipeline', false, new TimeoutError('deadline', 'p', 1), 'timeout'],
    ['an AbortError of the platform', false, AbortSignal.abort().reason, 'ignored'],
    ['a TimeoutError of the platform', false, new DOMException('x', 'TimeoutError'), 'timeout'],
    ['an error that is called AbortError', false, named('AbortError'), 'ignored'],
    ['an object called TimeoutError', false, { name: 'TimeoutError' }, 'timeout'],
  ]

  test.each(table)('%s', (_, ok, value, verdict) => {
    expect(verdictByDefault(ok, value, call)).toBe(verdict)
  })

  test('a getter that throws does not become an error of ours', () => {
    const evil = {
      get name() {
        throw new Error('evil')
      },
    }
    expect(verdictByDefault(false, evil, call)).toBe('failure')
  })
})

describe('a classifier', () => {
  const byStatus: Classify = (ok, value) => {
    if (!ok) return 'failure'
    const status = value as number
    return status === 429 ? 'overload' : status >= 500 ? 'failure' : status >= 400 ? 'ignored' : 'success'
  }

  test.each<[number, Verdict]>([
    [200, 'success'],
    [404, 'ignored'],
    [429, 'overload'],
    [503, 'failure'],
  ])('of the pipeline: an answer of %i is %s, and still the answer', async (status, verdict) => {
    const p = pipeline('p', [breaker({ consecutive: 1 })], { runtime: new VirtualRuntime(), classify: byStatus })
    expect(await p.call(() => status)).toBe(status)
    expect(p.inspect()['calls']).toMatchObject({ [verdict]: 1 })
    expect(layerOf(p, 'breaker')['state']).toBe(verdict === 'failure' ? 'open' : 'closed')
  })

  test('of the call wins over that of the pipeline', async () => {
    const p = pipeline('p', [breaker({ consecutive: 1 })], { runtime: new VirtualRuntime(), classify: byStatus })
    await p.call(() => 503, { classify: () => 'success' })
    await p.call(async () => 200, { classify: () => 'overload' })
    expect(p.inspect()['calls']).toMatchObject({ success: 1, overload: 1, failure: 0 })
  })

  test('sees the answer by identity, and the call', async () => {
    const seen: unknown[] = []
    const answer = { a: 1 }
    const p = pipeline('p', [], { runtime: new VirtualRuntime() })
    await p.call(() => answer, {
      data: 'mine',
      classify: (ok, value, c) => {
        seen.push(ok, value, c.data, c.attempt)
        return 'success'
      },
    })
    expect([seen, seen[1] === answer]).toEqual([[true, answer, 'mine', 0], true])
  })

  test.each([
    ['an answer', () => 7, 'answered', 7],
    ['a promise', () => Promise.resolve(7), 'answered', 7],
    ['an error', () => Promise.reject('e'), 'failed', 'e'],
  ])('that throws loses nothing: %s comes through, as a failure', async (_, work, state, value) => {
    const world = new VirtualRuntime()
    const classify = () => {
      throw new Error('bug')
    }
    for (const layers of [[], [bulkhead({ slots: 1 })], [breaker()]]) {
      const p = pipeline('p', layers, { runtime: world, classify })
      const fate = fateOf(p.call<unknown>(work))
      await world.settle()
      expect([fate.state, fate.value]).toEqual([state, value])
      expect(p.inspect()).toMatchObject({ running: 0, calls: { failure: 1 } })
    }
  })

  test('is not asked about a refusal', async () => {
    let asked = 0
    const p = pipeline('p', [bulkhead({ slots: 0 })], {
      runtime: new VirtualRuntime(),
      classify: () => (asked++, 'success'),
    })
    await p.outcome(() => 1)
    expect(asked).toBe(0)
  })
})
