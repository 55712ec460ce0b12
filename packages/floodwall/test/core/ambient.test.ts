import { AsyncResource } from 'node:async_hooks'
import {
  answered,
  bulkhead,
  type Call,
  type Criticality,
  deadline,
  type Layer,
  type Pipeline,
  pipeline,
  queue,
  retry,
  timeout,
} from 'floodwall'
import { ambient, currentCall } from 'floodwall/server'
import { VirtualRuntime } from 'floodwall/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { codeOf, type Fate, failsAfter, fateOf, hangs, leftIn, NOTHING, takes } from './fate.ts'

// Who is called on whose behalf, when nobody passes the call along.

const on: Disposable[] = []
afterEach(() => {
  for (const one of on.splice(0)) one[Symbol.dispose]()
})

interface House {
  readonly world: VirtualRuntime
  make(name: string, ...layers: Layer[]): Pipeline
  sleep(ms: number): Promise<undefined>
}

/** A world whose switch is on, and pipelines in it. */
function house(): House {
  const world = new VirtualRuntime()
  on.push(ambient(world))
  const make = (name: string, ...layers: Layer[]) => pipeline(name, layers, { runtime: world })
  return { world, make, sleep: (ms: number) => takes(world, ms, undefined)() }
}

describe('inherited three levels deep, with nothing passed along', () => {
  test('the deadline', async () => {
    const { world, make, sleep } = house()
    const [front, orders, stock] = [make('front', deadline({ within: 1000 })), make('orders'), make('stock')]
    const left: number[] = []
    const read = async () => {
      await sleep(100)
      left.push((currentCall(world) as Call).remainingMs)
    }
    const buy = async () => {
      await sleep(300)
      await stock.call(read)
    }
    const fate = fateOf(front.call(() => orders.call(buy)))
    await world.advanceAsync(500)
    expect([fate.state, left, leftIn(world, front, orders, stock)]).toEqual(['answered', [600], NOTHING])
  })

  test('its end, with the same error for all', async () => {
    const { world, make } = house()
    const [a, b, c] = [make('a', deadline({ within: 1000 })), make('b', deadline({ within: 5000 })), make('c')]
    const fates: Fate[] = []
    const follow = (promise: Promise<unknown>) => (fates.push(fateOf(promise, world)), promise)
    void follow(a.call(() => follow(b.call(() => follow(c.call(hangs))))))
    await world.advanceAsync(5000)
    expect(fates.map((fate) => [fate.at, codeOf(fate), fate.value === fates[0]?.value])).toEqual(
      Array.from({ length: 3 }, () => [1000, 'deadline', true]),
    )
    expect([b.inspect()['calls'], leftIn(world, a, b, c)]).toMatchObject([{ ignored: 1 }, NOTHING])
  })

  test('the criticality', async () => {
    const { make } = house()
    const [a, b, c] = [make('a'), make('b'), make('c')]
    const seen: Criticality[] = []
    await a.call(() => b.call(() => c.call((call) => void seen.push(call.criticality))), { criticality: 'sheddable' })
    await a.call(() =>
      b.call(() => c.call((call) => void seen.push(call.criticality)), { criticality: 'criticalPlus' }),
    )
    expect(seen).toEqual(['sheddable', 'criticalPlus'])
  })

  test('the abort, its reason by identity', async () => {
    const { world, make } = house()
    const [a, b, c] = [make('a'), make('b'), make('c')]
    const aborter = new AbortController()
    let deepest: AbortSignal | undefined
    const work = (call: Call) => ((deepest = call.signal), hangs())
    const fate = fateOf(
      a.call(() => b.call(() => c.call(work)), { signal: aborter.signal }),
      world,
    )
    await world.settle()
    const reason = Symbol('left')
    aborter.abort(reason)
    await world.settle()
    expect([fate.value, deepest?.reason, leftIn(world, b, c)]).toEqual([reason, reason, NOTHING])
  })
})

