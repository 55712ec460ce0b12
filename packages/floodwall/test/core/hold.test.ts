import { breaker, bulkhead, type Call, pipeline, queue, retry, timeout, type Verdict } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, failsAfter, fateOf, hangs, layerOf, leftIn, NOTHING, takes } from './fate.ts'

// Evidence follows the outcome, occupancy follows the end of the work.

const used = (p: ReturnType<typeof pipeline>) => layerOf(p, 'bulkhead')['used']

describe('a slot is taken until the work has ended', () => {
  test('work that answers gives its slot back with the answer', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [bulkhead({ slots: 1 })], { runtime: world })
    const fate = fateOf(p.call(takes(world, 10, 'a')))
    expect(used(p)).toBe(1)
    await world.advanceAsync(10)
    expect([fate.value, leftIn(world, p)]).toEqual(['a', NOTHING])
  })

  test('a timeout frees the caller; the slot waits for the work', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [bulkhead({ slots: 1 }), timeout({ after: 100 })], { runtime: world })
    const fate = fateOf(p.call(takes(world, 1000, 'late')), world)
    await world.advanceAsync(100)
    expect([codeOf(fate), fate.at, used(p)]).toEqual(['timeout', 100, 1])
    await world.advanceAsync(899)
    expect(used(p)).toBe(1)
    await world.advanceAsync(1)
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('also when the timeout stands outside, and when late work fails', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [timeout({ after: 100 }), bulkhead({ slots: 1 })], { runtime: world })
    const fate = fateOf(p.call(failsAfter(world, 300, new Error('late'))), world)
    await world.advanceAsync(299)
    expect([codeOf(fate), used(p)]).toEqual(['timeout', 1])
    await world.advanceAsync(1)
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('a breaker hears the timeout at once, not at the end of the work', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [breaker({ consecutive: 1 }), bulkhead({ slots: 1 }), timeout({ after: 100 })], {
      runtime: world,
    })
    void fateOf(p.call(takes(world, 1000, 'late')))
    await world.advanceAsync(100)
    expect([layerOf(p, 'breaker')['state'], used(p)]).toEqual(['open', 1])
    await world.advanceAsync(900)
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('a waiter meets a breaker that knows the outcome which freed his slot', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [queue({ size: 5 }), breaker({ consecutive: 1 }), bulkhead({ slots: 1 })], {
      runtime: world,
    })
    const first = fateOf(p.call(failsAfter(world, 10, new Error('down'))))
    let ran = false
    const second = fateOf(p.call(() => (ran = true)))
    await world.advanceAsync(10)
    expect([first.state, codeOf(second), ran]).toEqual(['failed', 'open', false])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('the slot of an abandoned attempt is taken while the next attempt runs', async () => {
    const world = new VirtualRuntime()
    const p = pipeline(
      'p',
      [retry({ attempts: 2, backoff: { first: 1 } }), bulkhead({ slots: 2 }), timeout({ after: 100 })],
      {
        runtime: world,
      },
    )
    let tries = 0
    const fate = fateOf(
      p.call(() => (++tries === 1 ? takes(world, 500, 'late')() : takes(world, 50, 'b')()), { idempotent: true }),
    )
    await world.advanceAsync(101)
    expect([tries, used(p)]).toEqual([2, 2])
    await world.advanceAsync(50)
    expect(fate.value).toBe('b')
    await world.advanceAsync(500)
    expect(leftIn(world, p)).toEqual(NOTHING)
  })
})

