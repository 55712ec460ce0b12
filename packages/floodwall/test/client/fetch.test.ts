import { createReadStream, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type Call, isRejected, pipeline, retry } from 'floodwall'
import { describe, expect, test, vi } from 'vitest'
import type { ClientOptions, FetchInit, RequestOptions } from '../../src/client/index.ts'
import { deadPort, http } from './support/servers.ts'
import { bodyOf, open } from './support/shop.ts'

const ok: RequestListener = (_, res) => void res.end('ok')
const status =
  (code: number, headers: Record<string, string> = {}): RequestListener =>
  (req, res) => {
    req.resume()
    res.writeHead(code, headers).end(`status ${code}`)
  }

/** The same request by fetch over pools, by the global fetch, and by request. */
type Ask = (path: string, init?: FetchInit & RequestOptions) => Promise<{ status: number; text: string }>
type Way = 'fetch over pools' | 'the global fetch' | 'request'
const ways: Way[] = ['fetch over pools', 'the global fetch', 'request']

async function opened(way: Way, handlers: readonly RequestListener[], options: ClientOptions = {}) {
  const scene = await open(handlers, way === 'the global fetch' ? { ...options, fetch } : options)
  const { shop } = scene
  const ask: Ask = async (path, init = {} as FetchInit & RequestOptions) => {
    if (way !== 'request') {
      const response = await shop.fetch(path, init)
      return { status: response.status, text: await response.text() }
    }
    const { statusCode, body } = await shop.request({ ...init, path })
    return { status: statusCode, text: await body.text() }
  }
  return { ...scene, ask }
}

describe.each(ways)('%s', (way) => {
  test('path, query, method, headers and body arrive', async () => {
    const echo: RequestListener = (req, res) =>
      void bodyOf(req).then((body) =>
        res.end(JSON.stringify([req.method, req.url, req.headers['x-a'], req.headers.host, body])),
      )
    const { ask, servers } = await opened(way, [echo])
    const { text } = await ask('/items?page=2', { method: 'POST', headers: { 'x-a': '1' }, body: 'hello' } as never)
    expect(JSON.parse(text)).toEqual(['POST', '/items?page=2', '1', servers[0]?.id, 'hello'])
  })

  test('what failed at one endpoint is tried at another, if it is idempotent by its method', async () => {
    const { ask } = await opened(way, [status(500), ok])
    for (let i = 0; i < 2; i++) expect(await ask('/')).toEqual({ status: 200, text: 'ok' })
    for (const method of ['PUT', 'DELETE', 'OPTIONS']) expect((await ask('/', { method } as never)).status).toBe(200)
    const posts = [await ask('/', { method: 'POST' } as never), await ask('/', { method: 'POST' } as never)]
    expect(new Set(posts.map((p) => p.status))).toEqual(new Set([200, 500]))
  })

  test('the caller may say otherwise, both ways', async () => {
    const { ask } = await opened(way, [status(500), ok])
    const answers = []
    for (let i = 0; i < 2; i++) answers.push(await ask('/', { method: 'POST', idempotent: true } as never))
    for (let i = 0; i < 2; i++) answers.push(await ask('/', { idempotent: false } as never))
    expect(answers.filter((a) => a.status === 200)).toHaveLength(3)
  })

  test('a refused connection: elsewhere, whatever the method, and it is out', async () => {
    const { ask, cluster, servers } = await opened(way, [ok, ok])
    await servers[0]?.stop()
    for (let i = 0; i < 4; i++) {
      const { status: code } = await ask('/', { method: 'POST', body: 'x' } as never)
      expect(code).toBe(200)
    }
    expect(cluster.members.map((m) => m.isolated)).toEqual([true, false])
  })

  test('nobody to reach: the error of the connection', async () => {
    const { ask, cluster } = await opened(way, [])
    cluster.update([{ id: `127.0.0.1:${await deadPort()}` }])
    const error: unknown = await ask('/').catch((e: unknown) => e)
    expect(JSON.stringify(error, ['code', 'cause'])).toContain('ECONNREFUSED')
  })

  test('too much: not counted against the endpoint, and its wish is heard', async () => {
    for (const code of [429, 503]) {
      const { ask, shop, cluster } = await opened(way, [status(code, { 'retry-after': '90' })], { holdBack: false })
      for (let i = 0; i < 8; i++) expect((await ask('/')).status).toBe(code)
      expect(cluster.members[0]).toMatchObject({ isolated: false, attempts: 8 })
      expect(shop.pipeline.inspect()).toMatchObject({ calls: { overload: 8 } })
    }
  })

  test("what an answer means is the classifier's to say", async () => {
    const { ask, shop } = await opened(way, [status(404)])
    await ask('/')
    await ask('/', { classify: () => 'failure', idempotent: false } as never)
    await ask('/', {
      classify: () => {
        throw new Error('x')
      },
      idempotent: false,
    } as never)
    expect(shop.pipeline.inspect()).toMatchObject({ calls: { success: 1, failure: 2 } })
  })

  test('a redirect is an answer', async () => {
    const { ask } = await opened(way, [status(302, { location: 'http://elsewhere.invalid/' })])
    expect((await ask('/')).status).toBe(302)
  })

  test('all slots are free when all is over, and nobody is isolated by answers', async () => {
    const { ask, inFlight, cluster } = await opened(way, [ok, status(404), ok])
    await Promise.all(Array.from({ length: 60 }, () => ask('/')))
    await vi.waitFor(() => expect(inFlight()).toEqual([0, 0, 0]), 10_000)
    expect(cluster.members.reduce((sum, m) => sum + m.attempts, 0)).toBe(60)
  })

  test.each(['', 'items', '//evil.test/', 'http://evil.test/', '@evil.test', '/\\evil.test', 7, null])(
    'path %j',
    async (path) => {
      const seen: (string | undefined)[] = []
      const { ask } = await opened(way, [(req, res) => (seen.push(req.url), void res.end())])
      const answer: unknown = await ask(path as string).catch((e: unknown) => e)
      // Whatever begins with a slash stays a path, and reaches our server; the rest is refused before anything is sent.
      if (typeof path === 'string' && path.startsWith('/')) expect(seen).toHaveLength(1)
      else expect(answer).toBeInstanceOf(TypeError)
    },
  )

  test('a stream is sent once: not again after a failure', async () => {
    let arrived = 0
    const failing: RequestListener = (req, res) => {
      arrived++
      void bodyOf(req).then(() => res.writeHead(500).end())
    }
    const { ask } = await opened(way, [failing, failing])
    const body = way === 'request' ? Readable.from(['x']) : new Blob(['x']).stream()
    expect((await ask('/', { method: 'PUT', body } as never)).status).toBe(500)
    expect(
      (
        await ask('/', {
          method: 'PUT',
          body: way === 'request' ? Readable.from(['x']) : new Blob(['x']).stream(),
          idempotent: true,
        } as never)
      ).status,
    ).toBe(500)
    expect(arrived).toBe(2)
    for (const again of [
      'text',
      Buffer.from('bytes'),
      ...(way === 'request' ? [] : [new URLSearchParams('a=b'), new Blob(['x'])]),
    ]) {
      arrived = 0
      await ask('/', { method: 'PUT', body: again } as never)
      expect(arrived).toBe(2)
    }
  })

  test.each([
    ['who has another one may try again', {}, 2],
    ['unless the target forbids it', { 'x-floodwall-retry': 'no' }, 1],
  ])('a stream is sent once: %s', async (_, headers, tries) => {
    const failing: RequestListener = (req, res) => void bodyOf(req).then(() => res.writeHead(500, headers).end())
    const { shop } = await opened(way, [failing])
    const outer = pipeline('outer', [retry({ attempts: 2, backoff: { first: 0 } })])
    let tried = 0
    const upload = async (parent: Call) => {
      tried++
      const cause =
        way === 'request'
          ? await shop.request({ path: '/', method: 'PUT', body: Readable.from(['x']), parent })
          : await shop.fetch('/', { method: 'PUT', body: new Blob(['x']).stream(), duplex: 'half', parent })
      throw new Error('not stored', { cause })
    }
    await expect(outer.call(upload, { idempotent: true })).rejects.toThrow('not stored')
    expect(tried).toBe(tries)
  })
})

