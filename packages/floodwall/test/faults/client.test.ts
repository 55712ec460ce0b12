import { getEventListeners } from 'node:events'
import type { Socket } from 'node:net'
import { breaker, bulkhead, type Call, deadline, type Pipeline, pipeline, queue, retry, timeout } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { codeOf, type Fate, fateOf, layerOf, leftIn, NOTHING } from '../core/fate.ts'
import { BadPeer, closedPort, fetched, over, tcp, timers, until } from './peers.ts'

// Real sockets, real time. Whatever the peer does: the caller gets his answer, and no permit, timer, listener or socket is left.

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok'

const layers = (after: `${number}ms` = '80ms') => [
  deadline({ within: '20s' }),
  retry({ attempts: 2, backoff: { first: '5ms', atMost: '5ms' } }),
  queue({ atMost: '10s' }),
  breaker({ atLeast: 1000 }),
  bulkhead({ slots: 4 }),
  timeout({ after }),
]

/** Runs six calls through `p`, and waits until nothing of them is left. */
async function six(p: Pipeline, work: (call: Call) => unknown, peer?: BadPeer): Promise<Fate[]> {
  const before = { timers: timers(), tcp: tcp() - (peer?.sockets.size ?? 0) }
  const { signal } = new AbortController()
  const fates = Array.from({ length: 6 }, () => fateOf(p.call(work, { signal, idempotent: true })))
  await until(() => fates.every((f) => f.state !== 'pending'))
  // The work ends a moment after its caller.
  await until(() => JSON.stringify(leftIn(undefined, p)) === JSON.stringify(NOTHING))
  // A peer that does not read does not see that the other side has gone.
  for (const socket of peer?.sockets ?? []) socket.resume()
  await until(() => peer === undefined || peer.sockets.size === 0)
  await until(() => tcp() <= before.tcp && timers() <= before.timers)
  expect(getEventListeners(signal, 'abort').length).toBe(0)
  return fates
}

describe('node:http', () => {
  const peers: [string, (socket: Socket) => void, string][] = [
    ['accepts and never answers', (socket) => void socket.resume(), 'timeout'],
    ['accepts and does not even read', (socket) => void socket.pause(), 'timeout'],
    ['sends one byte of its head, then nothing', (socket) => void socket.resume().write('H'), 'timeout'],
    ['sends its head and one byte, then nothing', (socket) => void socket.resume().write(OK.slice(0, -1)), 'timeout'],
    [
      'sends a byte now and then, for ever',
      (socket) => {
        socket.resume().write('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n')
        const drip = setInterval(() => socket.write('.'), 10)
        socket.on('close', () => clearInterval(drip))
      },
      'timeout',
    ],
  ]

  test.each(peers)(
    'a peer that %s: each attempt ends by its timeout, and its socket with it',
    async (_, onSocket, code) => {
      await using peer = await BadPeer.listen(onSocket)
      const p = pipeline('p', layers())
      const fates = await six(p, over(peer.port), peer)
      expect(fates.map(codeOf)).toEqual(Array(6).fill(code))
      // Six calls; of the retries the budget allows three.
      expect(peer.accepted).toBe(9)
      expect([layerOf(p, 'timeout')['timeouts'], layerOf(p, 'retry')['retries']]).toEqual([9, 3])
    },
  )

  test('a peer that does not read a large body', async () => {
    await using peer = await BadPeer.listen((socket) => void socket.pause())
    const p = pipeline('p', layers('150ms'))
    const fates = await six(p, over(peer.port, Buffer.alloc(20_000_000)), peer)
    expect(fates.map(codeOf)).toEqual(Array(6).fill('timeout'))
  })

  test('nobody listens: the error of the platform, by identity, after the tries', async () => {
    const port = await closedPort()
    const errors: unknown[] = []
    const work = over(port)
    const p = pipeline('p', layers('5000ms'))
    const fates = await six(p, (call) =>
      work(call).catch((error: unknown) => (errors.push(error), Promise.reject(error))),
    )
    expect(fates.every((f) => f.state === 'failed' && errors.includes(f.value))).toBe(true)
    expect([fates.map(codeOf), errors.length]).toEqual([Array(6).fill('ECONNREFUSED'), 9])
  })

  test('a peer that resets every connection, and one that resets half-way through an answer', async () => {
    for (const head of ['', OK.slice(0, -1)]) {
      await using peer = await BadPeer.listen((socket) => {
        socket.once('data', () => {
          if (head === '') socket.resetAndDestroy()
          else socket.write(head, () => socket.resetAndDestroy())
        })
      })
      const fates = await six(pipeline('p', layers('5000ms')), over(peer.port), peer)
      expect(fates.every((f) => f.state === 'failed' && f.value instanceof Error)).toBe(true)
      expect(peer.accepted).toBe(9)
    }
  })

  test('a peer that is well', async () => {
    await using peer = await BadPeer.listen((socket) => void socket.once('data', () => socket.end(OK)))
    const p = pipeline('p', layers('5000ms'))
    const fates = await six(p, over(peer.port), peer)
    expect([fates.map((f) => f.value), peer.accepted]).toEqual([Array(6).fill('ok'), 6])
  })

  test('the caller leaves: the sockets are closed, his reason comes through, nothing is tried again', async () => {
    await using peer = await BadPeer.listen((socket) => void socket.resume())
    const before = timers()
    const p = pipeline('p', layers('10000ms'))
    const aborter = new AbortController()
    const fates = Array.from({ length: 6 }, () =>
      fateOf(p.call(over(peer.port), { signal: aborter.signal, idempotent: true })),
    )
    await until(() => peer.sockets.size === 4)
    expect(leftIn(undefined, p)).toMatchObject({ used: 4, waiting: 2 })
    const reason = new Error('left')
    aborter.abort(reason)
    await until(() => peer.sockets.size === 0 && leftIn(undefined, p).used === 0)
    await until(() => timers() <= before)
    expect([fates.every((f) => f.value === reason), peer.accepted, leftIn(undefined, p)]).toEqual([true, 4, NOTHING])
    expect(getEventListeners(aborter.signal, 'abort').length).toBe(0)
  })

  test('close() while six are under way: two that wait are refused, four end by their timeout', async () => {
    await using peer = await BadPeer.listen((socket) => void socket.resume())
    const p = pipeline('p', layers('100ms'))
    const fates = Array.from({ length: 6 }, () => fateOf(p.call(over(peer.port), { idempotent: true })))
    p.close()
    await until(
      () => fates.every((f) => f.state !== 'pending') && peer.sockets.size === 0 && leftIn(undefined, p).used === 0,
    )
    expect(fates.map((f) => String(codeOf(f))).sort((a, b) => a.localeCompare(b))).toEqual([
      'closed',
      'closed',
      'timeout',
      'timeout',
      'timeout',
      'timeout',
    ])
    expect([peer.accepted, leftIn(undefined, p)]).toEqual([4, NOTHING])
  })
})

