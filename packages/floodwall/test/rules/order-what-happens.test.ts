import {
  balance,
  breaker,
  bulkhead,
  type Call,
  deadline,
  gate,
  hedge,
  holdBack,
  isRejected,
  isTimeout,
  type Layer,
  type Pipeline,
  pipeline,
  queue,
  rateLimit,
  retry,
  Semaphore,
  throttle,
  timeout,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'

// Further statements of docs/ordering.md, the table of orders that defeat themselves line by line: what happens, and not only that it is warned of.

const world = () => {
  const runtime = new VirtualRuntime()
  let tries = 0
  const inOrder = (...layers: Layer[]): Pipeline => pipeline('order', layers, { runtime })
  const fail = (): never => {
    tries++
    throw new Error('broken')
  }
  /** Until it is told to stop. */
  const hang = ({ signal }: Call): Promise<never> => {
    tries++
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  /** How a call of `work` ended, and when; undefined while it has not. */
  const ended = (path: Pipeline, work: (call: Call) => unknown = fail) => {
    const since = runtime.now()
    const seen: { error?: unknown; value?: unknown; at?: number } = {}
    path.call(work, { idempotent: true }).then(
      (value) => Object.assign(seen, { value, at: runtime.now() - since }),
      (error: unknown) => Object.assign(seen, { error, at: runtime.now() - since }),
    )
    return seen
  }
  return { runtime, inOrder, fail, hang, ended, tries: () => tries }
}

const twice = retry({ attempts: 3, backoff: { first: 0 }, budget: { minimum: 100 } })
const snapshots = (path: Pipeline) => path.inspect()['layers'] as Readonly<Record<string, unknown>>[]

describe('the usual order', () => {
  test('a rate limit inside of a retry limits attempts, outside of it operations', async () => {
    const limit = rateLimit({ rate: 1, burst: 3 })
    for (const [layers, all] of [
      [[twice, limit], 3],
      [[limit, twice], 9],
    ] as const) {
      const { runtime, inOrder, ended, tries } = world()
      const path = inOrder(...layers)
      for (let i = 0; i < 4; i++) ended(path)
      await runtime.advanceAsync(10)
      expect(tries()).toBe(all)
    }
  })

  test('adjacent gates are asked together, all or none; a policy between two of them separates them', async () => {
    const taken = async (...layers: Layer[]) => {
      const { runtime, inOrder, ended } = world()
      const path = inOrder(...layers)
      for (let i = 0; i < 3; i++) ended(path, () => new Promise(() => {}))
      await runtime.advanceAsync(0)
      return 10 - Math.floor(snapshots(path).find(({ kind }) => kind === 'rateLimit')?.['tokens'] as number)
    }
    const [limit, line, slots] = [rateLimit({ rate: 1, burst: 10 }), queue({ atMost: '10s' }), bulkhead({ slots: 1 })]
    expect(await taken(line, limit, slots)).toBe(1)
    expect(await taken(limit, line, slots)).toBe(3)
  })
})

describe('on a timeout', () => {
  test('a retry outside goes on at once; one inside is ended with it', async () => {
    const outside = world()
    outside.ended(outside.inOrder(twice, timeout({ after: 50 })), outside.hang)
    await outside.runtime.advanceAsync(50)
    expect(outside.tries()).toBe(2)

    const inside = world()
    const seen = inside.ended(inside.inOrder(timeout({ after: 50 }), twice), inside.hang)
    await inside.runtime.advanceAsync(500)
    expect([inside.tries(), isTimeout(seen.error), seen.at]).toEqual([1, true, 50])
  })

  test('is evidence for a layer outside if the attempt had been given its slowAfter', async () => {
    for (const [after, state] of [
      [100, 'open'],
      [50, 'closed'],
    ] as const) {
      const { runtime, inOrder, hang, ended } = world()
      const path = inOrder(breaker({ consecutive: 1, slowAfter: 80 }), timeout({ after }))
      ended(path, hang)
      await runtime.advanceAsync(200)
      expect(snapshots(path)[0]?.['state']).toBe(state)
    }
  })
})

describe('orders that defeat themselves', () => {
  test.each([
    ['retry', twice],
    ['hedge', hedge({ after: 60, budget: { minimum: 100 } })],
  ])('timeout > %s: it ends all attempts at once', async (_, layer) => {
    const { runtime, inOrder, hang, ended } = world()
    const seen = ended(inOrder(timeout({ after: 100 }), layer), hang)
    await runtime.advanceAsync(1000)
    expect([isTimeout(seen.error), seen.at]).toEqual([true, 100])
  })

  test('retry > deadline: the whole has none', async () => {
    const { runtime, inOrder, hang, ended, tries } = world()
    const seen = ended(inOrder(twice, deadline({ within: 100 })), hang)
    await runtime.advanceAsync(299)
    expect(seen.at).toBeUndefined()
    await runtime.advanceAsync(101)
    expect([tries(), (seen.at as number) >= 300]).toEqual([3, true])
  })

  test('queue > deadline: what waits is under none', async () => {
    const { runtime, inOrder, hang, ended } = world()
    const path = inOrder(queue({ atMost: '10s' }), deadline({ within: 100 }), bulkhead({ slots: 1 }))
    const held = path.call(() => new Promise((resolve) => runtime.after(1000, () => resolve('done'))), { within: 5000 })
    held.catch(() => {})
    const seen = ended(path, hang)
    await runtime.advanceAsync(999)
    expect(seen.at).toBeUndefined()
  })

  test('deadline > deadline: the shorter one counts', async () => {
    for (const [a, b] of [
      [100, 200],
      [200, 100],
    ] as const) {
      const { runtime, inOrder, hang, ended } = world()
      const seen = ended(inOrder(deadline({ within: a }), deadline({ within: b })), hang)
      await runtime.advanceAsync(1000)
      expect(seen.at).toBe(100)
    }
  })

  test('retry > retry: the outer one does not try again what the inner one has given up', async () => {
    const { runtime, inOrder, ended, tries } = world()
    ended(inOrder(twice, retry({ attempts: 4, backoff: { first: 0 }, budget: { minimum: 100 } })))
    await runtime.advanceAsync(100)
    expect(tries()).toBe(4)
  })

  test('hedge > retry: each of two parallel attempts is retried', async () => {
    const count = async (...layers: Layer[]) => {
      const { runtime, inOrder, ended, tries, fail } = world()
      const slow = () =>
        new Promise((_, reject) => {
          runtime.after(50, () => {
            try {
              fail()
            } catch (error) {
              reject(error)
            }
          })
        })
      ended(inOrder(...layers), slow)
      await runtime.advanceAsync(2000)
      return tries()
    }
    const both = hedge({ after: 10, budget: { minimum: 100 } })
    expect(await count(both, twice)).toBe(6)
    expect(await count(twice, both)).toBe(2)
  })

  test('hedge > timeout that is shorter: no second attempt for being late', async () => {
    const { runtime, inOrder, hang, ended } = world()
    const path = inOrder(hedge({ after: 100 }), timeout({ after: 100 }))
    const late: number[] = []
    ended(path, (call) => (late.push(runtime.now()), hang(call)))
    await runtime.advanceAsync(99)
    expect(late).toHaveLength(1)
    // What follows is for the failure, as a retry would be.
    await runtime.advanceAsync(1000)
    expect(late).toEqual([late[0], (late[0] as number) + 100])
  })

  test('breaker, throttle > retry: they hear one outcome of several attempts', async () => {
    for (const outer of [breaker({ consecutive: 3 }), throttle()]) {
      const { runtime, inOrder, ended, tries } = world()
      const path = inOrder(outer, twice)
      ended(path)
      ended(path)
      await runtime.advanceAsync(10)
      expect(tries()).toBe(6)
      expect(snapshots(path)[0]).toMatchObject(
        outer.kind === 'breaker' ? { state: 'closed' } : { classes: [{ requests: 2 }] },
      )
    }
  })

  test('holdBack > retry: later attempts go to who has asked for a pause', async () => {
    const asking = async (...layers: Layer[]) => {
      const { runtime, inOrder, ended, tries, fail } = world()
      const ask = (): never => {
        try {
          return fail()
        } catch (error) {
          throw Object.assign(error as Error, { retryAfterMs: 1000 })
        }
      }
      const path = inOrder(...layers)
      ended(path, ask)
      await runtime.advanceAsync(0)
      ended(path, ask)
      await runtime.advanceAsync(999)
      return tries()
    }
    expect(await asking(twice, holdBack())).toBe(1)
    expect(await asking(holdBack(), twice)).toBe(2)
  })

  test('bulkhead > retry, bulkhead > queue: a slot is held by who waits', async () => {
    const { runtime, inOrder, ended } = world()
    const path = inOrder(bulkhead({ slots: 1 }), retry({ wait: () => 100 }))
    ended(path)
    await runtime.advanceAsync(50)
    const seen = ended(path)
    await runtime.advanceAsync(1)
    expect(isRejected(seen.error) && seen.error.code).toBe('full')

    const two = inOrder(bulkhead({ slots: 2 }), queue({ atMost: '10s' }), bulkhead({ slots: 1 }))
    const hang = () => new Promise(() => {})
    for (let i = 0; i < 2; i++) ended(two, hang)
    const third = ended(two, hang)
    await runtime.advanceAsync(1)
    expect(isRejected(third.error) && third.error.path).toBe('order/bulkhead')
  })

  test('breaker > queue: a probe is lent to who stands in a line', async () => {
    const { runtime, inOrder, ended } = world()
    const slots = gate(new Semaphore({ slots: 1 }))
    const path = inOrder(
      breaker({ consecutive: 1, openFor: 100, jitter: 0, probes: 1 }),
      queue({ atMost: '10s' }),
      slots,
    )
    ended(path)
    await runtime.advanceAsync(150)
    ended(inOrder(slots), () => new Promise(() => {}))
    const waits = ended(path, () => 'ran')
    await runtime.advanceAsync(1)
    expect(waits.at).toBeUndefined()
    expect(snapshots(path)[0]?.['probes']).toMatchObject({ running: 1, free: 0 })
  })

  test('timeout > queue, timeout > bulkhead: waiting counts as slowness', async () => {
    const { runtime, inOrder, ended } = world()
    const path = inOrder(
      breaker({ consecutive: 1 }),
      timeout({ after: 100 }),
      queue({ atMost: '10s' }),
      bulkhead({ slots: 1 }),
    )
    void path.call(() => new Promise((resolve) => runtime.after(90, () => resolve('in time'))))
    const waits = ended(path, () => new Promise((resolve) => runtime.after(90, () => resolve('in time'))))
    await runtime.advanceAsync(200)
    expect([isTimeout(waits.error), snapshots(path)[0]?.['state']]).toEqual([true, 'open'])
  })

  test('queue > rateLimit: what is over the rate waits first, and is refused then', async () => {
    const { runtime, inOrder, ended } = world()
    const path = inOrder(queue({ atMost: '10s' }), rateLimit({ rate: 1, burst: 1 }), bulkhead({ slots: 1 }))
    ended(path, () => new Promise((resolve) => runtime.after(100, () => resolve('done'))))
    const second = ended(path, () => 'ran')
    await runtime.advanceAsync(50)
    const soon = second.at
    await runtime.advanceAsync(10_000)
    expect([isRejected(second.error) && second.error.code, soon]).toEqual(['rate', 0])
  })

  test('deadline > timeout that is longer: the timeout never fires', async () => {
    const { runtime, inOrder, hang, ended } = world()
    const path = inOrder(deadline({ within: 100 }), timeout({ after: 100 }))
    const seen = ended(path, hang)
    await runtime.advanceAsync(1000)
    expect([isTimeout(seen.error) && seen.error.code, snapshots(path)[1]?.['timeouts']]).toEqual(['deadline', 0])
  })

  test('balance > anything but a timeout: it is one for all endpoints', async () => {
    const { runtime, inOrder, ended } = world()
    const endpoints = [{ id: 'a' }, { id: 'b' }]
    const ask = async (...layers: Layer[]) => {
      const path = inOrder(...layers)
      ended(path)
      await runtime.advanceAsync(1)
      const next = ended(path, () => 'ok')
      await runtime.advanceAsync(1)
      return isRejected(next.error) ? next.error.code : next.value
    }
    expect(await ask(balance({ endpoints }), breaker({ consecutive: 1 }))).toBe('open')
    expect(await ask(balance({ endpoints, each: [breaker({ consecutive: 1 })] }))).toBe('ok')
  })
})
