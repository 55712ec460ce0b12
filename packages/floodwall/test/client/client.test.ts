import {
  balance,
  breaker,
  bulkhead,
  Cluster,
  type ClusterOptions,
  deadline,
  envOf,
  holdBack,
  isRejected,
  isTimeout,
  queue,
  retry,
  systemRuntime,
  timeout,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { type ClientOptions, client, unsent } from '../../src/client/index.ts'

function shop(ids: readonly string[], options: ClusterOptions = {}, world = new VirtualRuntime()) {
  const cluster = new Cluster({ picker: 'roundRobin', slowStart: 0, ...options }, world.env('shop'))
  cluster.update(ids.map((id) => ({ id })))
  return { world, cluster }
}

const refused = () => Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })

describe('layers', () => {
  const cluster = () => shop(['a']).cluster
  const kinds = (made: { pipeline: { explain(): string } }) =>
    made.pipeline
      .explain()
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(' ')[1])

  test('by default an operation has a second, an attempt 100 ms', () => {
    const made = client('shop', cluster())
    expect(kinds(made)).toEqual(['deadline', 'retry', 'holdBack', 'heed', 'balance', 'timeout'])
    expect(made.pipeline.explain()).toMatch(/deadline within 1000.*\n.*retry attempts 3[^]*timeout after 100$/)
  })

  test('a list gets the cluster and the timeout that it lacks', () => {
    const one = cluster()
    expect(kinds(client('shop', one, []))).toEqual(['holdBack', 'heed', 'balance', 'timeout'])
    const mine = [retry(), timeout({ after: '2s' })]
    expect(kinds(client('shop', one, mine))).toEqual(['retry', 'timeout', 'holdBack', 'heed', 'balance'])
    const own = [balance({ cluster: one }), breaker(), timeout({ after: '2s' })]
    expect(kinds(client('shop', one, own))).toEqual(['holdBack', 'heed', 'balance', 'breaker', 'timeout'])
    expect(kinds(client('shop', one, [...own, holdBack()]))).toEqual([
      'heed',
      'balance',
      'breaker',
      'timeout',
      'holdBack',
    ])
    expect(kinds(client('shop', one, own, { holdBack: false, heed: false }))).toEqual(['balance', 'breaker', 'timeout'])
  })

  test('balance over somebody else is refused', () => {
    for (const other of [balance({ cluster: cluster() }), balance({ endpoints: [{ id: 'a' }] })])
      expect(() => client('shop', cluster(), [other])).toThrow(/client\.layers: expected balance\(\{ cluster \}\)/)
  })

  test.each<[ClientOptions, RegExp]>([
    [{ bodyAtMost: 0 }, /client\.bodyAtMost/],
    [{ connectTimeout: 'soon' as never }, /client\.connectTimeout/],
    [{ fetch: 'fetch' as never }, /client\.fetch: expected a function such as fetch/],
    [{ drian: 1 } as never, /client\.drian: expected no such field/],
    [{ margin: -1 }, /client\.margin: expected a span/],
    [{ propagate: 'yes' as never }, /client\.propagate: expected true or false/],
    [{ limits: { mostTimeout: 0 } }, /client\.limits\.mostTimeout: expected a span/],
    [{ limits: { onExcess: 'warn' as never } }, /client\.limits\.onExcess: expected one of "refuse", "cap"/],
  ])('%j is refused', (options, message) => {
    expect(() => client('shop', cluster(), [], options)).toThrow(message)
  })
})

