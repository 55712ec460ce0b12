import { answered, failed, type Outcome, pipeline, type RetryOptions, refused, retry, Semaphore } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { causeOf, usualActions } from '../../src/policies/retry-causes.ts'
import { page, rows, section } from '../docs/pages.ts'

// Why it failed, and what is done about it: one table.

const error = new Error('x')
const with429 = (more: object) => Object.assign(new Error('too often'), more)
const full = () => new Semaphore({ slots: 0 }).tryAcquire()

const CAUSES: [string, Outcome<unknown>, string | undefined][] = [
  ['an error', failed(error), 'failure'],
  ['no connection', failed(error, 'failure', false), 'failure'],
  ['an answer found wanting', answered(503, 'failure'), 'failure'],
  ['a timeout', failed(error, 'timeout'), 'timeout'],
  ['overload', failed(error, 'overload'), 'overload'],
  ['503 as an answer of fetch', answered({ status: 503 }, 'overload'), 'overload'],
  ['429 as an answer of fetch', answered({ status: 429 }, 'overload'), 'quota'],
  ['429 as an answer of undici', answered({ statusCode: 429 }, 'overload'), 'quota'],
  ['429 as an error', failed(with429({ status: 429 }), 'overload'), 'quota'],
  ['429 as an error of undici', failed(with429({ statusCode: 429 }), 'overload'), 'quota'],
  ['a rate limit further on', failed(with429({ code: 'rate' }), 'overload'), 'quota'],
  ['a full bulkhead further on', failed(with429({ code: 'full' }), 'overload'), 'overload'],
  ['429 that a classifier calls a failure', answered({ status: 429 }, 'failure'), 'failure'],
  ['429 as text', failed(with429({ status: '429' }), 'overload'), 'overload'],
  ['nothing', failed(undefined, 'overload'), 'overload'],
  ['a number', failed(429, 'overload'), 'overload'],
  [
    'an error whose fields throw',
    failed(
      Object.defineProperty(new Error('x'), 'status', {
        get() {
          throw error
        },
      }),
      'overload',
    ),
    'overload',
  ],
  ['a success', answered({ status: 429 }), undefined],
  ['a caller who has left', failed(error, 'ignored'), undefined],
]

test.each(CAUSES)('%s', (_, outcome, cause) => expect(causeOf(outcome)).toBe(cause))

test('a refusal of ours has no cause that a retry could better', () => {
  const no = full()
  if (no.ok) throw new Error('admitted')
  expect(causeOf(refused(no))).toBeUndefined()
})

/** When the second and the third try came, if they did. */
function triesOf(outcome: Outcome<unknown>, options: RetryOptions): (number | undefined)[] {
  const world = new VirtualRuntime()
  const p = pipeline('p', [retry({ backoff: { first: 1000, factor: 1 }, ...options })], { runtime: world })
  const at: number[] = []
  p.start(
    (_, done) => (at.push(world.now()), done(outcome)),
    () => {},
    { idempotent: true },
  )
  world.run()
  return [at[1], at[2]]
}

const OUTCOMES = {
  failure: failed(error),
  timeout: failed(error, 'timeout'),
  overload: failed(error, 'overload'),
  quota: failed(with429({ status: 429 }), 'overload'),
} as const

const asking = {
  failure: failed(error, 'failure', true, 5000),
  timeout: failed(error, 'timeout', true, 5000),
  overload: failed(error, 'overload', true, 5000),
  quota: failed(with429({ status: 429 }), 'overload', true, 5000),
} as const

const causes = Object.keys(OUTCOMES) as (keyof typeof OUTCOMES)[]

