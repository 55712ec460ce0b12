import { answered, bulkhead, deadline, failed, type Outcome, type Pipeline, pipeline, retry, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { codeOf, fateOf, leftIn, NOTHING } from './fate.ts'

// The four doors of a pipeline: call, outcome, start, wrap. They tell the same story.

const world = new VirtualRuntime()
const shapes: [string, Pipeline][] = [
  ['no layers', pipeline('none', [], { runtime: world })],
  ['gates alone', pipeline('gates', [bulkhead({ slots: 1 })], { runtime: world })],
  [
    'gates and policies',
    pipeline('mixed', [deadline({ within: '1s' }), retry(), bulkhead({ slots: 1 }), timeout({ after: 100 })], {
      runtime: world,
    }),
  ],
]

describe.each(shapes)('%s', (_, p) => {
  test('call resolves to the answer, by identity, of sync and async work', async () => {
    const answer = { a: 1 }
    expect(await p.call(() => answer)).toBe(answer)
    expect(await p.call(async () => answer)).toBe(answer)
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('call rejects with the error, by identity, thrown or rejected', async () => {
    const error = new Error('x')
    const thrown = fateOf(
      p.call(() => {
        throw error
      }),
    )
    await world.settle()
    const rejected = fateOf(p.call(() => Promise.reject(error)))
    await world.settle()
    expect([thrown.value === error, rejected.value === error, leftIn(world, p)]).toEqual([true, true, NOTHING])
  })

  test('call never throws by itself and never settles before it returns', async () => {
    let settled = false
    const promise = p.call(() => 1).then(() => (settled = true))
    expect(settled).toBe(false)
    await promise
  })

  test('outcome never throws: value, error and refusal are values', async () => {
    const error = new Error('x')
    expect(await p.outcome(() => 1)).toMatchObject({ ok: true, value: 1, verdict: 'success', ran: true })
    expect(await p.outcome(() => Promise.reject(error))).toMatchObject({
      ok: false,
      error,
      verdict: 'failure',
      ran: true,
    })
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('start tells the outcome once, and at once when the work answers at once', () => {
    const outcomes: Outcome<unknown>[] = []
    p.start(
      (_call, done) => {
        done(answered('a'))
        done(answered('b'))
        done(failed('c'))
      },
      (o) => outcomes.push(o),
    )
    expect(outcomes.map((o) => o.value)).toEqual(['a'])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('start takes a throw for a failure', () => {
    const outcomes: Outcome<unknown>[] = []
    p.start(
      () => {
        throw 'x'
      },
      (o) => outcomes.push(o),
    )
    expect(outcomes).toMatchObject([{ ok: false, error: 'x', verdict: 'failure', ran: true }])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('a throw after the answer is swallowed: the answer stands', () => {
    const outcomes: Outcome<unknown>[] = []
    p.start(
      (_call, done) => {
        done(answered(1))
        throw new Error('late')
      },
      (o) => outcomes.push(o),
    )
    expect(outcomes).toMatchObject([{ ok: true, value: 1 }])
  })

  test('wrap passes arguments and this, and keeps the types', async () => {
    const shop = {
      name: 'shop',
      stock: p.wrap(async function (this: { name: string }, sku: string, n: number) {
        return `${this.name} ${sku} ${n}`
      }),
    }
    expectTypeOf(shop.stock).parameters.toEqualTypeOf<[string, number]>()
    expectTypeOf(shop.stock).returns.toEqualTypeOf<Promise<string>>()
    expect(await shop.stock('a', 2)).toBe('shop a 2')
  })
})

test('a refusal is an outcome at once, and an error one microtask later', async () => {
  const p = pipeline('p', [bulkhead({ slots: 0 })], { runtime: world })
  const outcome = p.outcome(() => 1)
  expect(outcome).toMatchObject({ ok: false, ran: false, rejection: { reason: 'full' } })
  const fate = fateOf(p.call(() => 1))
  await Promise.resolve()
  await Promise.resolve()
  expect([codeOf(fate), p.inspect()['calls']]).toMatchObject(['full', { refused: 2 }])
})

test('every call is counted once, by how it ended', async () => {
  const p = pipeline('p', [bulkhead({ slots: 1 }), timeout({ after: 100 })], { runtime: world })
  const shapes: Parameters<Pipeline['call']>[0][] = [
    () => 1,
    () => Promise.reject(new Error('x')),
    () => Promise.reject(new DOMException('x', 'AbortError')),
    () => p.call(() => 1),
  ]
  for (const work of shapes) await p.outcome(work)
  await p.outcome(() => 1, { classify: () => 'overload' })
  const slow = fateOf(p.call(() => new Promise((resolve) => void world.after(200, () => resolve(1)))))
  await world.advanceAsync(200)
  expect(codeOf(slow)).toBe('timeout')
  expect(p.inspect()).toMatchObject({
    running: 0,
    calls: { success: 1, failure: 1, timeout: 1, overload: 1, ignored: 2, refused: 1 },
  })
})

test('10,000 calls at once, sync and async, leave nothing', async () => {
  const p = pipeline('p', [retry(), bulkhead({ slots: 100_000 }), timeout({ after: 100 })], { runtime: world })
  const all = Array.from({ length: 10_000 }, (_, i) => p.call(() => (i % 2 === 0 ? i : Promise.resolve(i))))
  const answers = await Promise.all(all)
  await world.settle()
  expect([answers.every((a, i) => a === i), leftIn(world, p)]).toEqual([true, NOTHING])
})