describe('fetch', () => {
  test('a request that cannot be made reaches nobody', async () => {
    const { shop, cluster } = await open([ok])
    await expect(shop.fetch('/', { headers: { 'no name': 'x' } })).rejects.toThrow(TypeError)
    await expect(shop.fetch('/', { redirect: 'follow' })).rejects.toThrow(/leave the cluster/)
    expect(cluster.members[0]).toMatchObject({ attempts: 0 })
  })

  test('a file is sent whole', async () => {
    const path = join(tmpdir(), `fetch-${process.pid}`)
    writeFileSync(path, 'y'.repeat(300_000))
    const { shop } = await open([(req, res) => void bodyOf(req).then((body) => res.end(String(body.length)))])
    const response = await shop.fetch('/', { method: 'POST', body: createReadStream(path) as never })
    expect(await response.text()).toBe('300000')
  })

  test("the caller's abort: before the head, with its reason, on the wire", async () => {
    let closed = 0
    const { shop, inFlight } = await open([(req) => void req.on('close', () => closed++)])
    const controller = new AbortController()
    const reason = new Error('the caller has left')
    const answer = shop.fetch('/', { signal: controller.signal })
    answer.catch(() => {})
    await vi.waitFor(() => expect(inFlight()).toEqual([1]), 10_000)
    controller.abort(reason)
    await expect(answer).rejects.toBe(reason)
    await vi.waitFor(() => expect([closed, ...inFlight()]).toEqual([1, 0]), 10_000)
  })

  test('the response is the one that fetch made', async () => {
    const { shop, servers } = await open([ok])
    const response = await shop.fetch('/a')
    expect(response.url).toBe(`http://${servers[0]?.id}/a`)
    expect([response.ok, response.redirected, await response.text()]).toEqual([true, false, 'ok'])
  })

  test('calls that cost alike are told apart by method, or by a route that is named', async () => {
    const { shop } = await open([ok])
    const routes: unknown[] = []
    const classify = (_: boolean, __: unknown, call: { method: string | undefined }) => {
      routes.push(call.method)
      return 'success' as const
    }
    await shop.fetch('/1', { classify })
    await shop.fetch('/2', { classify, route: 'GET /:id' })
    await shop.request({ path: '/3', method: 'put', classify })
    expect(routes).toEqual(['GET', 'GET /:id', 'PUT'])
  })

  test("refusals are the pipeline's", async () => {
    const { shop } = await open([])
    expect(isRejected(await shop.fetch('/').catch((e: unknown) => e))).toBe(true)
    await shop.close()
    expect(await shop.fetch('/').catch((e: unknown) => e)).toMatchObject({ code: 'closed' })
  })

  test('an endpoint whose address is none is out, and the others serve', async () => {
    const good = await http(ok)
    const { shop, cluster } = await open([])
    cluster.update([{ id: 'a', address: 'http://a/with/a/path' }, { id: good.id }])
    for (let i = 0; i < 4; i++) expect((await shop.fetch('/', { method: 'POST' })).status).toBe(200)
    expect(cluster.members.map((m) => m.isolated)).toEqual([true, false])
  })
})
