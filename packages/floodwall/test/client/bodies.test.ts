import type { RequestListener, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FloodEvent } from 'floodwall'
import { retry, systemRuntime, timeout } from 'floodwall'
import { describe, expect, test, vi } from 'vitest'
import { client, type Fetch } from '../../src/client/index.ts'
import { open } from './support/shop.ts'

/** A server that sends a head and a first part, and leaves the rest to the test. */
function slow(): { handler: RequestListener; responses: ServerResponse[] } {
  const responses: ServerResponse[] = []
  const handler: RequestListener = (_, res) => {
    res.writeHead(200)
    res.write('first,')
    responses.push(res)
  }
  return { handler, responses }
}

const free = (inFlight: () => number[]) => vi.waitFor(() => expect(inFlight()).toEqual([0]), 10_000)

describe.each([
  ['fetch over pools', {}],
  ['the global fetch', { fetch }],
])('the body of %s', (_, options) => {
  const reading: [string, (response: Response) => Promise<unknown>, unknown][] = [
    ['text()', (r) => r.text(), 'first,last'],
    ['arrayBuffer()', async (r) => Buffer.from(await r.arrayBuffer()).toString(), 'first,last'],
    ['blob()', async (r) => (await r.blob()).size, 10],
    [
      'for await',
      async (r) => {
        let text = ''
        for await (const chunk of r.body as unknown as AsyncIterable<Uint8Array>) text += Buffer.from(chunk).toString()
        return text
      },
      'first,last',
    ],
    ['Readable.fromWeb', async (r) => (await Readable.fromWeb(r.body as never).toArray()).join(''), 'first,last'],
    ['new Response(body)', (r) => new Response(r.body).text(), 'first,last'],
    [
      'a reader with its own buffer',
      async (r) => {
        const reader = r.body?.getReader({ mode: 'byob' })
        let text = ''
        for (;;) {
          const part = await reader?.read(new Uint8Array(4))
          if (part === undefined || part.done) return text
          text += Buffer.from(part.value).toString()
        }
      },
      'first,last',
    ],
    ['clone()', async (r) => (await Promise.all([r.clone().text(), r.text()])).join(' '), 'first,last first,last'],
    [
      'text() after a look at body',
      async (r) => [r.body === r.body, r.bodyUsed, await r.text(), r.bodyUsed],
      [true, false, 'first,last', true],
    ],
  ]
  test.each(reading)('%s: the slot is held until it is over', async (__, read, expected) => {
    const { handler, responses } = slow()
    const { shop, inFlight } = await open([handler], options)
    const response = await shop.fetch('/')
    const content = read(response)
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(inFlight()).toEqual([1])
    responses[0]?.end('last')
    expect(await content).toEqual(expected)
    await free(inFlight)
  })

  test('read twice: the second reading fails, and ends nothing', async () => {
    const { handler, responses } = slow()
    const { shop, inFlight } = await open([handler], options)
    const response = await shop.fetch('/')
    const reader = response.body?.getReader()
    await reader?.read()
    await expect(response.text()).rejects.toThrow(TypeError)
    expect(inFlight()).toEqual([1])
    responses[0]?.end()
    expect((await reader?.read())?.done).toBe(true)
    await free(inFlight)
  })

  test('json(), which need not be JSON', async () => {
    const { shop, inFlight } = await open([(req, res) => void res.end(req.url === '/good' ? '{"a":1}' : 'no')], options)
    expect(await (await shop.fetch('/good')).json()).toEqual({ a: 1 })
    await expect((await shop.fetch('/')).json()).rejects.toThrow(SyntaxError)
    await free(inFlight)
  })

  test('cancelled: the slot is free, and the server hears of it', async () => {
    let closed = 0
    const { handler } = slow()
    const watching: RequestListener = (req, res) => {
      res.on('close', () => closed++)
      handler(req, res)
    }
    const { shop, inFlight } = await open([watching], options)
    const response = await shop.fetch('/')
    await response.body?.cancel()
    await vi.waitFor(() => expect([closed, ...inFlight()]).toEqual([1, 0]), 10_000)
  })

  test('broken by the server: the reader hears of it, the slot is free', async () => {
    const { handler, responses } = slow()
    const { shop, inFlight } = await open([handler], options)
    const text = (await shop.fetch('/')).text()
    const chunks = async () => {
      for await (const __ of (await shop.fetch('/')).body as unknown as AsyncIterable<Uint8Array>);
    }
    const streamed = chunks()
    await vi.waitFor(() => expect(responses).toHaveLength(2), 10_000)
    for (const response of responses) response.destroy()
    await Promise.all([expect(text).rejects.toThrow(), expect(streamed).rejects.toThrow()])
    await free(inFlight)
  })

  test('the caller aborts, read or not: it ends, here and at the server, and the slot is free', async () => {
    for (const read of [true, false]) {
      let closed = 0
      const { handler } = slow()
      const watching: RequestListener = (req, res) => {
        res.on('close', () => closed++)
        handler(req, res)
      }
      const { shop, inFlight } = await open([watching], options)
      const controller = new AbortController()
      const reason = new Error('the caller has left')
      const response = await shop.fetch('/', { signal: controller.signal })
      const text = read ? response.text() : Promise.reject(reason)
      text.catch(() => {})
      controller.abort(reason)
      await expect(text).rejects.toBe(reason)
      await vi.waitFor(() => expect([closed, ...inFlight()]).toEqual([1, 0]), 10_000)
    }
  })

  test('the call on whose behalf it was made ends: so does it', async () => {
    const { handler } = slow()
    const { shop, inFlight } = await open([handler], options)
    const controller = new AbortController()
    const outer = shop.call(
      async (parent) => {
        const response = await shop.fetch('/', { parent })
        controller.abort(new Error('the user has left'))
        return response.text()
      },
      { signal: controller.signal },
    )
    await expect(outer).rejects.toThrow('the user has left')
    await free(inFlight)
  })

  test('nobody reads it: the slot comes back after a while, and that is told', async () => {
    const events: FloodEvent[] = []
    const runtime = { ...systemRuntime, emit: (event: FloodEvent) => void events.push(event) }
    const { handler, responses } = slow()
    const { shop, inFlight } = await open([handler], { ...options, runtime, bodyAtMost: '30ms' })
    const response = await shop.fetch('/')
    await free(inFlight)
    expect(events).toMatchObject([{ type: 'lapsed' }])
    responses[0]?.end('last')
    expect(await response.text()).toBe('first,last')
    expect(inFlight()).toEqual([0])
  })

  test('no body, no hold', async () => {
    const { shop, inFlight } = await open([(_, res) => void res.writeHead(204).end()], options)
    const response = await shop.fetch('/')
    expect([response.body, ...inFlight()]).toEqual([null, 0])
  })

  test('an answer that a retry has replaced is thrown away: its slot is free, the server hears of it', async () => {
    const responses: ServerResponse[] = []
    const failing: RequestListener = (_, res) => {
      res.writeHead(500)
      res.write('no end')
      responses.push(res)
    }
    const good: RequestListener = (_, res) => void res.end('ok')
    const { shop, inFlight } = await open([failing, good], options)
    for (let i = 0; i < 4; i++) expect(await (await shop.fetch('/')).text()).toBe('ok')
    expect(responses.length).toBeGreaterThan(0)
    await vi.waitFor(() => expect([...inFlight(), responses.every((r) => r.destroyed)]).toEqual([0, 0, true]), 10_000)
  })
})

