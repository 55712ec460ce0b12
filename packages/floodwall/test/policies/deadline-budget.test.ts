import {
  bulkhead,
  type Call,
  deadline,
  isRejected,
  type Layer,
  pipeline,
  queue,
  retry,
  shrinkDeadline,
} from 'floodwall'
import { ambient } from 'floodwall/server'
import { VirtualRuntime } from 'floodwall/testing'
import { names, readInbound, saidOf, writeOutbound } from 'floodwall/wire'
import { describe, expect, test } from 'vitest'
import { codeOf, fateOf, hangs, leftIn, NOTHING, takes } from '../core/fate.ts'

// The remaining budget shrinks through hops, stages and retries: the input of the case as one history, with the headers that each hop is sent
// and nothing passed along by the author.

/** What a call tells the server that it goes to. */
function sent(call: Call): string | undefined {
  const headers = new Map<string, string>()
  writeOutbound(call, { marginMs: 0 }, (name, value) => headers.set(name, value))
  return headers.get(names.timeout)
}

function house() {
  const world = new VirtualRuntime()
  const on = ambient(world)
  const make = (name: string, ...layers: Layer[]) => pipeline(name, layers, { runtime: world })
  return {
    world,
    make,
    sleep: (ms: number) => takes(world, ms, undefined)(),
    [Symbol.dispose]: () => on[Symbol.dispose](),
  }
}

test('C19 a budget of 1000 ms through local work, C, D, E and F', async () => {
  using scene = house()
  const { world, make, sleep } = scene
  const a = make('a')
  const c = make('c', deadline({ within: 600 }))
  const d = make('d', deadline({ within: 400 }))
  const e = make('e', deadline({ within: 5000, floor: 250 }))
  const f = make('f', retry({ attempts: 3, backoff: { first: 200, atMost: 200 } }))
  const log: unknown[] = []
  const note = (...what: unknown[]) => log.push([world.now(), ...what])

  const header = (name: string) => (name === names.timeout ? '1000' : undefined)
  const { within } = readInbound(header, { trusted: true, mostMs: 60_000, criticalPlus: false })
  const failure = Object.assign(new Error('F failed'), { retryAfterMs: 200 })
  const fate = fateOf(
    a.call(
      async () => {
        await sleep(300)
        await c.call((call) => (note('C', sent(call)), sleep(500)))
        await d.call((call) => (note('D', sent(call)), sleep(1)))
        await e.call(() => note('E')).catch((error: unknown) => note('no E', isRejected(error) && error.code))
        await f.call(() => (note('F'), sleep(49).then(() => Promise.reject(failure))), { idempotent: true })
      },
      { within: within as number },
    ),
    world,
  )
  await world.advanceAsync(5000)
  expect(log).toEqual([
    [300, 'C', '600'],
    [800, 'D', '200'],
    [801, 'no E', 'deadline'],
    [801, 'F'],
  ])
  expect([fate.at, fate.value === failure, leftIn(world, a, c, d, e, f)]).toEqual([850, true, NOTHING])
})

test('C19 a child that asks for 5 s ends with its parent, whose caller leaves at 400 ms', async () => {
  using scene = house()
  const { world, make } = scene
  const [a, c] = [make('a', deadline({ within: 1000 })), make('c', deadline({ within: 5000 }))]
  const aborter = new AbortController()
  const heard: unknown[] = []
  const work = ({ signal, remainingMs }: Call) => {
    heard.push(remainingMs)
    signal.addEventListener('abort', () => heard.push(world.now(), signal.reason))
    return hangs()
  }
  const fate = fateOf(
    a.call(() => c.call(work, { within: 5000 }), { signal: aborter.signal }),
    world,
  )
  world.after(400, () => aborter.abort('the caller left'))
  await world.advanceAsync(5000)
  expect([heard, fate.at, leftIn(world, c).running]).toEqual([[1000, 400, 'the caller left'], 400, 0])
})

test('C19 of 50 ms the queue takes 45: 5 are left, and are what is sent', async () => {
  using scene = house()
  const { world, make, sleep } = scene
  const [a, room] = [make('a'), make('room', queue({ atMost: '1s' }), bulkhead({ slots: 1 }))]
  void fateOf(room.call(() => sleep(45)))
  const seen: unknown[] = []
  const fate = fateOf(
    a.call(() => room.call((call) => (seen.push(sent(call)), hangs())), { within: 50 }),
    world,
  )
  await world.advanceAsync(1000)
  expect([seen, codeOf(fate), fate.at]).toEqual([['5'], 'deadline', 50])
})

describe('C19 upstreams that stall are given up at the limit of the stage or at the deadline, and their sockets destroyed', () => {
  /** Stages of an exchange, and what each may take. */
  const LIMITS = [
    ['connect', 100],
    ['first byte', 200],
    ['idle', 150],
  ] as const

  /** When each stage of an upstream is over, in milliseconds after it began; Infinity: never. */
  const upstreams = {
    'never finishes the handshake': [Number.POSITIVE_INFINITY],
    'accepts and never answers': [10, Number.POSITIVE_INFINITY],
    'sends headers and then nothing': [10, 20, Number.POSITIVE_INFINITY],
    'sends a byte each 100 ms, for ever': [10, 20, ...Array.from({ length: 1000 }, () => 100)],
  }

  async function exchange(world: VirtualRuntime, call: Call, stages: readonly number[], socket: { open: boolean }) {
    socket.open = true
    call.signal.addEventListener('abort', () => (socket.open = false))
    for (const [i, took] of stages.entries()) {
      const [name, limit] = LIMITS[Math.min(i, LIMITS.length - 1)] as (typeof LIMITS)[number]
      const given = shrinkDeadline(call, limit)
      await takes(world, Math.min(took, given), 0)()
      if (took < given) continue
      socket.open = false
      throw Object.assign(new Error(`${name} took too long`), { name: 'TimeoutError' })
    }
  }

  test.each([
    ['never finishes the handshake', 1000, 100],
    ['accepts and never answers', 1000, 210],
    ['sends headers and then nothing', 1000, 180],
    ['sends a byte each 100 ms, for ever', 1000, 1000],
    ['never finishes the handshake', 60, 60],
    ['accepts and never answers', 60, 60],
    ['sends headers and then nothing', 60, 60],
    ['sends a byte each 100 ms, for ever', 60, 60],
  ] as const)('%s, of %d ms', async (kind, within, end) => {
    using scene = house()
    const { world, make } = scene
    const [a, up] = [make('a'), make('up')]
    const socket = { open: false }
    const fate = fateOf(
      a.call(() => up.call((call) => exchange(world, call, upstreams[kind], socket)), { within }),
      world,
    )
    await world.advanceAsync(3000)
    expect([fate.state, fate.at, socket.open, leftIn(world, a, up)]).toEqual(['failed', end, false, NOTHING])
    if (end === within) expect([codeOf(fate), saidOf('deadline').http]).toEqual(['deadline', 504])
  })
})