describe('kept', () => {
  const among: Record<string, (house: House, then: () => Promise<unknown>) => Promise<unknown>> = {
    'by a promise': async (_, then) => {
      await null
      await Promise.resolve()
      return then()
    },
    'by Promise.all': (_, then) => Promise.all([null, then(), Promise.resolve()]),
    'by a timer of the runtime': async ({ sleep }, then) => {
      await sleep(100)
      return then()
    },
    "by the callback of the runtime's timer": ({ world }, then) =>
      new Promise((resolve, reject) => void world.after(100, () => void then().then(resolve, reject))),
    'by setTimeout': (_, then) =>
      new Promise((resolve, reject) => void setTimeout(() => void then().then(resolve, reject), 1)),
    'by a microtask': (_, then) =>
      new Promise((resolve, reject) => queueMicrotask(() => void then().then(resolve, reject))),
    'by a bound listener': (_, then) =>
      new Promise((resolve, reject) => {
        const listener = AsyncResource.bind(() => void then().then(resolve, reject))
        setImmediate(() => listener())
      }),
  }

  test.each(Object.keys(among))('%s', async (how) => {
    const scene = house()
    const [outer, inner] = [scene.make('outer', deadline({ within: 1000 })), scene.make('inner')]
    let left = 0
    const call = outer.call(() => among[how]!(scene, () => inner.call(({ deadline: at }) => void (left = at))))
    await new Promise((resolve) => setTimeout(resolve, 5))
    await scene.world.advanceAsync(100)
    await call
    expect(left).toBe(1000)
  })

  test('through a queue: who waits resumes with his own caller, and not with who made place', async () => {
    const { world, make, sleep } = house()
    const room = make('room', queue({ atMost: '10s' }), bulkhead({ slots: 1 }))
    const inner = make('inner')
    const seen: unknown[] = []
    const one = (name: string, within: number) => {
      const outer = make(name, deadline({ within }))
      return outer.call(() =>
        room.call(async () => {
          await sleep(100)
          await inner.call(({ deadline: at }) => void seen.push([name, at]))
        }),
      )
    }
    const all = Promise.all([one('a', 1000), one('b', 2000), one('c', 3000)])
    await world.advanceAsync(300)
    await all
    expect(seen).toEqual([
      ['a', 1000],
      ['b', 2000],
      ['c', 3000],
    ])
  })

  test('through the attempts of a retry, each of which is the parent of its own calls', async () => {
    const { world, make } = house()
    const outer = make('outer', deadline({ within: 1000 }), retry({ attempts: 3, backoff: { first: 10, atMost: 10 } }))
    const inner = make('inner')
    const parents: unknown[] = []
    const left: number[] = []
    const fate = fateOf(
      outer.call(
        async () => {
          await inner.call((call) => {
            parents.push((call.init.parent as Call).attempt)
            left.push(call.deadline)
          })
          throw new Error('again')
        },
        { idempotent: true },
      ),
    )
    await world.advanceAsync(100)
    expect([fate.state, parents, left]).toEqual(['failed', [0, 1, 2], [1000, 1000, 1000]])
  })

  test('by work that answers through a callback', () => {
    const { world, make } = house()
    const [outer, inner] = [make('outer', deadline({ within: 1000 })), make('inner')]
    const left: number[] = []
    outer.start(
      (_, done) =>
        void world.after(10, () => inner.start((call, end) => (left.push(call.deadline), end(answered(1))), done)),
      () => left.push(-1),
    )
    world.advance(10)
    expect(left).toEqual([1000, -1])
  })

  test('in a pipeline of gates alone, whose calls take the short way', async () => {
    const { make } = house()
    const [outer, inner] = [make('outer', bulkhead({ slots: 1 })), make('inner', bulkhead({ slots: 1 }))]
    let parent: Call | undefined
    await outer.call((call) => inner.call((child) => expect(child.init.parent).toBe((parent = call))))
    await outer.outcome((call) => inner.call((child) => expect(child.init.parent).toBe((parent = call))))
    expect(parent).toBeDefined()
  })
})