describe.each(causes)('%s', (cause) => {
  test('atOnce: the first retry without a wait, the second after its backoff', () => {
    const [second, third] = triesOf(OUTCOMES[cause], { on: { [cause]: 'atOnce' } })
    expect(second).toBe(0)
    expect(third).toBeGreaterThan(0)
  })

  test('backoff: both after their backoff', () => {
    const [second = 0, third = 0] = triesOf(OUTCOMES[cause], { on: { [cause]: 'backoff' } })
    expect(second).toBeGreaterThan(0)
    expect(third).toBeGreaterThan(second)
  })

  test('never: not even when the target names a time', () => {
    expect(triesOf(OUTCOMES[cause], { on: { [cause]: 'never' } })).toEqual([undefined, undefined])
    expect(triesOf(asking[cause], { on: { [cause]: 'never' } })).toEqual([undefined, undefined])
  })

  test('asked: only when it does', () => {
    expect(triesOf(OUTCOMES[cause], { on: { [cause]: 'asked' } })).toEqual([undefined, undefined])
    expect(triesOf(asking[cause], { on: { [cause]: 'asked' } })[0]).toBeGreaterThanOrEqual(5000)
  })

  test('the target’s word wins over atOnce and backoff', () => {
    for (const action of ['atOnce', 'backoff'] as const) {
      const [second = 0] = triesOf(asking[cause], { on: { [cause]: action } })
      expect(second).toBeGreaterThanOrEqual(5000)
    }
  })

  test('one cause changes nothing for the others', () => {
    for (const other of causes.filter((one) => one !== cause))
      expect(triesOf(OUTCOMES[other], { on: { [cause]: 'never' } })).toEqual(triesOf(OUTCOMES[other], {}))
  })
})

test('what is usual: backoff, and for a quota only what the target names', () => {
  expect(usualActions).toEqual({ failure: 'backoff', timeout: 'backoff', overload: 'backoff', quota: 'asked' })
  for (const cause of causes)
    expect(triesOf(OUTCOMES[cause], {})).toEqual(triesOf(OUTCOMES[cause], { on: { [cause]: usualActions[cause] } }))
})

test('the table in the documents is this one', () => {
  const table = rows(section(page('docs/retry.md'), '### Why it failed'))
  expect(table.map(([cause, , action]) => [cause, action])).toEqual(
    Object.entries(usualActions).map(([cause, action]) => [`\`${cause}\``, `\`${action}\``]),
  )
})

describe('a wait of the user’s', () => {
  const waits = (wait: RetryOptions['wait']) => triesOf(OUTCOMES.failure, wait === undefined ? {} : { wait })

  test('is waited as it is, and gets the number of the retry and the outcome before it', () => {
    const asked: unknown[] = []
    expect(waits((retry, outcome) => (asked.push([retry, outcome.error]), retry * 100))).toEqual([100, 300])
    expect(asked).toEqual([
      [1, error],
      [2, error],
    ])
  })

  test('may be a span in words', () => expect(waits(() => '1.5s')).toEqual([1500, 3000]))

  test.each<[string, () => unknown]>([
    ['below 0', () => -1],
    ['undefined', () => undefined],
    ['no number', () => Number.NaN],
    [
      'an error',
      () => {
        throw new Error('its own')
      },
    ],
  ])('of %s ends it: the caller gets the target’s own error', (_, wait) => {
    expect(waits(wait as RetryOptions['wait'])).toEqual([undefined, undefined])
  })

  test('of nothing at all is none', () => expect(waits(() => 0)).toEqual([0, 0]))
})

test('a backoff that begins at 0 is none', () => {
  expect(triesOf(OUTCOMES.failure, { backoff: { first: 0 } })).toEqual([0, 0])
})

test('two thousand tries without a wait do not overflow the stack', () => {
  const world = new VirtualRuntime()
  const budget = { ratio: 1, minimum: 20_000 }
  const p = pipeline('p', [retry({ attempts: 2000, backoff: { first: 0 }, budget })], { runtime: world })
  let count = 0
  p.start(
    (_, done) => (count++, done(failed(error))),
    () => {},
    { idempotent: true },
  )
  world.run()
  expect(count).toBe(2000)
})