describe('the body of request', () => {
  test.each<[string, (body: Readable & { text(): Promise<string> }) => Promise<unknown>]>([
    ['text()', (body) => body.text()],
    ['for await', async (body) => (await body.toArray()).join('')],
  ])('%s: the slot is held until it is over', async (_, read) => {
    const { handler, responses } = slow()
    const { shop, inFlight } = await open([handler])
    const { body } = await shop.request({ path: '/' })
    const content = read(body)
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(inFlight()).toEqual([1])
    responses[0]?.end('last')
    expect(await content).toBe('first,last')
    await free(inFlight)
  })

  test('destroyed, broken, aborted: the slot is free', async () => {
    const { handler, responses } = slow()
    const { shop, inFlight } = await open([handler])
    const controller = new AbortController()
    const ends = [
      (body: Readable) => body.destroy(),
      () => responses.at(-1)?.destroy(),
      () => controller.abort(new Error('the caller has left')),
    ]
    for (const end of ends) {
      const { body } = await shop.request({ path: '/', signal: controller.signal })
      body.on('error', () => {})
      expect(inFlight()).toEqual([1])
      end(body)
      await free(inFlight)
    }
  })

  test.each<[string, RequestListener, string]>([
    ['204', (_, res) => res.writeHead(204).end(), 'GET'],
    ['304', (_, res) => res.writeHead(304).end(), 'GET'],
    ['HEAD', (_, res) => res.writeHead(200, { 'content-length': 5 }).end(), 'HEAD'],
    ['an empty one', (_, res) => res.writeHead(200, { 'content-length': 0 }).end(), 'GET'],
  ])('%s: nothing to wait for', async (_, handler, method) => {
    const { shop, inFlight } = await open([handler])
    await shop.request({ path: '/', method })
    expect(inFlight()).toEqual([0])
  })

  test('an answer that a retry has replaced is thrown away, and its connection used again', async () => {
    const failing: RequestListener = (_, res) => void res.writeHead(500).end('short')
    const good: RequestListener = (_, res) => void res.end('ok')
    const { shop, inFlight, servers } = await open([failing, good])
    for (let i = 0; i < 6; i++) expect(await (await shop.request({ path: '/' })).body.text()).toBe('ok')
    await vi.waitFor(() => expect(inFlight()).toEqual([0, 0]), 10_000)
    expect(servers[0]?.connections()).toBe(1)
  })
})