describe('not inherited', () => {
  test('while the switch is off, which it is at first', async () => {
    const world = new VirtualRuntime()
    const outer = pipeline('outer', [deadline({ within: 1000 })], { runtime: world })
    const inner = pipeline('inner', [], { runtime: world })
    let seen: Call | undefined
    await outer.call(() => inner.call((call) => void (seen = call)))
    expect([seen?.init.parent, seen?.deadline, currentCall(world), currentCall()]).toEqual([
      undefined,
      Number.POSITIVE_INFINITY,
      undefined,
      undefined,
    ])
  })

  test('when another parent is named', async () => {
    const { make } = house()
    const [outer, other, inner] = [make('outer', deadline({ within: 1000 })), make('other'), make('inner')]
    let mine: Call | undefined
    let seen: Call | undefined
    await other.call((call) => void (mine = call))
    await outer.call(() => inner.call((call) => void (seen = call), { parent: mine as Call }))
    expect([seen?.init.parent === mine, seen?.deadline]).toEqual([true, Number.POSITIVE_INFINITY])
  })

  test('by what is detached, nor by what that calls', async () => {
    const { world, make } = house()
    const [outer, commit, inner] = [make('outer', timeout({ after: 100 })), make('commit'), make('inner')]
    const left: number[] = []
    let fate: Fate | undefined
    void fateOf(
      outer.call((call) => {
        const parent = call.detach({ within: 5000, reason: 'commit' })
        const work = () => inner.call(({ remainingMs }) => (left.push(remainingMs), takes(world, 1000, 'done')()))
        fate = fateOf(commit.call(work, { parent }), world)
        return hangs()
      }),
    )
    await world.advanceAsync(2000)
    expect([left, fate?.at, fate?.value]).toEqual([[5000], 1000, 'done'])
  })

  test('from work that has ended: a timer that it left behind goes its own way', async () => {
    const { world, make } = house()
    const [outer, inner] = [make('outer', deadline({ within: 1000 })), make('inner')]
    const fates: Fate[] = []
    const again = () => void fates.push(fateOf(inner.call(({ deadline: at }) => at)))
    await outer.call(() => {
      world.after(10, again)
      world.after(2000, again)
    })
    await world.advanceAsync(2000)
    expect(fates.map((fate) => fate.value)).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY])
  })

  test('but from work that was given up, for which nothing more is begun', async () => {
    const { world, make, sleep } = house()
    const [outer, inner] = [make('outer', timeout({ after: 100 })), make('inner')]
    let ran = false
    let fate: Fate | undefined
    const outside = fateOf(
      outer.call(async () => {
        await sleep(200)
        fate = fateOf(inner.call(() => (ran = true)))
      }),
    )
    await world.advanceAsync(300)
    expect([codeOf(outside), ran, fate?.value === outside.value]).toEqual(['timeout', false, true])
  })

  test('by another runtime', async () => {
    const { make } = house()
    const elsewhere = pipeline('elsewhere', [], { runtime: new VirtualRuntime() })
    let seen: Call | undefined
    await make('outer').call(() => elsewhere.call((call) => void (seen = call)))
    expect(seen?.init.parent).toBeUndefined()
  })
})

test('a thousand requests at once never mix', async () => {
  const { world, make, sleep } = house()
  const [outer, middle, inner] = [
    make('outer'),
    make('middle', retry({ attempts: 2, backoff: { first: 5 } })),
    make('inner'),
  ]
  const mixed: number[] = []
  const one = (n: number) =>
    outer.call(
      async () => {
        await sleep((n * 7919) % 50)
        let tries = 0
        await middle.call(
          async () => {
            if (++tries === 1 && n % 3 === 0) await failsAfter(world, n % 11, new Error('once'))()
            await sleep(n % 13)
            await inner.call((call) => {
              if (call.init.parent?.init.parent?.init.data !== n || call.deadline !== 1000 + n) mixed.push(n)
            })
          },
          { idempotent: true },
        )
      },
      { data: n, within: 1000 + n },
    )
  const all = Promise.allSettled(Array.from({ length: 1000 }, (_, n) => one(n)))
  await world.advanceAsync(500)
  const ended = await all
  // The budget of the retries is spent at some time; who is not tried again is not mixed up either.
  expect(ended.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(600)
  expect([mixed, leftIn(world, outer, middle, inner)]).toEqual([[], NOTHING])
})

describe('the switch', () => {
  test('turned on twice is off when both have let go, and letting go twice is once', () => {
    const world = new VirtualRuntime()
    const [one, other] = [ambient(world), ambient(world)]
    const store = world.ambient.on
    one[Symbol.dispose]()
    one[Symbol.dispose]()
    expect([store !== null, world.ambient.on === store]).toEqual([true, true])
    other[Symbol.dispose]()
    expect(world.ambient.on).toBeNull()
  })

  test('is heard by pipelines that are there already, and by calls under way from then on', async () => {
    const world = new VirtualRuntime()
    const outer = pipeline('outer', [deadline({ within: 1000 })], { runtime: world })
    const inner = pipeline('inner', [], { runtime: world })
    const seen: number[] = []
    const look = () => inner.call((call) => void seen.push(call.deadline))
    using _ = ambient(world)
    await outer.call(look)
    expect(seen).toEqual([1000])
  })

  test('is not there in a runtime that has none', () => {
    expect(() => ambient({})).toThrow('expected a runtime with a switch')
  })
})
