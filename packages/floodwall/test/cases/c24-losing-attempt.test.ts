import {
  answered,
  balance,
  breaker,
  bulkhead,
  type Call,
  Cluster,
  type Done,
  type Env,
  failed,
  type Gate,
  hedge,
  type Layer,
  type Outcome,
  Permit,
  pipeline,
  timeout,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fateOf, layerOf, leftIn, NOTHING } from '../core/fate.ts'

// The attempt that lost was counted as a success or a failure of its host, its slot or body was not released, or a signal of one attempt
// ended the other. (model-hotel #1058, Polly #1340, concurrency-limits #146)

const loose: unknown[] = []
const note = (reason: unknown) => void loose.push(reason)
beforeAll(() => void process.on('unhandledRejection', note))
afterAll(() => {
  process.off('unhandledRejection', note)
  expect(loose).toEqual([])
})

/** What an attempt does: ends after so long, well or with an error. */
interface Does {
  readonly after: number
  readonly error?: unknown
  /** It rejects so long after its signal. */
  readonly rejectsAfter?: number
}

/** A gate that writes down what it hears, by its endpoint. */
function diary(lines: string[]): Layer {
  const build = ({ path }: Env): Gate => {
    const id = path.split('/').at(-2)
    const self: Gate = {
      kind: 'diary',
      path,
      tryAcquire: () => new Permit(self, 0),
      settled: (_, verdict) => void lines.push(`${id} ${verdict}`),
      cancelled: () => void lines.push(`${id} nothing ran`),
      inspect: () => ({ kind: 'diary', path }),
    }
    return self
  }
  return { kind: 'diary', options: {}, build }
}

/** Delay 50 ms, at most 2 attempts, each endpoint with a breaker and a bulkhead of its own. */
function house(attempts: readonly Does[], inner: readonly Layer[] = []) {
  const world = new VirtualRuntime()
  const cluster = new Cluster({ slowStart: 0, picker: 'roundRobin' }, world.env('hosts'))
  cluster.update([{ id: 'H1' }, { id: 'H2' }])
  const lines: string[] = []
  const each = [breaker({ failureRate: 0.1, atLeast: 1 }), diary(lines), bulkhead({ slots: 5 })]
  const layers = [hedge({ after: 50 }), balance({ cluster, each }), ...inner]
  const p = pipeline('p', layers, { runtime: world })
  const calls: Call[] = []
  const aborts: [attempt: number, at: number, reason: unknown][] = []
  const work = (call: Call): Promise<unknown> => {
    calls.push(call)
    const { after, error, rejectsAfter } = attempts[call.attempt] as Does
    return new Promise((resolve, reject) => {
      world.after(after, () => (error === undefined ? resolve(`from ${call.endpoint?.id}`) : reject(error)))
      call.signal.addEventListener('abort', () => {
        aborts.push([call.attempt, world.now(), call.signal.reason])
        if (rejectsAfter !== undefined) world.after(rejectsAfter, () => reject(new Error('aborted, late')))
      })
    })
  }
  /** What the gates of an endpoint have booked. */
  const booked = (id: string) => {
    const member = cluster.members.find(({ endpoint }) => endpoint.id === id)
    const { endpoints } = layerOf(p, 'balance') as unknown as { endpoints: { id: string; layers: object[] }[] }
    const [ofBreaker, , ofSlots] = endpoints.find((e) => e.id === id)?.layers ?? []
    const heard = lines.flatMap((line) => (line.startsWith(`${id} `) ? [line.slice(id.length + 1)] : []))
    return { latency: member?.latencyMs(world.now()), nearness: member?.breaker.nearness(0), heard, ofBreaker, ofSlots }
  }
  const call = (init: object = {}) => fateOf(p.call(work, { idempotent: true, ...init }), world)
  return { world, p, cluster, calls, aborts, booked, call }
}