describe('functions like fetch', () => {
  test('a body that is a stream of Node', async () => {
    const body = Readable.from(['a', 'b'])
    const like = (() => Promise.resolve({ status: 200, headers: new Headers(), body })) as unknown as Fetch
    const { shop, inFlight } = await open([() => {}], { fetch: like })
    const response = await shop.fetch('/')
    expect(inFlight()).toEqual([1])
    expect((await (response.body as unknown as Readable).toArray()).join('')).toBe('ab')
    await free(inFlight)
  })

  test('a response that arrives after everybody has gone is thrown away', async () => {
    let cancelled = 0
    let answer: () => void = () => {}
    const like: Fetch = () =>
      new Promise((resolve) => {
        answer = () => resolve(new Response(new ReadableStream({ cancel: () => void cancelled++ })))
      })
    const { shop, inFlight } = await open([() => {}], { fetch: like })
    const controller = new AbortController()
    const response = shop.fetch('/', { signal: controller.signal })
    controller.abort(new Error('gone'))
    await expect(response).rejects.toThrow('gone')
    answer()
    await vi.waitFor(() => expect([cancelled, ...inFlight()]).toEqual([1, 0]), 10_000)
  })

  test('an answer to an attempt that was given up is thrown away at once', async () => {
    let first: (response: Response) => void = () => {}
    let calls = 0
    const like: Fetch = () =>
      new Promise((resolve) => {
        if (calls++ === 0) first = resolve
        // The second answers when the first answer, which comes too late, was thrown away.
        else first(new Response(new ReadableStream({ cancel: () => resolve(new Response('ok')) })))
      })
    const { cluster } = await open([() => {}])
    const layers = [retry({ backoff: { first: 1 }, attempts: 2 }), timeout({ after: 500 })]
    const shop = client('shop', cluster, layers, { fetch: like })
    expect(await (await shop.fetch('/')).text()).toBe('ok')
  })

  test('one that throws at once, and one that answers without a body', async () => {
    const throwing = await open([() => {}], {
      fetch: () => {
        throw new Error('at once')
      },
    })
    await expect(throwing.shop.fetch('/')).rejects.toThrow('at once')
    const bare = await open([() => {}], {
      fetch: (() => Promise.resolve({ status: 200, headers: new Headers() })) as never,
    })
    expect((await bare.shop.fetch('/')).status).toBe(200)
    await free(bare.inFlight)
  })
})
