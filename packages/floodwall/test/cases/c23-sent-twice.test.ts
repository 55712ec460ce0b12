import { answered, type Call, failed, type Outcome, pipeline, retry } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { fateOf } from '../core/fate.ts'

// POSTs that may have run were sent again. (istio #13851, #50506, traefik #8990)
// Here: what a retry makes of what an adapter knows of a request. Bodies and headers are tested where they are sent.

const reset = failed(new Error('reset'))
const refused = failed(new Error('connection refused'), 'failure', false)
const broken = answered({ status: 503 }, 'failure')

/** The attempts of work that ends as said, then well. */
function attemptsOf(first: Outcome<unknown>, init: object): { numbers: number[]; got: unknown; datas: unknown[] } {
  const world = new VirtualRuntime()
  const p = pipeline('p', [retry()], { runtime: world })
  const numbers: number[] = []
  const datas: unknown[] = []
  let got: Outcome<unknown> | undefined
  p.start(
    (call, done) => {
      numbers.push(call.attempt)
      datas.push(call.data)
      done(numbers.length === 1 ? first : answered('second'))
    },
    (outcome) => (got = outcome),
    init,
  )
  world.run()
  return { numbers, got: got?.ok ? got.value : got?.error, datas }
}

describe('C23 a POST without a key', () => {
  test('(a) may be retried when nothing was sent', () => {
    expect(attemptsOf(refused, {})).toMatchObject({ numbers: [0, 1], got: 'second' })
  })

  test.each([
    ['(b) 503 after it was sent', broken, { status: 503 }],
    ['(c) a reset after it was sent', reset, reset.error],
  ])('%s: once is all it gets, and the caller gets that end', (_, first, end) => {
    expect(attemptsOf(first, {})).toMatchObject({ numbers: [0], got: end })
  })
})

test('C23 (d) with a key it may, and the key is the same', () => {
  const data = { 'idempotency-key': 'k-1' }
  const seen = attemptsOf(reset, { idempotent: true, data })
  expect(seen).toMatchObject({ numbers: [0, 1], got: 'second' })
  expect(seen.datas.every((one) => one === data)).toBe(true)
})

test.each([
  ['(f) a body that is gone', failed(new Error('503'), 'failure', true, 0, true)],
  ['(h) 501 and 400: an answer, and no evidence against anybody', answered({ status: 400 }, 'ignored')],
  ['(h) 429 without a time', answered({ status: 429 }, 'overload')],
])('C23 %s is not sent again', (_, first) => {
  expect(attemptsOf(first, { idempotent: true }).numbers).toEqual([0])
})

test('C23 (h) 429 with a time is, at that time', () => {
  expect(attemptsOf(answered({ status: 429 }, 'overload', 2000), { idempotent: true }).numbers).toEqual([0, 1])
})

test('C23 each retry says which attempt it is', async () => {
  const world = new VirtualRuntime()
  const p = pipeline('p', [retry({ attempts: 4 })], { runtime: world })
  const numbers: number[] = []
  const fate = fateOf(
    p.call(
      (call: Call) => {
        numbers.push(call.attempt)
        if (numbers.length < 4) throw new Error('reset')
        return 'fourth'
      },
      { idempotent: true },
    ),
  )
  await world.advanceAsync('1m')
  expect([numbers, fate.value]).toEqual([[0, 1, 2, 3], 'fourth'])
})
