import { bulkhead, type Call, pipeline, queue, timeout, type Verdict } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, fateOf, layerOf, leftIn, NOTHING } from '../core/fate.ts'

// Three ways to lose count: never releasing after a timeout, releasing twice, and releasing while the timed-out work still runs, so that real
// concurrency exceeds the cap. (opossum #72, resilience4j #332, #263, #264, modelence #363)

test('C17 callers are free at 100 ms, slots when the work has ended, and never more than two works run', async () => {
  const world = new VirtualRuntime()
  const p = pipeline('p', [bulkhead({ slots: 2 }), timeout({ after: 100 })], { runtime: world })
  let running = 0
  let most = 0
  const work = () => {
    most = Math.max(most, ++running)
    return new Promise<void>((resolve) => void world.after(1000, () => (running--, resolve())))
  }
  const two = () => [fateOf(p.call(work), world), fateOf(p.call(work), world)]

  const first = two()
  await world.advanceAsync(150)
  const second = two()
  await world.advanceAsync(950)
  const third = two()
  await world.advanceAsync(2000)
  expect(first.map((f) => [codeOf(f), f.at])).toEqual([
    ['timeout', 100],
    ['timeout', 100],
  ])
  expect(second.map((f) => [codeOf(f), f.at])).toEqual([
    ['full', 150],
    ['full', 150],
  ])
  expect(third.map((f) => [codeOf(f), f.at])).toEqual([
    ['timeout', 1200],
    ['timeout', 1200],
  ])
  expect([most, running, leftIn(world, p)]).toEqual([2, 0, NOTHING])
})

test('C17 work that throws at once gives its slot back', async () => {
  const world = new VirtualRuntime()
  for (const layers of [[bulkhead({ slots: 1 })], [bulkhead({ slots: 1 }), timeout({ after: 100 })]]) {
    const p = pipeline('p', layers, { runtime: world })
    for (let i = 0; i < 100; i++) {
      const error = new Error(String(i))
      await expect(
        p.call(() => {
          throw error
        }),
      ).rejects.toBe(error)
    }
    expect(leftIn(world, p)).toEqual(NOTHING)
  }
})

test('C17 work that answers, or fails, after its timeout gives its slot back once', async () => {
  const world = new VirtualRuntime()
  const p = pipeline('p', [bulkhead({ slots: 3 }), timeout({ after: 10 })], { runtime: world })
  const late = [
    () => new Promise((resolve) => void world.after(50, () => resolve(1))),
    () => new Promise((_, reject) => void world.after(50, () => reject(new Error('late')))),
    ({ signal }: Call) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  ]
  const fates = late.map((work) => fateOf(p.call(work)))
  await world.advanceAsync(10)
  // The one that listened has ended already.
  expect([fates.map(codeOf), leftIn(world, p).used]).toEqual([['timeout', 'timeout', 'timeout'], 2])
  await world.advanceAsync(40)
  expect(leftIn(world, p)).toEqual(NOTHING)
})

describe('C17 an answer that is a stream', () => {
  /** A body that is read, destroyed or forgotten, as an adapter of streams would tell it. */
  class Body {
    private readonly ended: (verdict: Verdict) => void

    constructor(call: Call, patienceMs?: number) {
      this.ended = call.hold(patienceMs)
    }

    readToTheEnd(): void {
      this.ended('success')
    }

    destroy(): void {
      this.ended('ignored')
    }

    error(): void {
      this.ended('failure')
    }
  }

  const open = (patienceMs?: number) => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [queue({ atMost: '1h' }), bulkhead({ slots: 1 }), timeout({ after: 100 })], {
      runtime: world,
    })
    return { world, p, body: p.call((call) => new Body(call, patienceMs)) }
  }

  test.each(['readToTheEnd', 'destroy', 'error'] as const)(
    '%s: the slot is taken until then, and goes to who waits',
    async (how) => {
      const { world, p, body } = open()
      const it = await body
      const next = fateOf(
        p.call(() => 'next'),
        world,
      )
      await world.advanceAsync(5000)
      // The head came in time: its timeout does not cut the body.
      expect([layerOf(p, 'bulkhead')['used'], next.state]).toEqual([1, 'pending'])
      it[how]()
      await world.settle()
      expect([next.value, leftIn(world, p)]).toEqual(['next', NOTHING])
      it[how]()
      it.destroy()
      expect(leftIn(world, p)).toEqual(NOTHING)
    },
  )

  test('never read: the slot is taken for a bounded time, and that is told', async () => {
    const { world, p, body } = open(30_000)
    await body
    const next = fateOf(
      p.call(() => 'next'),
      world,
    )
    await world.advanceAsync(29_999)
    expect(next.state).toBe('pending')
    await world.advanceAsync(1)
    expect([next.value, next.at, leftIn(world, p)]).toEqual(['next', 30_000, NOTHING])
    expect(world.events).toMatchObject([{ type: 'lapsed', path: 'p' }])
  })

  test('whose caller leaves half-way: the end of the body counts, not the leaving', async () => {
    const { world, p } = open()
    const aborter = new AbortController()
    await world.settle()
    p.reload([bulkhead({ slots: 2 })])
    const it = await p.call((call) => new Body(call), { signal: aborter.signal })
    aborter.abort('left')
    expect(layerOf(p, 'bulkhead')['used']).toBe(2)
    it.destroy()
    expect(layerOf(p, 'bulkhead')['used']).toBe(1)
  })
})
