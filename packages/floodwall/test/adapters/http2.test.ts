import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ClientHttp2Session, connect, constants, createServer, type IncomingHttpHeaders } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { bulkhead, type Call, type Layer, pipeline, timeout } from 'floodwall'
import { type HttpOptions, protect } from 'floodwall/http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { leftIn } from '../core/fate.ts'
import { until } from './client.ts'

// The requests and responses of node:http2 (its compatibility API) look like those of node:http; the same edge serves them.

type Handler = (request: IncomingMessage, response: ServerResponse, call: Call) => unknown

async function house(layers: readonly Layer[], handler: Handler, options: HttpOptions = {}) {
  const p = pipeline('door', layers)
  const guard = protect(p, handler, options)
  const server = createServer(guard as unknown as Parameters<typeof createServer>[1])
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client: ClientHttp2Session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  client.on('error', () => {})
  onTestFinished(async () => {
    client.destroy()
    server.close()
    await once(server, 'close')
  })
  /** The head of the answer, and the whole body. */
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const stream = client.request({ ':path': path, ...headers })
    const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status': number }]
    let body = ''
    for await (const chunk of stream.setEncoding('utf8')) body += String(chunk)
    return { status: head[':status'], head, body }
  }
  return { p, guard, client, ask, empty: () => leftIn(undefined, p).used === 0 && guard.inspect()['running'] === 0 }
}

describe('node:http2', () => {
  test('passes a request through, and its answer; nothing is left, and nobody was told to stop', async () => {
    let signal: AbortSignal | undefined
    const { p, ask, empty } = await house([bulkhead({ slots: 1 })], ({ url }, response, call) => {
      ;({ signal } = call)
      response.setHeader('x-mine', 'yes')
      response.end(`hello ${url}`)
    })
    for (let i = 0; i < 3; i++) {
      const { status, head, body } = await ask('/a')
      expect([status, head['x-mine'], body]).toEqual([200, 'yes', 'hello /a'])
      await until(empty)
    }
    expect(signal?.aborted).toBe(false)
    expect(p.inspect()['calls']).toMatchObject({ success: 3, ignored: 0 })
  })

  test('a refusal is answered before the handler, and the other streams of the connection live on', async () => {
    const begun: ServerResponse[] = []
    const { ask, empty } = await house([bulkhead({ slots: 1 })], (_, response) => void begun.push(response))
    const first = ask('/')
    await until(() => begun.length === 1)
    const { status, head, body } = await ask('/')
    expect([status, head['content-type'], head['connection']]).toEqual([503, 'application/problem+json', undefined])
    expect(JSON.parse(body)).toMatchObject({ code: 'full' })
    begun[0]?.end('at last')
    expect(await first).toMatchObject({ status: 200, body: 'at last' })
    await until(empty)
  })

  test('a handler that takes too long is answered for; what it writes later goes nowhere', async () => {
    const late: ServerResponse[] = []
    const { ask, empty } = await house([bulkhead({ slots: 1 }), timeout({ after: 30 })], (_, response) => {
      late.push(response)
    })
    const { status, body } = await ask('/')
    expect([status, JSON.parse(body).code]).toEqual([504, 'timeout'])
    late[0]?.writeHead(200)
    late[0]?.end('too late')
    await until(empty)
  })

  test('a client that resets its stream ends the signal, and no other one', async () => {
    const calls: Call[] = []
    const { client, empty } = await house([bulkhead({ slots: 2 })], (_, response, call) => {
      calls.push(call)
      call.signal.addEventListener('abort', () => response.end())
    })
    const [leaves, stays] = [client.request({ ':path': '/' }), client.request({ ':path': '/' })]
    stays.on('error', () => {})
    await until(() => calls.length === 2)
    leaves.close(constants.NGHTTP2_CANCEL)
    await until(() => calls[0]?.signal.aborted === true)
    expect(calls[1]?.signal.aborted).toBe(false)
    client.destroy()
    await until(empty)
  })

  test('a listener that throws is answered 500, and a deadline of a trusted caller is heard', async () => {
    let left = 0
    const errors: unknown[] = []
    const { ask } = await house(
      [],
      (_, __, call) => {
        left = call.remainingMs
        throw new Error('broken')
      },
      {
        trust: ['127.0.0.1'],
        onError: (error, _, response) => {
          errors.push(error)
          response.writeHead(500).end('mine')
        },
      },
    )
    expect(await ask('/', { 'grpc-timeout': '20S' })).toMatchObject({ status: 500, body: 'mine' })
    expect(errors).toMatchObject([{ message: 'broken' }])
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThan(20_001)
  })

  test('while it drains, new streams are refused and old ones finish', async () => {
    const begun: ServerResponse[] = []
    const { ask, guard } = await house([], (_, response) => void begun.push(response))
    const first = ask('/')
    await until(() => begun.length === 1)
    const closed = guard.close()
    expect(await ask('/')).toMatchObject({ status: 503 })
    begun[0]?.end('done')
    expect(await first).toMatchObject({ status: 200, body: 'done' })
    await closed
  })
})