describe('C24 the primary would take 200 ms, the hedge is sent at 50 and answers at 70', () => {
  const slow = { after: 200, rejectsAfter: 5 }

  test('the result is there at 70, from the other host; the primary’s signal fires then', async () => {
    const { world, p, calls, aborts, call } = house([slow, { after: 20 }])
    const fate = call()
    await world.advanceAsync(69)
    expect([fate.state, calls.length]).toEqual(['pending', 2])
    await world.advanceAsync(1)
    expect([fate.value, fate.at]).toEqual(['from H1', 70])
    expect(new Set(calls.map((c) => c.endpoint?.id))).toEqual(new Set(['H1', 'H2']))
    expect(aborts.map(([attempt, at]) => [attempt, at])).toEqual([[0, 70]])
    const [[, , reason] = []] = aborts
    expect((reason as Error).name).toBe('AbortError')
    // Its late rejection, at 75, is nobody's.
    await world.advanceAsync(300)
    expect([fate.value, leftIn(world, p)]).toEqual(['from H1', NOTHING])
  })

  test('nothing is booked for the host that lost: no success, no failure, no latency', async () => {
    const { world, booked, call, calls } = house([slow, { after: 20 }])
    call()
    await world.advanceAsync(300)
    const [first, second] = calls.map((c) => c.endpoint?.id as string) as [string, string]
    const isWell = { nearness: 0, ofBreaker: { state: 'closed', nearness: 0 } }
    expect(booked(first)).toMatchObject({ ...isWell, latency: undefined, heard: ['ignored'] })
    expect(booked(second)).toMatchObject({ ...isWell, latency: expect.any(Number), heard: ['success'] })
  })

  test('its slot comes back once, when its work has ended', async () => {
    const { world, booked, call, calls } = house([slow, { after: 20 }])
    call()
    await world.advanceAsync(72)
    const [first, second] = calls.map((c) => c.endpoint?.id as string) as [string, string]
    expect([booked(first).ofSlots, booked(second).ofSlots]).toMatchObject([{ used: 1 }, { used: 0 }])
    await world.advanceAsync(3)
    expect(booked(first).ofSlots).toMatchObject({ used: 0 })
    await world.advanceAsync(300)
    expect(booked(first).ofSlots).toMatchObject({ used: 0 })
  })

  test('metrics: one request, two attempts, one of them won', async () => {
    const { world, p, cluster, call } = house([slow, { after: 20 }])
    call()
    await world.advanceAsync(300)
    expect(p.inspect()['calls']).toMatchObject({ success: 1, ignored: 0, failure: 0 })
    expect(cluster.members.map((m) => m.attempts)).toEqual([1, 1])
    expect(layerOf(p, 'hedge')).toMatchObject({ hedges: 1, won: 1 })
  })

  test('a primary that is faster after all wins; the hedge is cancelled', async () => {
    const { world, p, aborts, call } = house([{ after: 60 }, { after: 200, rejectsAfter: 1 }])
    const fate = call()
    await world.advanceAsync(300)
    expect([fate.at, aborts.map(([attempt, at]) => [attempt, at])]).toEqual([60, [[1, 60]]])
    expect([layerOf(p, 'hedge'), leftIn(world, p)]).toMatchObject([{ hedges: 1, won: 0 }, NOTHING])
  })
})

describe('C24 failures', () => {
  const [first, second] = [new Error('one'), new Error('two')]

  test('of the primary at 20 ms: the next attempt begins at once', async () => {
    const { world, p, calls, call } = house([{ after: 20, error: first }, { after: 30 }])
    const fate = call()
    await world.advanceAsync(20)
    expect(calls.length).toBe(2)
    await world.advanceAsync(100)
    expect([fate.state, fate.at, layerOf(p, 'hedge'), leftIn(world, p)]).toMatchObject([
      'answered',
      50,
      { hedges: 1, won: 1 },
      NOTHING,
    ])
  })

  test('of both: one error that carries both, in the order in which they were sent', async () => {
    for (const [a, b] of [
      [20, 30],
      [90, 10],
    ] as const) {
      const { world, p, call } = house([
        { after: a, error: first },
        { after: b, error: second },
      ])
      const fate = call()
      await world.advanceAsync(300)
      const error = fate.value as AggregateError
      expect([fate.state, error.errors[0] === first, error.errors[1] === second, error.cause === first]).toEqual([
        'failed',
        true,
        true,
        true,
      ])
      expect(error.message).toBe('p/hedge: 2 attempts have failed: one; two')
      expect(leftIn(world, p)).toEqual(NOTHING)
    }
  })

  test('of the one, while the other is under way: it is waited for', async () => {
    const { world, call } = house([{ after: 60, error: first }, { after: 100 }])
    const fate = call()
    await world.advanceAsync(300)
    expect([fate.state, fate.at]).toEqual(['answered', 150])
  })
})

