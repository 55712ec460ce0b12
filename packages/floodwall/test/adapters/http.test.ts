import { EventEmitter } from 'node:events'
import type { RequestListener } from 'node:http'
import { bulkhead, pipeline, timeout } from 'floodwall'
import { callOf, type HttpOptions, type Listener, protect } from 'floodwall/http'
import { describe, expect, test } from 'vitest'
import { leftIn, NOTHING } from '../core/fate.ts'
import { ask, asking, until } from './client.ts'
import { heard } from './frameworks.ts'
import { serving } from './serving.ts'

// What is node:http's own: who hears of a listener that threw.

function house(listener: Listener, options?: HttpOptions) {
  const p = pipeline('door', [bulkhead({ slots: 1 }), timeout({ after: '1s' })])
  const guard = protect(p, listener, options)
  const seen: unknown[] = []
  return {
    p,
    guard,
    heard: seen,
    collecting: (...args: Parameters<RequestListener>) =>
      void heard(guard, ...args).catch((error: unknown) => seen.push(error)),
  }
}

const ERROR = new Error('mine')
const LISTENERS: Readonly<Record<string, Listener>> = {
  'throws at once': () => {
    throw ERROR
  },
  'throws later': async () => {
    await null
    throw ERROR
  },
}

describe.each(Object.entries(LISTENERS))('a listener that %s', (_, listener) => {
  test('is answered for, and the returned promise rejects with the error when the answer is over', async () => {
    const { p, collecting, heard: seen } = house(listener)
    await using server = await serving(collecting)
    const { status, body } = await ask({ port: server.port })
    await until(() => seen.length === 1)
    expect([status, JSON.parse(body), seen[0] === ERROR]).toMatchObject([
      500,
      { code: 'internal', detail: 'The request failed.' },
      true,
    ])
    expect([p.inspect()['calls'], leftIn(undefined, p)]).toMatchObject([{ failure: 1 }, NOTHING])
  })

  test('is heard of by Node, where the server captures rejections, and its caller has the whole answer', async () => {
    const { p, guard } = house(listener)
    EventEmitter.captureRejections = true
    await using server = await serving(guard)
    EventEmitter.captureRejections = false
    const { status, body } = await ask({ port: server.port })
    expect([status, JSON.parse(body).code]).toEqual([500, 'internal'])
    await until(() => leftIn(undefined, p).used === 0)
  })

  test('is told to onError, which answers', async () => {
    const told: unknown[] = []
    const { collecting, heard: seen } = house(listener, {
      onError: (error, request, response) => {
        told.push(error, callOf(request) !== undefined)
        response.writeHead(418).end('mine')
      },
    })
    await using server = await serving(collecting)
    const { status, body } = await ask({ port: server.port })
    expect([status, body, told[0] === ERROR, told[1], seen]).toEqual([418, 'mine', true, true, []])
  })

  test('and an onError that throws itself: that is heard of', async () => {
    const worse = new Error('worse')
    const { collecting, heard: seen } = house(listener, {
      onError: () => {
        throw worse
      },
    })
    await using server = await serving(collecting)
    expect((await ask({ port: server.port })).status).toBe(500)
    await until(() => seen.length === 1)
    expect(seen[0] === worse).toBe(true)
  })
})

test('a listener that throws after its head: the answer is cut off, and the slot comes back', async () => {
  const {
    p,
    collecting,
    heard: seen,
  } = house(async (_, response) => {
    response.writeHead(200, { 'content-length': 100 }).write('half')
    await null
    throw ERROR
  })
  await using server = await serving(collecting)
  await expect(ask({ port: server.port })).rejects.toThrow('aborted')
  await until(() => seen.length === 1)
  expect([seen[0] === ERROR, leftIn(undefined, p)]).toEqual([true, NOTHING])
})

test('a listener that answers through a callback may return at once', async () => {
  const { collecting } = house((_, response) => void setTimeout(() => response.end('later'), 5))
  await using server = await serving(collecting)
  expect((await ask({ port: server.port })).body).toBe('later')
})

test('a listener that stops because it was told to is no error', async () => {
  for (const echo of [
    (reason: unknown) => reason,
    (reason: unknown) => new Error('query failed', { cause: reason }),
    () => new DOMException('aborted', 'AbortError'),
  ]) {
    const {
      p,
      guard,
      collecting,
      heard: seen,
    } = house(
      (_, __, call) =>
        new Promise((___, reject) => {
          call.signal.addEventListener('abort', () => reject(echo(call.signal.reason) as Error))
        }),
    )
    await using server = await serving(collecting)
    const { sent } = asking({ port: server.port })
    await until(() => leftIn(undefined, p).used === 1)
    sent.destroy()
    await until(() => guard.inspect()['running'] === 0)
    expect([seen, leftIn(undefined, p)]).toEqual([[], NOTHING])
  }
})