// The sockets of fetch are its own: its pool opens some ahead and keeps them for seconds, whatever becomes of a call.
describe('fetch', () => {
  const peers: [
    what: string,
    onSocket: (socket: Socket) => void,
    late: boolean,
    attempts: number,
    ends: (f: Fate) => boolean,
  ][] = [
    ['never answers', (socket) => void socket.resume(), true, 9, (f) => codeOf(f) === 'timeout'],
    [
      'sends its head and one byte, then nothing',
      (socket) => void socket.resume().write(OK.slice(0, -1)),
      true,
      9,
      (f) => codeOf(f) === 'timeout',
    ],
    [
      'resets',
      (socket) => void socket.once('data', () => socket.resetAndDestroy()),
      false,
      9,
      (f) => f.value instanceof TypeError,
    ],
    ['is well', (socket) => void socket.on('data', () => socket.end(OK)), false, 6, (f) => f.value === 'ok'],
  ]

  test.each(peers)('a peer that %s: nothing of ours is left', async (_, onSocket, late, attempts, ends) => {
    await using peer = await BadPeer.listen(onSocket)
    const p = pipeline('p', layers(late ? '80ms' : '10000ms'))
    const { signal } = new AbortController()
    const reasons: unknown[] = []
    const work = fetched(peer.port)
    const inner: AbortSignal[] = []
    const fates = Array.from({ length: 6 }, () =>
      fateOf(
        p.call(
          (call) => (
            inner.push(call.signal), work(call).catch((error: unknown) => (reasons.push(error), Promise.reject(error)))
          ),
          { signal, idempotent: true },
        ),
      ),
    )
    await until(
      () =>
        fates.every((f) => f.state !== 'pending') && JSON.stringify(leftIn(undefined, p)) === JSON.stringify(NOTHING),
    )
    expect([fates.every(ends), inner.length, getEventListeners(signal, 'abort').length]).toEqual([true, attempts, 0])
    // fetch ends with the reason of our signal, by identity: the caller's error is the one that the work saw.
    expect(fates.every((f) => f.state === 'answered' || reasons.includes(f.value))).toBe(true)
    expect(inner.filter((one) => one.aborted).length).toBe(layerOf(p, 'timeout')['timeouts'])
  })

  test('a body that is read later holds its slot until it has been read, or given up', async () => {
    await using peer = await BadPeer.listen((socket) => {
      socket.once('data', () => {
        socket.write(OK.slice(0, -1))
        setTimeout(() => socket.end('k'), 60)
      })
    })
    const p = pipeline('p', [bulkhead({ slots: 1 }), timeout({ after: '10s' })])
    const head = await p.call(async (call) => {
      const response = await fetch(`http://127.0.0.1:${peer.port}/`, { signal: call.signal })
      return { response, end: call.hold() }
    })
    expect([leftIn(undefined, p).used, codeOf(await settled(fateOf(p.call(() => 1))))]).toEqual([1, 'full'])
    expect(await head.response.text()).toBe('ok')
    head.end('success')
    expect(leftIn(undefined, p)).toEqual(NOTHING)
  })
})

async function settled(fate: Fate): Promise<Fate> {
  await until(() => fate.state !== 'pending')
  return fate
}