describe('call', () => {
  test('the work is told where it goes, and its answer comes through', async () => {
    const { world, cluster } = shop(['a', 'b'])
    const shopping = client('shop', cluster, undefined, { runtime: world })
    const went = [await shopping.call((c) => c.endpoint?.id), await shopping.call(async (c) => c.endpoint?.id)]
    expect(new Set(went)).toEqual(new Set(['a', 'b']))
  })

  test('who was refused goes elsewhere, whatever the work, and the endpoint is out at once', async () => {
    const { world, cluster } = shop(['a', 'b'])
    const shopping = client('shop', cluster, [retry({ backoff: { first: 1 } })], { runtime: world })
    const errors = [refused(), unsent(new Error('the broker does not know us'))]
    const went: (string | undefined)[] = []
    const work = (c: { endpoint: { id: string } | null }) => {
      went.push(c.endpoint?.id)
      const error = errors.pop()
      if (error !== undefined) throw error
      return 'ok'
    }
    const result = shopping.call(work)
    await world.advanceAsync('10s')
    expect(await result).toBe('ok')
    expect(new Set(went.slice(0, 2)).size).toBe(2)
    const out = world.events.flatMap((e) => (e.type === 'state' && e.to === 'open' ? [e.why] : []))
    expect(out).toEqual(['cannot connect: unknown', 'cannot connect: ECONNREFUSED'])
  })

  test('what may have been executed is tried again only if that does no harm', async () => {
    const { world, cluster } = shop(['a', 'b', 'c'])
    const shopping = client('shop', cluster, [retry({ backoff: { first: 1 } })], { runtime: world })
    const error = new Error('reset')
    let calls = 0
    const work = () => {
      calls++
      return Promise.reject(error)
    }
    await expect(shopping.call(work)).rejects.toBe(error)
    expect(calls).toBe(1)
    const again = shopping.call(work, { idempotent: true })
    again.catch(() => {})
    await world.advanceAsync('10s')
    await expect(again).rejects.toBe(error)
    // Two endpoints, and not a third: what fails everywhere is the call's own fault.
    expect(calls).toBe(3)
  })

  test('an attempt has 100 ms, an operation a second', async () => {
    const { world, cluster } = shop(['a', 'b'])
    const shopping = client('shop', cluster, undefined, { runtime: world })
    const signals: AbortSignal[] = []
    const error = shopping
      .call(({ signal }) => {
        signals.push(signal)
        return new Promise(() => {})
      })
      .catch((e: unknown) => e)
    await world.advanceAsync(100)
    expect(isTimeout(await error)).toBe(true)
    expect(signals.map((s) => s.aborted)).toEqual([true])
  })

  test('a classifier of the client or of the call judges what was sent', async () => {
    const { world, cluster } = shop(['a'])
    const shopping = client('shop', cluster, [], { runtime: world, classify: () => 'overload' })
    await shopping.call(() => 1)
    await shopping.call(() => 2, { classify: () => 'failure' })
    await shopping.call(() => Promise.reject(refused())).catch(() => {})
    expect(shopping.pipeline.inspect()).toMatchObject({ calls: { overload: 1, failure: 2 } })
  })

  test('a refusal, an abort and a throw come through as they are', async () => {
    const { world, cluster } = shop([])
    const shopping = client('shop', cluster, [], { runtime: world })
    expect(isRejected(await shopping.call(() => 1).catch((e: unknown) => e))).toBe(true)
    cluster.update([{ id: 'a' }])
    const reason = { no: 'error' }
    await expect(shopping.call(() => 1, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    await expect(
      shopping.call(() => {
        throw reason
      }),
    ).rejects.toBe(reason)
  })

  test('thenables of anybody', async () => {
    const { world, cluster } = shop(['a'])
    const shopping = client('shop', cluster, [], { runtime: world })
    expect(
      await shopping.call(
        () =>
          ({
            then: (r: (n: number) => void) => {
              r(1)
              r(2)
            },
          }) as PromiseLike<number>,
      ),
    ).toBe(1)
    const trap = {
      get then(): never {
        throw new Error('a trap')
      },
    }
    await expect(shopping.call(() => trap as never)).rejects.toThrow('a trap')
  })

  test('C38 close() ends the waits, refuses new calls, leaves nothing; twice is harmless', async () => {
    const { world, cluster } = shop(['a'])
    const shopping = client(
      'shop',
      cluster,
      [deadline({ within: '1m' }), queue({ atMost: '30s' }), bulkhead({ slots: 1 })],
      { runtime: world },
    )
    const running = shopping.call(() => new Promise((resolve) => world.after(50, () => resolve('done'))))
    const queued = shopping.call(() => 1).catch((e: unknown) => e)
    await world.settle()
    await Promise.all([shopping.close(), shopping.close()])
    expect(isRejected(await queued)).toBe(true)
    const late = await shopping.call(() => 1).catch((e: unknown) => e)
    expect(late).toMatchObject({ code: 'closed' })
    await world.advanceAsync(50)
    expect(await running).toBe('done')
    expect(world.timers).toBe(0)
    await using own = client('shop', cluster)
    expect(own.inspect()).toMatchObject({ kind: 'client', path: 'shop', pools: [] })
  })

  test('it hears of its layers, and listeners of the cluster are independent of it', async () => {
    const cluster = new Cluster({}, envOf(systemRuntime, 'shop'))
    cluster.update([{ id: 'a' }])
    const shopping = client('shop', cluster, [breaker({ consecutive: 1 })])
    const types: string[] = []
    const stop = shopping.on((event) => types.push(event.type))
    await shopping.call(() => Promise.reject(new Error('x'))).catch(() => {})
    stop[Symbol.dispose]()
    expect(types).toEqual(['state'])
    await shopping.close()
  })
})