test('a listener that goes on after its time and then breaks is heard of', async () => {
  const p = pipeline('door', [bulkhead({ slots: 1 }), timeout({ after: 20 })])
  const seen: unknown[] = []
  const guard = protect(p, async () => {
    await new Promise((resolve) => setTimeout(resolve, 60))
    throw ERROR
  })
  await using server = await serving(
    (...args) => void heard(guard, ...args).catch((error: unknown) => seen.push(error)),
  )
  expect((await ask({ port: server.port })).status).toBe(504)
  await until(() => seen.length === 1)
  expect([seen[0] === ERROR, leftIn(undefined, p)]).toEqual([true, NOTHING])
})

test('a listener that never ends gives its slot back after a while, and that is told', async () => {
  const p = pipeline('door', [bulkhead({ slots: 1 }), timeout({ after: 10 })])
  const events: unknown[] = []
  using _ = p.on(({ type }) => events.push(type))
  const guard = protect(p, () => new Promise(() => {}), { abandonedAtMost: 60 })
  await using server = await serving(guard)
  expect((await ask({ port: server.port })).status).toBe(504)
  expect(leftIn(undefined, p).used).toBe(1)
  await until(() => leftIn(undefined, p).used === 0)
  expect([events, guard.inspect()['running']]).toEqual([['lapsed'], 0])
})

/** A client that comes, is handled and leaves unanswered. */
async function leaving(listener: Listener) {
  const p = pipeline('door', [bulkhead({ slots: 1 })])
  let came = false
  let left = false
  const guard = protect(p, (request, response, call) => {
    call.signal.addEventListener('abort', () => (left = true))
    came = true
    return listener(request, response, call)
  })
  const server = await serving(guard)
  const { sent } = asking({ port: server.port })
  await until(() => came)
  // What the listener returned is heard.
  await new Promise((resolve) => setImmediate(resolve))
  sent.destroy()
  await until(() => left)
  return { p, guard, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

test('a listener that goes on although its client has left has its slot until its promise', async () => {
  let end = () => {}
  await using house = await leaving(() => new Promise<void>((resolve) => (end = resolve)))
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect([leftIn(undefined, house.p).used, house.guard.inspect()['running']]).toEqual([1, 1])
  end()
  await until(() => leftIn(undefined, house.p).used === 0)
  expect(house.guard.inspect()['running']).toBe(0)
})

test('a listener whose promise came before its answer, and whose client leaves, gives its slot back', async () => {
  await using house = await leaving(async () => {})
  await until(() => leftIn(undefined, house.p).used === 0)
  expect(house.guard.inspect()['running']).toBe(0)
})

test('options that are wrong are told of when the listener is made', () => {
  const wrong: HttpOptions = { trust: ['10.0.0.0/33'], atMost: 'soon' as never, key: 'ip' as never, exempt: ['health'] }
  expect(() => protect(pipeline('p', []), () => {}, wrong)).toThrow(
    '[config] server.key: expected a function of the request, got "ip"',
  )
  const { key: _, ...rest } = wrong
  expect(() => protect(pipeline('p', []), () => {}, rest)).toThrow(
    /server\.trust: expected addresses and networks such as .*; server\.atMost: expected a span .*; server\.exempt\[0\]: expected a path such as "\/health"/,
  )
  expect(() => protect(pipeline('p', []), () => {}, { retries: 1 } as never)).toThrow(
    /server\.retries: expected no such field; known: trust, /,
  )
})

test('a trust that throws trusts nobody, and the request goes on', async () => {
  const trust = () => {
    throw ERROR
  }
  let within: number | undefined
  const {
    guard,
    collecting,
    heard: seen,
  } = house(
    (_request, response, call) => {
      within = call.remainingMs
      response.end('ok')
    },
    { trust },
  )
  await using server = await serving(collecting)
  const headers = { 'x-floodwall-timeout-ms': '50' }
  expect((await ask({ port: server.port, headers })).status).toBe(200)
  await until(() => guard.inspect()['running'] === 0)
  expect([within, seen]).toEqual([Number.POSITIVE_INFINITY, []])
})