test('C24 an inner timeout ends its own attempt, and no other', async () => {
  // Of the primary at 60 ms: the hedge has been under way for 10 ms by then, and goes on.
  const { world, p, aborts, call } = house([{ after: 500, rejectsAfter: 0 }, { after: 40 }], [timeout({ after: 60 })])
  const fate = call()
  await world.advanceAsync(500)
  expect(aborts.map(([attempt, at, reason]) => [attempt, at, (reason as { code?: string }).code])).toEqual([
    [0, 60, 'timeout'],
  ])
  expect([fate.state, fate.at, leftIn(world, p)]).toEqual(['answered', 90, NOTHING])
})

test('C24 an abort by the caller at 55 ends both, with his reason by identity', async () => {
  const slow = { after: 500, rejectsAfter: 0 }
  const { world, p, aborts, booked, call } = house([slow, slow])
  const aborter = new AbortController()
  const reason = { custom: true }
  const fate = call({ signal: aborter.signal })
  await world.advanceAsync(55)
  aborter.abort(reason)
  await world.advanceAsync(0)
  expect([fate.value === reason, fate.at]).toEqual([true, 55])
  expect(aborts).toEqual([
    [0, 55, reason],
    [1, 55, reason],
  ])
  await world.advanceAsync(500)
  for (const id of ['H1', 'H2'])
    expect(booked(id)).toMatchObject({ latency: undefined, heard: ['ignored'], ofSlots: { used: 0 } })
  expect(leftIn(world, p)).toEqual(NOTHING)
})

describe('C24 responses are streams', () => {
  /** Attempts whose answer is a head, with a body that ends `bodyMs` later, or when the attempt is told to stop. */
  function streams(heads: readonly { readonly after: number; readonly verdict?: 'failure' }[], bodyMs: number) {
    const world = new VirtualRuntime()
    const layers = [hedge({ after: 50 }), bulkhead({ slots: 5 })]
    const p = pipeline('p', layers, { runtime: world })
    const bodies: string[] = []
    let outcome: Outcome<unknown> | undefined
    const work = (call: Call, done: Done): void => {
      const { after, verdict = 'success' } = heads[call.attempt] as (typeof heads)[number]
      const cancelHead = world.after(after, () => {
        const release = call.hold()
        const end = (how: string, as: 'success' | 'ignored') => {
          bodies.push(`${call.attempt} ${how} at ${world.now()}`)
          cancelBody()
          release(as)
        }
        const cancelBody = world.after(bodyMs, () => end('read', 'success'))
        call.signal.addEventListener('abort', () => end('destroyed', 'ignored'))
        done(answered(`head ${call.attempt}`, verdict))
      })
      call.signal.addEventListener('abort', () => {
        cancelHead()
        done(failed(new Error('aborted'), 'ignored'))
      })
    }
    p.start(work, (o) => (outcome = o), { idempotent: true })
    const used = () => layerOf(p, 'bulkhead')['used']
    return { world, p, bodies, used, outcome: () => outcome }
  }

  test('the slot of the winner lasts as long as its body, that of the loser is back at once', () => {
    const { world, p, bodies, used, outcome } = streams([{ after: 500 }, { after: 20 }], 100)
    world.advance(69)
    expect(used()).toBe(2)
    world.advance(1)
    expect([outcome()?.value, used()]).toEqual(['head 1', 1])
    world.advance(100)
    expect([bodies, used()]).toEqual([['1 read at 170'], 0])
    world.run()
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('a head that was found wanting does not win, and its body is not left open', () => {
    const { world, p, bodies, used, outcome } = streams([{ after: 10, verdict: 'failure' }, { after: 60 }], 1000)
    world.advance(69)
    expect([outcome(), used()]).toEqual([undefined, 2])
    world.advance(1)
    expect([outcome()?.value, bodies, used()]).toEqual(['head 1', ['0 destroyed at 70'], 1])
    world.run()
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('of two that were found wanting the last is handed up with its body, the other is ended', () => {
    const { world, p, bodies, outcome } = streams(
      [
        { after: 10, verdict: 'failure' },
        { after: 60, verdict: 'failure' },
      ],
      1000,
    )
    world.advance(70)
    expect([outcome(), bodies]).toMatchObject([
      { ok: true, value: 'head 1', verdict: 'failure', noRetry: true },
      ['0 destroyed at 70'],
    ])
    world.run()
    expect([bodies.at(-1), leftIn(world, p)]).toEqual(['1 read at 1070', NOTHING])
  })
})
