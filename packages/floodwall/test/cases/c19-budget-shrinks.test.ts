import { bulkhead, type Call, deadline, pipeline, queue, retry, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, type Fate, fateOf, hangs, layerOf, leftIn, NOTHING, takes } from '../core/fate.ts'

// Each hop used its own full timeout, so downstream work went on after the caller had given up; retries restarted the clock. (SRE, ch. 22;
// the parts inside one process; what is sent over the wire is tested where the wire is)

function house() {
  const world = new VirtualRuntime()
  const make = (name: string, ...layers: Parameters<typeof pipeline>[1][number][]) =>
    pipeline(name, layers, { runtime: world })
  const sleep = (ms: number) => takes(world, ms, undefined)()
  return { world, make, sleep, server: make('server', deadline({ within: 1000 })) }
}

test('C19 local work, then C, then D, then E: each is given what is left', async () => {
  const { world, make, sleep, server } = house()
  const c = make('c', deadline({ within: 600 }))
  const d = make('d', deadline({ within: 400 }))
  const e = make('e', deadline({ within: 5000, floor: 250 }))
  const sent: Record<string, number> = {}
  let calledE = 0
  let refusal: unknown
  const fate = fateOf(
    server.call(async (parent) => {
      await sleep(300)
      await c.call((call) => ((sent['c'] = call.remainingMs), sleep(500)), { parent })
      await d.call((call) => ((sent['d'] = call.remainingMs), sleep(1)), { parent })
      await e.call(() => calledE++, { parent }).catch((error: unknown) => (refusal = error))
    }),
    world,
  )
  await world.advanceAsync(801)
  expect(sent).toEqual({ c: 600, d: 200 })
  expect([calledE, refusal]).toMatchObject([
    0,
    {
      code: 'deadline',
      message: '[deadline] refused by e/deadline: 199ms left before the deadline; it can never pass',
    },
  ])
  expect([fate.state, leftIn(world, server, c, d, e)]).toEqual(['answered', NOTHING])
})

test('C19 a retry whose wait would pass the deadline is not made: it fails at once', async () => {
  const { world, make, sleep, server } = house()
  const f = make('f', retry({ backoff: { first: '1h', atMost: '1h' } }))
  const error = new Error('F failed')
  let tries = 0
  const fate = fateOf(
    server.call(async (parent) => {
      await sleep(850)
      return f.call(() => (tries++, Promise.reject(Object.assign(error, { retryAfterMs: 200 }))), {
        parent,
        idempotent: true,
      })
    }),
    world,
  )
  await world.advanceAsync(2000)
  expect([fate.value === error, fate.at, tries, leftIn(world, server, f)]).toEqual([true, 850, 1, NOTHING])
})

test('C19 a child that asks for 5 s ends with its parent; one that is detached does not', async () => {
  const { world, make, server } = house()
  const child = make('child', deadline({ within: 5000 }))
  const kids: Fate[] = []
  const fate = fateOf(
    server.call((parent) => {
      kids.push(fateOf(child.call(hangs, { parent, within: 5000 }), world))
      kids.push(fateOf(child.call(hangs, { parent: parent.detach({ within: 3000, reason: 'audit' }) }), world))
      return hangs()
    }),
    world,
  )
  await world.advanceAsync(6000)
  expect([fate, ...kids].map((f) => [codeOf(f), f.at])).toEqual([
    ['deadline', 1000],
    ['deadline', 1000],
    ['deadline', 3000],
  ])
  expect(leftIn(world, child).running).toBe(0)
})

test('C19 the abort of the caller at 400 ms reaches C', async () => {
  const { world, make, server } = house()
  const c = make('c', timeout({ after: 600 }))
  const aborter = new AbortController()
  let heard: unknown
  const fate = fateOf(
    server.call(
      (parent) =>
        c.call(
          ({ signal }: Call) => {
            signal.addEventListener('abort', () => (heard = [signal.reason, world.now()]))
            return hangs()
          },
          { parent },
        ),
      { signal: aborter.signal },
    ),
    world,
  )
  world.after(400, () => aborter.abort('caller left'))
  await world.advanceAsync(400)
  expect([heard, fate.value, fate.at]).toEqual([['caller left', 400], 'caller left', 400])
})

describe('C19 queue time counts', () => {
  test('50 ms of budget, 45 ms in a queue: 5 ms are left for the work', async () => {
    const { world, make } = house()
    const p = make('p', deadline({ within: 50 }), queue({ atMost: '1s' }), bulkhead({ slots: 1 }))
    void fateOf(p.call(takes(world, 45, 1)))
    let left = 0
    const fate = fateOf(
      p.call((call) => ((left = call.remainingMs), hangs())),
      world,
    )
    await world.advanceAsync(1000)
    expect([left, codeOf(fate), fate.at]).toEqual([5, 'deadline', 50])
  })

  test('work whose time is over while it waits is dropped before it runs', async () => {
    const { world, make } = house()
    const p = make('p', queue({ atMost: '1s' }), bulkhead({ slots: 1 }))
    void fateOf(p.call(takes(world, 100, 1)))
    let ran = 0
    const late = Array.from({ length: 10 }, () =>
      fateOf(
        p.call(() => ran++, { within: 50 }),
        world,
      ),
    )
    await world.advanceAsync(1000)
    expect([ran, late.every((f) => codeOf(f) === 'deadline' && f.at === 50), leftIn(world, p)]).toEqual([
      0,
      true,
      NOTHING,
    ])
  })

  test('with too little left at the head of the line, it is refused there', async () => {
    const { world, make } = house()
    const p = make('p', queue({ atMost: '1s' }), bulkhead({ slots: 1 }), deadline({ within: '1s', floor: 20 }))
    void fateOf(p.call(takes(world, 45, 1)))
    let ran = 0
    const fate = fateOf(
      p.call(() => ran++, { within: 50 }),
      world,
    )
    await world.advanceAsync(1000)
    expect([ran, codeOf(fate), fate.at, layerOf(p, 'bulkhead')['used'], leftIn(world, p)]).toEqual([
      0,
      'deadline',
      45,
      0,
      NOTHING,
    ])
  })
})

test('C19 the clock of an operation is not started anew by its attempts', async () => {
  const { world, make } = house()
  const p = make(
    'p',
    deadline({ within: 1000 }),
    retry({ attempts: 10, backoff: { first: 1, atMost: 1 }, budget: { minimum: 10 } }),
    timeout({ after: 300 }),
  )
  const left: number[] = []
  const fate = fateOf(
    p.call((call) => (left.push(Math.floor(call.remainingMs)), hangs()), { idempotent: true }),
    world,
  )
  await world.advanceAsync(5000)
  expect(left.every((ms, i) => i === 0 || ms < (left[i - 1] as number))).toBe(true)
  expect([left.length, fate.at]).toEqual([4, 1000])
})
