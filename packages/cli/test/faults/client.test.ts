import { request as send } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import { ask, wire } from '../support/http.ts'
import { startOrigin } from '../support/origin.ts'
import { until } from '../support/until.ts'

// What goes wrong in front of the gateway. Afterwards nothing runs, no permit is held and no socket is left.

const MB = 1024 * 1024
const endpoint = [{ kind: 'breaker' }, { kind: 'bulkhead', slots: 1000 }]
const config = { layers: [], endpoint }

// C32: the client goes away, or trickles.
describe('C32: clients that leave', () => {
  test('before the answer: the upstream hears of it, and it is nobody’s failure', async () => {
    const origin = await startOrigin(() => {})
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const requests = Array.from({ length: 100 }, () => {
      const request = send({ host: '127.0.0.1', port: gateway.port, agent: false })
      request.on('error', () => {})
      request.end()
      return request
    })
    await until(() => origin.seen.length === 100)
    for (const request of requests) request.destroy()
    await until(() => origin.sockets.size === 0)
    const seen = await gateway.quiet()
    expect(seen.pipeline.calls).toMatchObject({ ignored: 100, failure: 0, timeout: 0 })
    expect(seen.upstreams[0]?.failures).toEqual({ 'given-up': 100 })
    expect(seen.gateway.clientsGone).toBe(100)
    expect(seen.upstreams[0]?.connections).toEqual({ open: 0, waiting: 0 })
  })

  test('while the answer streams', async () => {
    const origin = await startOrigin((_request, response) => {
      const timer = setInterval(() => response.write('x'.repeat(10_000)), 5)
      response.on('close', () => clearInterval(timer))
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => line.text.length > 100_000)
    line.socket.destroy()
    await until(() => origin.sockets.size === 0)
    expect((await gateway.quiet()).gateway.clientsGone).toBe(1)
  })

  test('in the middle of an upload: the upstream never takes it for the whole', async () => {
    let whole = false
    const origin = await startOrigin((request) => {
      request.resume()
      request.on('end', () => {
        whole = true
      })
      request.on('error', () => {})
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    // More than is collected before a server is asked.
    const part = `11170\r\n${'x'.repeat(70_000)}\r\n`
    for (const [i, head] of ['Content-Length: 200000', 'Transfer-Encoding: chunked'].entries()) {
      const line = await wire(gateway.port, `POST / HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n${part}`)
      await until(() => origin.seen.length === i + 1)
      line.socket.destroy()
      await until(() => origin.sockets.size === 0)
      await gateway.quiet()
    }
    expect(origin.seen).toHaveLength(2)
    expect(whole).toBe(false)
  })

  test('in the middle of a small upload: no server ever hears of it', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config })
    for (const [i, head] of ['Content-Length: 1000', 'Transfer-Encoding: chunked'].entries()) {
      const line = await wire(gateway.port, `POST / HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n5\r\nhello\r\n`)
      await until(async () => (await gateway.inspect()).gateway.keptBytes > 0)
      line.socket.destroy()
      const seen = await gateway.quiet()
      expect(seen.pipeline.calls).toMatchObject({ success: 0, ignored: i + 1, failure: 0 })
    }
    expect((await gateway.inspect()).gateway.clientsGone).toBe(2)
    expect(origin.seen).toHaveLength(0)
  })

  test('while they wait in a queue or for a retry', async () => {
    const origin = await startOrigin((_request, response) => {
      response.writeHead(503)
      response.end()
    })
    const retry = { kind: 'retry', backoff: { first: '60s', atMost: '60s' } }
    const gateway = await startGateway({ upstreams: [origin.port], config: { layers: [retry] } })
    const line = await wire(gateway.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(async () => (await gateway.inspect()).gateway.inFlight === 1 && origin.seen.length === 1)
    line.socket.destroy()
    await gateway.quiet()

    const slow = await startOrigin(() => {})
    const queued = await startGateway({
      upstreams: [slow.port],
      config: {
        layers: [
          { kind: 'queue', atMost: '60s' },
          { kind: 'bulkhead', slots: 1 },
        ],
        endpoint: [],
      },
    })
    const lines = [await wire(queued.port), await wire(queued.port)]
    for (const each of lines) each.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(async () => (await queued.inspect()).gateway.inFlight === 2 && slow.seen.length === 1)
    for (const each of lines) each.socket.destroy()
    await queued.quiet()
  })

  test('with requests of which the answer was not yet due', async () => {
    const origin = await startOrigin(() => {})
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, 'GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => origin.seen.length === 2)
    line.socket.destroy()
    await until(() => origin.sockets.size === 0)
    expect((await gateway.quiet()).gateway.clientsGone).toBe(2)
  })
})

describe('C32: clients that trickle', () => {
  test('a slow reader is cut after the stall limit, and its upstream let go', async () => {
    const origin = await startOrigin((_request, response) => {
      const more = (): void => {
        while (response.write(Buffer.alloc(65_536)));
      }
      response.on('drain', more)
      more()
    })
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { stall: '1s' } } })
    const socket = connect(gateway.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => origin.seen.length === 1)
    await until(() => origin.sockets.size === 0)
    await gateway.quiet()
    socket.destroy()
  })

  test('a reader that takes a little all the time is not cut', async () => {
    const total = 4 * MB
    const origin = await startOrigin((_request, response) => response.end(Buffer.alloc(total)))
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { stall: '2s' } } })
    const socket = connect(gateway.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    let length = 0
    let cut = false
    socket.on('error', () => {
      cut = true
    })
    for await (const chunk of socket) {
      length += (chunk as Buffer).length
      await pause(20)
    }
    expect(cut).toBe(false)
    expect(length).toBeGreaterThan(total)
    await gateway.quiet()
  })

  test('an upload that stops is told so, and its upstream let go', async () => {
    const origin = await startOrigin((request) => void request.resume())
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { idle: '1s' } } })
    const half = 'x'.repeat(100_000)
    const line = await wire(gateway.port, `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n${half}`)
    await until(() => line.closed)
    expect(line.statuses).toEqual([408])
    expect(origin.seen).toHaveLength(1)
    await until(() => origin.sockets.size === 0)
    const seen = await gateway.quiet()
    expect(seen.pipeline.calls).toMatchObject({ ignored: 1, failure: 0, timeout: 0 })
  })

  test('a small upload that stops is told so, and no server hears of it', async () => {
    const origin = await startOrigin((request) => void request.resume())
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { idle: '1s' } } })
    const line = await wire(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc')
    await until(() => line.closed)
    expect(line.statuses).toEqual([408])
    expect(origin.seen).toHaveLength(0)
    await gateway.quiet()
  })

  test('an upload that takes too long in all is told so', async () => {
    const origin = await startOrigin((request) => void request.resume())
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { request: '1s' } } })
    const line = await wire(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n')
    const timer = setInterval(() => line.write('x'), 100)
    await until(() => line.closed)
    clearInterval(timer)
    expect(line.statuses).toEqual([408])
    await until(() => origin.sockets.size === 0)
    await gateway.quiet()
  })

  test('a head that does not end is told so', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { head: '1s' } } })
    const line = await wire(gateway.port, 'GET / HTTP/1.1\r\nHost: x\r\n')
    await until(() => line.closed)
    expect(line.statuses).toEqual([408])
    expect(origin.seen).toHaveLength(0)
    await gateway.quiet()
    expect((await ask(gateway.port)).status).toBe(200)
  })

  test('an idle connection is closed after its time', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { keepAlive: '1s' } } })
    const line = await wire(gateway.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => line.closed)
    expect(line.statuses).toEqual([200])
    await gateway.quiet()
  })
})
