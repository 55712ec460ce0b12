import type { RequestListener } from 'node:http'
import { Cluster, deadline, isRejected, retry, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { writeError } from 'floodwall/wire'
import { describe, expect, test } from 'vitest'
import { client, type Fetch } from '../../src/client/index.ts'
import { open } from './support/shop.ts'

// "Come back in 3.5 s" is said of an API: what else the same hosts serve goes on.

const said = (code: 'rate' | 'full', retryAfterMs = 3500): Response => {
  const { status, headers, body } = writeError('google', { code, detail: 'Not now.', retryAfterMs, noRetry: false })
  return new Response(body, { status, headers })
}

/** A client in virtual time, whose servers answer by hand, and where its requests went. */
function shopping(answers: (id: string, path: string) => Response, ids: readonly string[] = ['a']) {
  const world = new VirtualRuntime()
  const cluster = new Cluster({ picker: 'roundRobin', slowStart: 0 }, world.env('shop'))
  cluster.update(ids.map((id) => ({ id })))
  const sent: string[] = []
  const fetch: Fetch = async (url, { method = 'GET' }) => {
    const { hostname, pathname } = new URL(url)
    sent.push(`${hostname} ${method} ${pathname}`)
    return answers(hostname, pathname)
  }
  const layers = [deadline({ within: '1s' }), retry({ backoff: { first: 1 } }), timeout({ after: '500ms' })]
  const shop = client('shop', cluster, layers, { runtime: world, fetch })
  const ask = async (path: string, init: { method?: string; route?: string } = {}) => {
    const answer: unknown = await shop.fetch(path, init).catch((error: unknown) => error)
    return isRejected(answer) ? answer.code : (answer as Response).status
  }
  return { world, shop, cluster, sent, ask }
}

describe('429: the API is over its quota, wherever it is asked', () => {
  const busyItems = () =>
    shopping((_, path) => (path.startsWith('/items') ? said('rate') : new Response('ok')), ['a', 'b', 'c'])

  test('it is not asked again, at no host; other APIs are', async () => {
    const { sent, ask } = busyItems()
    expect(await ask('/items/1')).toBe(429)
    expect(sent).toHaveLength(1)
    for (const path of ['/items/1', '/items/2', '/items/3?x=1']) expect(await ask(path)).toBe('held-back')
    expect(sent).toHaveLength(1)
    expect(await ask('/users/1')).toBe(200)
    expect(await ask('/items/1', { method: 'POST' })).toBe(429)
    expect(await ask('/items/1', { route: 'a name' })).toBe(429)
    expect(await ask('/items/9', { route: 'a name' })).toBe('held-back')
    expect(sent).toHaveLength(4)
  })

  test('when the time is over it is asked again', async () => {
    const { world, sent, ask, shop } = busyItems()
    await ask('/items/1')
    await world.advanceAsync(3499)
    expect(await ask('/items/1')).toBe('held-back')
    // The jitter is up to a tenth of the pause.
    await world.advanceAsync(351)
    expect(await ask('/items/1')).toBe(429)
    expect(sent).toHaveLength(2)
    expect(shop.pipeline.inspect()).toMatchObject({
      refusals: [{ path: 'shop/holdBack', reason: 'held-back', count: 1 }],
    })
  })

  test('an error of another kind with a RetryInfo holds as well', async () => {
    const { body, headers } = writeError('google', { code: 'rate', detail: '', retryAfterMs: 500, noRetry: false })
    const { ask } = shopping(() => new Response(body, { status: 401, headers }))
    expect([await ask('/login'), await ask('/login')]).toEqual([401, 'held-back'])
  })
})

describe('503: one server has too much to do', () => {
  test('the others are asked; when all have said so, nobody is', async () => {
    const { sent, ask } = shopping(() => said('full'), ['a', 'b', 'c'])
    for (let i = 0; i < 3; i++) expect(await ask('/items/1', { method: 'POST' })).toBe(503)
    expect(new Set(sent.map((line) => line[0]))).toEqual(new Set(['a', 'b', 'c']))
    expect(sent).toHaveLength(3)
    expect(await ask('/items/1', { method: 'POST' })).toBe('held-back')
    expect(await ask('/users/1', { method: 'POST' })).toBe(503)
  })

  test('one of three: its neighbours go on serving', async () => {
    const { ask } = shopping((id) => (id === 'a' ? said('full') : new Response('ok')), ['a', 'b', 'c'])
    const answers = []
    for (let i = 0; i < 12; i++) answers.push(await ask('/items/1', { method: 'POST' }))
    expect(answers).not.toContain('held-back')
    expect(answers.filter((status) => status === 200)).toHaveLength(8)
  })

  test('those out of choice have no voice, and need none', async () => {
    const { cluster, ask } = shopping(() => said('full'), ['a', 'b'])
    cluster.isolate('b', 60_000, 'the test says so')
    const ask1 = () => ask('/items/1', { method: 'POST' })
    expect([await ask1(), await ask1()]).toEqual([503, 'held-back'])
  })

  test('without a wish nothing is held back', async () => {
    const { ask } = shopping(() => new Response('no', { status: 503 }))
    expect([await ask('/', { method: 'POST' }), await ask('/', { method: 'POST' })]).toEqual([503, 503])
  })
})

test('it can be switched off', async () => {
  const handler: RequestListener = (_, res) => void res.writeHead(429, { 'retry-after': '60' }).end()
  const { shop, servers } = await open([handler], { holdBack: false })
  for (let i = 0; i < 3; i++) expect((await shop.request({ path: '/' })).statusCode).toBe(429)
  expect(servers).toHaveLength(1)
})

test('work of your own is held back by its method', async () => {
  const { shop } = shopping(() => new Response('ok'))
  const busy = () => Promise.reject(Object.assign(new Error('busy'), { retryAfterMs: 5000 }))
  await expect(shop.call(busy, { method: 'query' })).rejects.toThrow('busy')
  await expect(shop.call(() => 1, { method: 'query' })).rejects.toMatchObject({ code: 'held-back' })
  expect(await shop.call(() => 1, { method: 'insert' })).toBe(1)
})
