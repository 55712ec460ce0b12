import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, request as send } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { startGateway } from './support/gateway.ts'
import { ask, wire } from './support/http.ts'
import { startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'

const MB = 1024 * 1024
const block = randomBytes(64 * 1024)

/** `total` bytes in blocks; `counted` hears how many were asked for. */
function blocks(total: number, counted: (bytes: number) => void = () => {}): Readable {
  let made = 0
  return new Readable({
    read() {
      if (made >= total) return void this.push(null)
      made += block.length
      counted(made)
      this.push(block)
    },
  })
}

function digestOf(total: number): string {
  const hash = createHash('sha256')
  for (let made = 0; made < total; made += block.length) hash.update(block)
  return hash.digest('hex')
}

async function digest(stream: Readable): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of stream) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

function rssOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
}

describe('bodies stream', () => {
  test.each([
    ['with a length', true],
    ['chunked', false],
  ])('10 MB down and up, %s', async (_name, known) => {
    const total = 10 * MB
    const origin = await startOrigin((request, response) => {
      void digest(request).then((up) => {
        response.writeHead(200, known ? { 'x-digest': up, 'content-length': total } : { 'x-digest': up })
        blocks(total).pipe(response)
      })
    })
    const gateway = await startGateway({ upstreams: [origin.port] })
    const headers = known ? { 'content-length': total } : { 'transfer-encoding': 'chunked' }
    const request = send({ host: '127.0.0.1', port: gateway.port, method: 'PUT', headers, agent: false })
    blocks(total).pipe(request)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(response.headers['x-digest']).toBe(digestOf(total))
    expect(response.headers['content-length']).toBe(known ? String(total) : undefined)
    expect(await digest(response)).toBe(digestOf(total))
    expect(origin.seen[0]?.headers).toMatchObject(
      known ? { 'content-length': String(total) } : { 'transfer-encoding': 'chunked' },
    )
    await gateway.quiet()
  })

  test('a slow reader slows the upstream down, and memory stays flat', async () => {
    const total = 256 * MB
    let made = 0
    const origin = await startOrigin((_request, response) => {
      blocks(total, (bytes) => {
        made = bytes
      }).pipe(response)
    })
    const gateway = await startGateway({ upstreams: [origin.port] })
    await ask(gateway.adminPort, { path: '/healthz', headers: { host: `127.0.0.1:${gateway.adminPort}` } })
    const before = rssOf(gateway.pid)
    const request = send({ host: '127.0.0.1', port: gateway.port, agent: false }).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    let stalled = -1
    await until(async () => {
      const last = made
      await pause(300)
      stalled = made
      return made === last && made > 0
    })
    expect(stalled).toBeLessThan(64 * MB)
    let length = 0
    response.on('data', (chunk: Buffer) => {
      length += chunk.length
    })
    await once(response, 'end')
    expect(length).toBe(total)
    // 256 MB went through; what stays is the heap's own slack.
    expect(rssOf(gateway.pid) - before).toBeLessThan(96 * MB)
    await gateway.quiet()
  })

  test('a slow upstream slows the client down, and its time does not run while the client sends', async () => {
    let resume = (): void => {}
    const origin = await startOrigin((request, response) => {
      request.pause()
      resume = () => {
        request.resume()
        request.on('end', () => response.end('got it'))
      }
    })
    const gateway = await startGateway({ upstreams: [origin.port], config: { endpoint: [] } })
    let sent = 0
    const request = send({ host: '127.0.0.1', port: gateway.port, method: 'POST', agent: false })
    blocks(128 * MB, (bytes) => {
      sent = bytes
    }).pipe(request)
    await until(async () => {
      const last = sent
      await pause(300)
      return sent === last && sent > 0 && origin.seen.length === 1
    })
    expect(sent).toBeLessThan(64 * MB)
    resume()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(response.statusCode).toBe(200)
    response.resume()
    await once(response, 'end')
    await gateway.quiet()
  })

  test('an event is passed on before the next one comes, and no time limit cuts a stream that has begun', async () => {
    let next = (_text: string): void => {}
    const origin = await startOrigin((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      next = (text) => response.write(text)
    })
    const config = { layers: [{ kind: 'deadline', within: '300ms' }], endpoint: [{ kind: 'timeout', after: '200ms' }] }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const request = send({ host: '127.0.0.1', port: gateway.port, agent: false }).end()
    request.on('error', () => {})
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    for (const text of ['data: 1\n\n', 'data: 2\n\n']) {
      await pause(500)
      next(text)
      expect(String((await once(response, 'data'))[0])).toBe(text)
    }
    expect((await gateway.inspect()).gateway.inFlight).toBe(1)
    request.destroy()
    await until(() => origin.sockets.size === 0)
    await gateway.quiet()
  })
})