describe('hold(): the answer is only the head', () => {
  const streaming = (ends: ((verdict: Verdict) => void)[]) => (call: Call) => {
    ends.push(call.hold())
    return 'head'
  }

  test('the caller has his answer, the slot stays taken until the end is told', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [bulkhead({ slots: 1 })], { runtime: world })
    const ends: ((verdict: Verdict) => void)[] = []
    expect(await p.call(streaming(ends))).toBe('head')
    expect([used(p), codeOf(await settled(p.call(() => 1)))]).toEqual([1, 'full'])
    ends[0]?.('success')
    expect(leftIn(world, p)).toEqual(NOTHING)
    expect(await p.call(() => 2)).toBe(2)
  })

  test.each<Verdict>(['success', 'failure', 'timeout', 'overload', 'ignored'])(
    'an end with %s gives back one slot',
    async (verdict) => {
      const world = new VirtualRuntime()
      const p = pipeline('p', [breaker({ consecutive: 1 }), bulkhead({ slots: 1 })], { runtime: world })
      const ends: ((verdict: Verdict) => void)[] = []
      await p.call(streaming(ends))
      ends[0]?.(verdict)
      // The breaker is after evidence, and had its evidence with the head.
      expect([layerOf(p, 'breaker')['state'], leftIn(world, p)]).toEqual(['closed', NOTHING])
    },
  )

  test('an end told twice counts once', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [bulkhead({ slots: 2 })], { runtime: world })
    const ends: ((verdict: Verdict) => void)[] = []
    await p.call(streaming(ends))
    await p.call(streaming(ends))
    ends[0]?.('success')
    ends[0]?.('failure')
    ends[0]?.('success')
    expect(used(p)).toBe(1)
    ends[1]?.('success')
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('an end told before the answer leaves the slot to the work', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [bulkhead({ slots: 1 })], { runtime: world })
    const fate = fateOf(
      p.call((call) => {
        call.hold()('success')
        return takes(world, 10, 'a')()
      }),
    )
    expect(used(p)).toBe(1)
    await world.advanceAsync(10)
    expect([fate.value, leftIn(world, p)]).toEqual(['a', NOTHING])
  })

  test('two holds of one call: the last one gives the slot back', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [bulkhead({ slots: 1 })], { runtime: world })
    const ends: ((verdict: Verdict) => void)[] = []
    await p.call((call) => {
      ends.push(call.hold(), call.hold())
    })
    ends[1]?.('success')
    expect(used(p)).toBe(1)
    ends[0]?.('success')
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('a hold that nobody ends lapses after its time, and says so once', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [bulkhead({ slots: 1 })], { runtime: world })
    const ends: ((verdict: Verdict) => void)[] = []
    await p.call((call) => void ends.push(call.hold(5000)))
    world.advance(4999)
    expect(used(p)).toBe(1)
    world.advance(1)
    expect(leftIn(world, p)).toEqual(NOTHING)
    ends[0]?.('success')
    expect(leftIn(world, p)).toEqual(NOTHING)
    expect(world.events).toEqual([{ type: 'lapsed', at: 5000, path: 'p', why: expect.stringContaining('5000 ms') }])
  })

  test('it lapses after five minutes when nobody says more', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [bulkhead({ slots: 1 })], { runtime: world })
    await p.call((call) => void call.hold())
    world.advance('299s')
    expect(used(p)).toBe(1)
    world.advance('1s')
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('a held stream outlives the timeout of its attempt', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [bulkhead({ slots: 1 }), timeout({ after: 100 })], { runtime: world })
    const ends: ((verdict: Verdict) => void)[] = []
    const fate = fateOf(
      p.call((call) => {
        ends.push(call.hold())
        return hangs()
      }),
    )
    await world.advanceAsync(100)
    ends[0]?.('timeout')
    // The work itself still hangs.
    expect([codeOf(fate), used(p)]).toEqual(['timeout', 1])
  })

  test('a stream of the second attempt holds the slots further out, and frees a waiter at its end', async () => {
    const world = new VirtualRuntime()
    const layers = [queue(), bulkhead({ slots: 1 }), retry({ attempts: 2, backoff: { first: 1 } })]
    const p = pipeline('p', layers, { runtime: world })
    const ends: ((verdict: Verdict) => void)[] = []
    let tries = 0
    const fate = fateOf(
      p.call(
        (call) => {
          if (++tries === 1) throw new Error('first')
          ends.push(call.hold())
          return 'head'
        },
        { idempotent: true },
      ),
    )
    const next = fateOf(p.call(() => 'next'))
    await world.advanceAsync(10)
    expect([fate.value, used(p), next.state]).toEqual(['head', 1, 'pending'])
    ends[0]?.('success')
    await world.settle()
    expect([next.value, leftIn(world, p)]).toEqual(['next', NOTHING])
  })

  test('without the promise door too', () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [queue(), bulkhead({ slots: 1 })], { runtime: world })
    let end: ((verdict: Verdict) => void) | undefined
    const order: string[] = []
    p.start(
      (call, done) => {
        end = call.hold()
        done({
          ok: true,
          value: 1,
          error: undefined,
          verdict: 'success',
          ran: true,
          rejection: undefined,
          retryAfterMs: 0,
          noRetry: false,
        })
      },
      () => void order.push('head'),
    )
    p.start(
      (_, done) =>
        done({
          ok: true,
          value: 2,
          error: undefined,
          verdict: 'success',
          ran: true,
          rejection: undefined,
          retryAfterMs: 0,
          noRetry: false,
        }),
      () => void order.push('next'),
    )
    expect(order).toEqual(['head'])
    end?.('success')
    expect(order).toEqual(['head', 'next'])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })
})

async function settled(promise: Promise<unknown>) {
  const fate = fateOf(promise)
  await promise.catch(() => {})
  return fate
}
