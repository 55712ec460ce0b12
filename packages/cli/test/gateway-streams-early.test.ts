import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { type IncomingMessage, request as send } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { later } from './support/cleanup.ts'
import { startGateway } from './support/gateway.ts'
import { ask, wire } from './support/http.ts'
import { startOrigin, startTcp } from './support/origin.ts'
import { until } from './support/until.ts'

const KB = 1024
const config = { layers: [], endpoint: [{ kind: 'timeout', after: '2s' }] }

/** A server that answers every request with these bytes, and does `then`. */
function saying(bytes: string | Buffer, next: (socket: Socket) => void = () => {}): ReturnType<typeof startTcp> {
  return startTcp((socket) => {
    socket.on('data', () => {
      socket.write(bytes as string)
      next(socket)
    })
  })
}

describe('an answer before the end of the request', () => {
  /** Larger than is collected, so that it streams. */
  const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${200 * KB}\r\n\r\n`
  const part = 'x'.repeat(100 * KB)

  test.each<[string, (socket: Socket) => void]>([
    ['keeps reading', () => {}],
    ['closes', (socket) => void socket.end()],
    ['resets a moment later', (socket) => void setTimeout(() => socket.resetAndDestroy(), 100)],
  ])('the server says 413 and %s: the client hears it, and the rest is read', async (_name, next) => {
    let said = false
    const origin = await startTcp((socket) => {
      socket.on('data', () => {
        if (said) return
        said = true
        socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig')
        next(socket)
      })
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, head + part)
    await until(() => line.text.endsWith('big'))
    line.write(part)
    // What is known to be short is read, and the connection goes on.
    line.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    said = false
    await until(() => line.statuses.length === 2)
    expect(line.statuses).toEqual([413, 413])
    line.socket.destroy()
    await gateway.quiet()
    await until(() => origin.sockets.size === 0)
  })

  test('the answer streams while the request does, both to their ends', async () => {
    const origin = await startOrigin((request, response) => void request.pipe(response))
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const request = send({ host: '127.0.0.1', port: gateway.port, method: 'POST', agent: false })
    const block = Buffer.alloc(100 * KB, 'a')
    request.write(block)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    let got = 0
    response.on('data', (bytes: Buffer) => {
      got += bytes.length
    })
    for (let sent = block.length; sent <= 10 * block.length; sent += block.length) {
      await until(() => got === sent)
      if (sent < 10 * block.length) request.write(block)
    }
    request.end()
    await once(response, 'end')
    await gateway.quiet()
  })

  test('the server resets in the middle of both: the transfer is broken', async () => {
    const origin = await startTcp((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n')
        setTimeout(() => socket.resetAndDestroy(), 100)
      })
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, head + part)
    await until(() => line.closed)
    expect(line.text).toContain('half')
    expect(line.text.endsWith('0\r\n\r\n')).toBe(false)
    expect((await gateway.quiet()).upstreams[0]?.failures).toEqual({ reset: 1 })
  })
})

describe('bodies that end with their connection', () => {
  const heads = { 'HTTP/1.0': 'HTTP/1.0 200 OK\r\n\r\n', 'HTTP/1.1': 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n' }

  test.each(Object.entries(heads))('%s: the end is the end, in chunks or with a length', async (_name, text) => {
    const origin = await startTcp((socket) => {
      socket.once('data', () => {
        socket.write(text)
        socket.write('a'.repeat(50_000))
        setTimeout(() => socket.end('the end'), 50)
      })
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const answer = await ask(gateway.port)
    expect(answer).toMatchObject({ status: 200, bytes: 50_007 })
    expect(answer.headers).toMatchObject({ 'transfer-encoding': 'chunked' })
    const old = await wire(gateway.port, 'GET / HTTP/1.0\r\n\r\n')
    await until(() => old.closed)
    expect(old.text.endsWith('the end')).toBe(true)
    await gateway.quiet()
  })

  test.each(Object.entries(heads))('%s: a reset in the middle is no end', async (_name, text) => {
    const origin = await startTcp((socket) => {
      socket.once('data', () => {
        socket.write(text)
        socket.write('a'.repeat(50_000))
        setTimeout(() => socket.resetAndDestroy(), 100)
      })
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    await expect(ask(gateway.port)).rejects.toThrow(/aborted|ECONNRESET/)
    expect((await gateway.quiet()).upstreams[0]?.failures).toEqual({ reset: 1 })
  })
})

describe('answers that are too long, too short or too many', () => {
  test.each([
    ['bytes behind the body', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokEXTRA'],
    [
      'a second answer',
      `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok${'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'}`,
    ],
    ['bytes behind a 204', 'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n'],
    ['bytes behind a 304', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nevil'],
  ])('%s: the answer stands, and its connection is not used again', async (_name, text) => {
    const origin = await saying(text)
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port)
    for (let i = 1; i <= 20; i++) {
      line.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
      await until(() => line.statuses.length === i)
      await pause(5)
    }
    expect(line.text).not.toMatch(/evil|EXTRA/)
    line.socket.destroy()
    await gateway.quiet()
    await until(() => origin.sockets.size === 0)
  })

  test('less than was said: broken', async () => {
    const origin = await saying('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort', (socket) => void socket.end())
    const gateway = await startGateway({ upstreams: [origin.port], config })
    await expect(ask(gateway.port)).rejects.toThrow(/aborted|ECONNRESET|hang up/)
    await gateway.quiet()
  })

  test('garbage instead of a chunk: broken', async () => {
    const origin = await saying('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n')
    const gateway = await startGateway({ upstreams: [origin.port], config })
    await expect(ask(gateway.port)).rejects.toThrow(/aborted|ECONNRESET|hang up/)
    expect((await gateway.quiet()).upstreams[0]?.failures).toEqual({ invalid: 1 })
  })
})

// C33: interim answers are not the answer.
describe('C33: interim answers', () => {
  const final = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
  const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </x.css>; rel=preload\r\n\r\n'

  test.each([
    ['100 unasked', `HTTP/1.1 100 Continue\r\n\r\n${final}`],
    ['103', hints + final],
    ['100, 102 and 103', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 x\r\n\r\n${hints}${final}`],
  ])('%s, then 200, in any pieces', async (_name, text) => {
    for (const size of [text.length, 1, 7]) {
      const origin = await startTcp((socket) => {
        socket.setNoDelay(true)
        const say = async (): Promise<void> => {
          for (let at = 0; at < text.length; at += size) {
            socket.write(text.slice(at, at + size))
            if (size < text.length) await pause(1)
          }
        }
        socket.on('data', () => void say())
      })
      const gateway = await startGateway({ upstreams: [origin.port], config })
      const line = await wire(gateway.port)
      for (let i = 1; i <= 2; i++) {
        line.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
        await until(() => line.text.split('\r\n\r\nok').length === i + 1)
      }
      expect(line.statuses).toEqual([200, 200])
      // The connection is as good as before.
      expect(origin.sockets.size).toBe(1)
      await gateway.quiet(1)
    }
  })

  test.each([
    ['with the words', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
    ['without', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ])('101 unasked, %s, is a 502', async (_name, text) => {
    const origin = await saying(text)
    const gateway = await startGateway({ upstreams: [origin.port], config })
    expect((await ask(gateway.port)).status).toBe(502)
    await gateway.quiet()
    await until(() => origin.sockets.size === 0)
  })

  test('what looks like an interim answer in a body is a body', async () => {
    const body = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\n\r\n'
    const origin = await startTcp((socket) => {
      socket.setNoDelay(true)
      socket.on('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`)
        setTimeout(() => socket.write(body), 50)
      })
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    expect((await ask(gateway.port)).body).toBe(body)
    await gateway.quiet()
  })

  test('205, an encoded body unread, HEAD with a length behind a retry', async () => {
    const packed = gzipSync('hello'.repeat(1000))
    let tries = 0
    const origin = await startOrigin((request, response) => {
      if (request.url === '/205') return void response.writeHead(205, { 'content-length': 0 }).end()
      if (request.url === '/gzip') return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed)
      response.writeHead(tries++ % 2 === 0 ? 503 : 200, { 'content-length': 1000 }).end()
    })
    const layers = [{ kind: 'retry', backoff: { first: '1ms' } }]
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, layers } })
    expect(await ask(gateway.port, { path: '/205' })).toMatchObject({ status: 205, bytes: 0 })
    const gzip = await ask(gateway.port, { path: '/gzip' })
    expect(gzip).toMatchObject({ bytes: packed.length, headers: { 'content-encoding': 'gzip' } })
    const bare = await ask(gateway.port, { method: 'HEAD' })
    expect(bare).toMatchObject({ status: 200, bytes: 0, headers: { 'content-length': '1000' } })
    await gateway.quiet()
  })
})

/** The port of a process that listens and never accepts: its queue is full, and who comes gets no answer. */
async function fullPort(): Promise<number> {
  const code = `require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
    require('node:fs').writeSync(1, String(this.address().port))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })`
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  later(() => void child.kill('SIGKILL'))
  const port = Number((await once(child.stdout, 'data'))[0])
  for (let i = 0; i < 5; i++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    later(() => void socket.destroy())
  }
  await pause(200)
  return port
}

/** Sockets that a process has. */
function socketsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:')
    } catch {
      return false
    }
  }).length
}

test('a connection that is being made is given up with its request, not when its time is over', async () => {
  const limits = { connect: '60s' }
  const gateway = await startGateway({ upstreams: [await fullPort()], config: { layers: [], endpoint: [], limits } })
  const before = socketsOf(gateway.pid)
  const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
  const lines = await Promise.all(Array.from({ length: 20 }, () => wire(gateway.port, request)))
  await until(() => socketsOf(gateway.pid) >= before + 40)
  for (const line of lines) line.socket.destroy()
  await until(() => socketsOf(gateway.pid) <= before)
  await gateway.quiet()
})
