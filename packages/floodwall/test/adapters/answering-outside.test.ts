import { type IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fastify } from 'fastify'
import { bulkhead, type Pipeline, pipeline, queue, timeout } from 'floodwall'
import * as forFastify from 'floodwall/fastify'
import { type Listener, protect } from 'floodwall/http'
import { expect, test } from 'vitest'
import { leftIn } from '../core/fate.ts'
import { ask, asking, oneConnection, raw, until } from './client.ts'
import { serving } from './serving.ts'

// Answers that others write, or that are written in another way than most: whoever does what, a slot comes back, once, and not before its work has ended.

const { end, writeHead } = ServerResponse.prototype
const used = (p: Pipeline) => leftIn(undefined, p).used
const door = (slots = 1) => pipeline('door', [bulkhead({ slots })])

test('a head from a timer, ended past the methods, gives its slot back at once', async () => {
  const p = door()
  const guard = protect(p, async (_, response) => {
    await sleep(2)
    setTimeout(() => {
      response.writeHead(204)
      Reflect.apply(end, response, [])
    }, 1)
  })
  await using server = await serving(guard)
  const agent = oneConnection()
  expect((await ask({ port: server.port, agent })).status).toBe(204)
  await until(() => used(p) === 0)
  expect(guard.inspect()['running']).toBe(0)
  agent.destroy()
})

test.each(['its client stays', 'its client leaves'])(
  'who is answered from outside while it waits never runs: %s',
  async (then) => {
    const p = pipeline('door', [queue({ size: 4, atMost: '20s' }), bulkhead({ slots: 1 })])
    let letGo = () => {}
    let ran = 0
    const guard = protect(p, (_, response) => {
      ran++
      letGo = () => void response.end('first')
    })
    // As a timeout of a framework's own.
    const outside: Listener = (request, response) => {
      guard(request, response)
      if (request.url === '/second') setTimeout(() => void response.writeHead(503).end('outside'), 10)
    }
    await using server = await serving(outside as never)
    const first = ask({ port: server.port })
    await until(() => ran === 1)
    const agent = oneConnection()
    expect((await ask({ port: server.port, path: '/second', agent })).body).toBe('outside')
    if (then === 'its client leaves') agent.destroy()
    await until(() => guard.inspect()['running'] === 1)
    letGo()
    await first
    await until(() => guard.inspect()['running'] === 0)
    expect([ran, used(p)]).toEqual([1, 0])
    agent.destroy()
  },
)

test('an end that throws after its head keeps nothing, whether it is tried again or given up', async () => {
  for (const then of ['again', 'destroy'] as const) {
    const p = door()
    const seen: unknown[] = []
    const guard = protect(p, (_, response) => {
      try {
        response.end('x', 'no-such' as BufferEncoding)
      } catch (error) {
        seen.push((error as { code: string }).code)
      }
      if (then === 'again') response.end()
      else response.destroy()
    })
    await using server = await serving(guard)
    await ask({ port: server.port }).catch(() => {})
    await until(() => used(p) === 0 && guard.inspect()['running'] === 0)
    expect(seen).toEqual(['ERR_UNKNOWN_ENCODING'])
  }
})

test('an edge further out answers in time; the slot of the handler within is its own until it ends', async () => {
  const [outer, middle, inner] = [
    pipeline('outer', [timeout({ after: 20 })]),
    pipeline('middle', []),
    pipeline('inner', [bulkhead({ slots: 1 })]),
  ]
  let letGo = () => {}
  const third = protect(inner, () => new Promise<void>((resolve) => (letGo = resolve)))
  const second = protect(middle, (request, response) => {
    third(request, response)
  })
  const guard = protect(outer, (request: IncomingMessage, response) => {
    second(request, response)
  })
  await using server = await serving(guard)
  expect((await ask({ port: server.port })).status).toBe(504)
  expect(used(inner)).toBe(1)
  letGo()
  await until(() => used(inner) === 0)
})

test('who hears that the client has left finds the call aborted, on the first request of a connection too', async () => {
  const seen: unknown[] = []
  const guard = protect(door(), (_, response, call) => {
    call.signal.throwIfAborted()
    response.on('close', () => seen.push(call.signal.aborted))
  })
  await using server = await serving(guard)
  const { sent } = asking({ port: server.port })
  await until(() => guard.inspect()['running'] === 1)
  sent.destroy()
  await until(() => seen.length === 1)
  expect(seen).toEqual([true])
})

test('the verdict is the status that was sent', async () => {
  const p = door()
  const guard = protect(p, (_, response) => {
    response.writeHead(503)
    response.statusCode = 200
    response.end()
  })
  await using server = await serving(guard)
  expect((await ask({ port: server.port })).status).toBe(503)
  expect(p.inspect()['calls']).toMatchObject({ overload: 1, success: 0 })
})

test('several on one connection, ended past the methods, are over with the next request', async () => {
  const p = door(8)
  const guard = protect(p, (_, response) => {
    Reflect.apply(writeHead, response, [200])
    Reflect.apply(end, response, ['past'])
  })
  await using server = await serving(guard)
  const request = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
  const { socket, text } = raw(server.port, request.repeat(4))
  await until(() => (text().match(/past/g) ?? []).length === 4)
  socket.write(request)
  await until(() => (text().match(/past/g) ?? []).length === 5)
  expect(used(p)).toBe(1)
  socket.destroy()
  await until(() => used(p) === 0)
})

test('a request that is injected without a socket gives its slot back, whole or cut off', async () => {
  const p = door()
  const guard = forFastify.protect(p, { leftAtMost: 50 })
  const app = fastify()
  await app.register(guard)
  app.get('/', async () => 'hi')
  app.get('/cut', (_, reply) => void reply.raw.destroy())
  for (let i = 0; i < 3; i++) {
    expect((await app.inject('/')).body).toBe('hi')
    await app.inject('/cut').catch(() => {})
    await until(() => used(p) === 0)
  }
  await Promise.all([guard.close(), app.close()])
})