describe('uploads', () => {
  test('a slow upload is no timeout of the upstream', async () => {
    const origin = await startOrigin()
    const config = { layers: [{ kind: 'deadline', within: '400ms' }], endpoint: [{ kind: 'timeout', after: '300ms' }] }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n')
    for (const part of ['ab', 'cd', 'ef', 'gh', 'ij']) {
      await pause(250)
      line.write(part)
    }
    await until(() => line.statuses.length > 0)
    expect(line.statuses).toEqual([200])
    expect(origin.seen[0]?.body).toBe('abcdefghij')
    await gateway.quiet(1)
  })

  test('after an upload the time limits run', async () => {
    const origin = await startOrigin(() => {})
    const gateway = await startGateway({
      upstreams: [origin.port],
      config: { layers: [], endpoint: [{ kind: 'timeout', after: '200ms' }] },
    })
    expect((await ask(gateway.port, { method: 'POST', body: 'x' })).status).toBe(504)
    await gateway.quiet()
  })

  test('Expect: 100-continue is answered when the upstream reads, and not before a gate has said yes', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port] })
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n'
    const line = await wire(gateway.port, head)
    await until(() => line.statuses.length === 1)
    expect(line.statuses).toEqual([100])
    line.write('hi')
    await until(() => line.statuses.length === 2)
    expect(line.statuses).toEqual([100, 200])
    expect(origin.seen[0]?.headers).not.toHaveProperty('expect')

    const full = await startGateway({
      upstreams: [origin.port],
      config: { layers: [{ kind: 'rateLimit', rate: 1, per: '1h' }] },
    })
    await ask(full.port)
    const refused = await wire(full.port, head)
    await until(() => refused.statuses.length > 0)
    expect(refused.statuses).toEqual([429])
  })

  test('an early answer reaches a client in the middle of a large upload', async () => {
    const origin = await startOrigin((_request, response) => {
      response.writeHead(413, { 'content-type': 'text/plain' })
      response.end('too much')
    })
    const gateway = await startGateway({ upstreams: [origin.port] })
    const request = send({
      host: '127.0.0.1',
      port: gateway.port,
      method: 'POST',
      agent: false,
      headers: { 'content-length': 64 * MB },
    })
    request.on('error', () => {})
    const body = blocks(64 * MB).pipe(request)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(response.statusCode).toBe(413)
    expect(response.headers.connection).toBe('close')
    response.setEncoding('utf8')
    expect(String((await once(response, 'data'))[0])).toBe('too much')
    body.destroy()
    await gateway.quiet()
  })

  test('a refused small upload leaves the connection usable', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({
      upstreams: [origin.port],
      config: { layers: [{ kind: 'rateLimit', rate: 1, per: '1h' }] },
    })
    const line = await wire(gateway.port)
    for (let i = 1; i <= 3; i++) {
      line.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello')
      await until(() => line.statuses.length === i)
    }
    expect(line.statuses).toEqual([200, 429, 429])
    expect(line.text).not.toMatch(/Connection: close/i)
    await gateway.quiet(1)
  })
})
