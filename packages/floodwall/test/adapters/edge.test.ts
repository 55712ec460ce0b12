import { AsyncResource } from 'node:async_hooks'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { breaker, bulkhead, type Call, pipeline, queue, rateLimit, retry, timeout } from 'floodwall'
import { currentCall } from 'floodwall/server'
import { names } from 'floodwall/wire'
import { describe, expect, test } from 'vitest'
import { open } from '../client/support/shop.ts'
import { leftIn, NOTHING } from '../core/fate.ts'
import { ask, asking, oneConnection, until } from './client.ts'
import { frameworks, type Reply } from './frameworks.ts'

// What the edge of a server does about its callers and about what it calls itself, over every adapter.

const LOCAL = ['127.0.0.1']
/** Made where no request is: what runs in it has no context of ours. */
const outside = new AsyncResource('outside')
const ok = async (): Promise<Reply> => ({ body: 'ok' })

describe.each(frameworks)('%s', (_, start) => {
  test('1,000 requests that are answered, refused, too late, thrown, given up and cut off leave nothing', async () => {
    const p = pipeline('door', [queue({ size: 20, atMost: '20ms' }), bulkhead({ slots: 8 }), timeout({ after: 30 })])
    let n = 0
    await using server = await start(p, async (call) => {
      const kind = n++ % 6
      if (kind === 1) throw new Error('thrown')
      if (kind === 2)
        await new Promise((_, reject) => call.signal.addEventListener('abort', () => reject(call.signal.reason)))
      if (kind === 3) await sleep(40)
      if (kind === 4) await sleep(5)
      return { body: 'ok' }
    })
    const agent = oneConnection()
    agent.maxSockets = 40
    const listeners = () =>
      Object.values(agent.freeSockets)
        .flat()
        .map((socket) => socket?.listenerCount('close') ?? 0)
    const ended: Promise<unknown>[] = []
    for (let i = 0; i < 1000; i++) {
      const { sent, answer } = asking({
        port: server.port,
        ...(i % 7 === 0 ? {} : { agent }),
        method: i % 3 === 0 ? 'POST' : 'GET',
      })
      if (i % 7 === 0) setTimeout(() => sent.destroy(), i % 13)
      ended.push(
        answer.then(
          ({ status }) => status,
          () => 'left',
        ),
      )
      if (i % 20 === 0) await sleep(5)
    }
    const kinds = new Set(await Promise.all(ended))
    expect([...kinds].map(String).sort((a, b) => a.localeCompare(b))).toEqual(['200', '500', '503', '504', 'left'])
    await until(
      () => server.guard.inspect()['running'] === 0 && JSON.stringify(leftIn(undefined, p)) === JSON.stringify(NOTHING),
    )
    expect(Math.max(0, ...listeners())).toBeLessThan(5)
    agent.destroy()
  })

  test('ambient: a call that the handler makes, after its body and a timer, is made on behalf of the request', async () => {
    const [p, inner] = [pipeline('door', [queue({ atMost: '1s' }), bulkhead({ slots: 1 })]), pipeline('inner', [])]
    const seen: unknown[] = []
    await using server = await start(
      p,
      async (call, _, body) => {
        await sleep(5)
        await Promise.all(
          [1, 2].map(() =>
            inner.call((child) => {
              seen.push([
                child.init.parent === call,
                child.criticality,
                child.remainingMs < 5001,
                body,
                currentCall() === child,
              ])
            }),
          ),
        )
        return { body: 'ok' }
      },
      { trust: LOCAL, ambient: true },
    )
    const headers = { [names.timeout]: '5000', [names.criticality]: 'SHEDDABLE' }
    const asked = { port: server.port, headers, method: 'POST', body: 'text' }
    expect((await Promise.all([ask(asked), ask(asked), ask(asked)])).map(({ status }) => status)).toEqual([
      200, 200, 200,
    ])
    expect(seen).toEqual(Array.from({ length: 6 }, () => [true, 'sheddable', true, 'text', true]))
    await server.guard.close()
    expect(currentCall()).toBeUndefined()
  })

  test('ambient: what a client calls in a handler is sent what is left, and the class, of the request', async () => {
    let sent: IncomingHttpHeaders = {}
    let gone = false
    const { shop } = await open([
      ({ url, headers, socket }, response) => {
        if (url === '/fast') return void response.end('stock')
        sent = headers
        socket.on('close', () => (gone = true))
      },
    ])
    const handler = async (_: Call, { url }: IncomingMessage) => ({ body: await (await shop.fetch(url ?? '/')).text() })
    await using server = await start(pipeline('door', []), handler, { trust: LOCAL, ambient: true })
    expect((await ask({ port: server.port, path: '/fast' })).body).toBe('stock')
    const headers = { [names.timeout]: '5000', [names.criticality]: 'SHEDDABLE' }
    const { sent: request } = asking({ port: server.port, path: '/slow', headers })
    await until(() => sent.host !== undefined)
    expect([Number(sent[names.timeout]) <= 5000, Number(sent[names.timeout]) > 3000, sent[names.criticality]]).toEqual([
      true,
      true,
      'SHEDDABLE',
    ])
    // The client that leaves ends the call two hops on.
    request.destroy()
    await until(() => gone && server.guard.inspect()['running'] === 0)
    await server.guard.close()
  })

  test('ambient: a listener of the request runs on its behalf, too', async () => {
    const [p, inner] = [pipeline('door', []), pipeline('inner', [])]
    let parent: Call | undefined
    let mine: Call | undefined
    await using server = await start(
      p,
      (call, request) => {
        mine = call
        return new Promise((resolve) => {
          const answer = () => {
            void inner.call((child) => void (parent = child.init.parent))
            resolve({ body: 'ok' })
          }
          request.on('mine', answer)
          setImmediate(() => outside.runInAsyncScope(() => request.emit('mine')))
        })
      },
      { ambient: true },
    )
    await ask({ port: server.port })
    expect([parent === mine, mine !== undefined]).toEqual([true, true])
    await server.guard.close()
  })

  test('a refusal further in, and an end of time, are answered as what they are', async () => {
    const broken = pipeline('secret', [breaker({ consecutive: 1, openFor: '20s' })])
    await broken.outcome(() => Promise.reject(new Error('x')))
    const slow = pipeline('slow', [timeout({ after: 10 })])
    const p = pipeline('door', [])
    await using server = await start(p, (_, { url }) =>
      url === '/slow' ? slow.call(() => new Promise<never>(() => {})) : broken.call(ok),
    )
    const refused = await ask({ port: server.port })
    expect([refused.status, JSON.parse(refused.body).code]).toEqual([503, 'open'])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(20)
    expect(refused.body).not.toContain('secret')
    const late = await ask({ port: server.port, path: '/slow' })
    expect([late.status, JSON.parse(late.body).code, server.errors]).toEqual([504, 'timeout', []])
    // Told to the layers as what they were, whatever was answered: a refusal further in is no evidence here.
    expect(p.inspect()['calls']).toMatchObject({ ignored: 1, timeout: 1, overload: 0, failure: 0 })
  })

  test('retries that are used up say so to the caller: overloaded, do not retry', async () => {
    const up = pipeline('up', [retry({ attempts: 2, backoff: { first: 1, atMost: 1 } })])
    await using server = await start(pipeline('door', []), (call) =>
      up.call(() => Promise.reject(new Error('down')), { parent: call, idempotent: true }),
    )
    const { status, headers, body } = await ask({ port: server.port })
    expect([status, JSON.parse(body), headers[names.retry], headers['retry-after']]).toMatchObject([
      503,
      { code: 'overloaded_do_not_retry', retry: 'no' },
      'no',
      undefined,
    ])
  })

  test('refuses what comes while it drains, answers what is here, and the exempt', async () => {
    const p = pipeline('door', [bulkhead({ slots: 2 })])
    let open = () => {}
    const opened = new Promise<void>((resolve) => (open = resolve))
    await using server = await start(
      p,
      async (_, { url }) => {
        if (url === '/slow') await opened
        return { body: 'ok' }
      },
      { exempt: ['/health'] },
    )
    const slow = ask({ port: server.port, path: '/slow' })
    await until(() => leftIn(undefined, p).used === 1)
    let drained = false
    const closed = server.guard.close().then(() => (drained = true))
    const refused = await ask({ port: server.port, agent: oneConnection() })
    expect([refused.status, JSON.parse(refused.body).code, refused.headers.connection, drained]).toEqual([
      503,
      'closed',
      'close',
      false,
    ])
    expect((await ask({ port: server.port, path: '/health?deep' })).status).toBe(200)
    open()
    expect((await slow).status).toBe(200)
    await closed
    expect([server.guard.inspect(), await server.guard.close()]).toMatchObject([
      { draining: true, turnedAway: 1, exempt: { success: 1 } },
      undefined,
    ])
  })

  test('what is exempt passes no layer', async () => {
    const p = pipeline('door', [rateLimit({ rate: 1, per: '1h', burst: 1 })])
    await using server = await start(p, ok, { exempt: ['/health'] })
    const paths = ['/health', '/', '/health', '/', '/healthy', '/health?a=/']
    const statuses: number[] = []
    for (const path of paths) statuses.push((await ask({ port: server.port, path })).status)
    expect(statuses).toEqual([200, 200, 200, 429, 429, 200])
  })

  describe('with many retries among the requests', () => {
    const full = () => pipeline('door', [bulkhead({ slots: 1 })])

    async function refusedAfter(headers: readonly Readonly<Record<string, string>>[], options: object = {}) {
      const p = full()
      let open = () => {}
      const opened = new Promise<void>((resolve) => (open = resolve))
      const handler = async (_: Call, { url }: IncomingMessage) => {
        if (url === '/slow') await opened
        return { body: 'ok' }
      }
      await using server = await start(p, handler, { trust: LOCAL, ...options })
      const agent = oneConnection()
      for (const one of headers) {
        await ask({ port: server.port, agent, headers: one })
        await until(() => leftIn(undefined, p).used === 0)
      }
      const slow = ask({ port: server.port, path: '/slow' })
      await until(() => leftIn(undefined, p).used === 1)
      const { status, body, headers: got } = await ask({ port: server.port, agent })
      open()
      await slow
      agent.destroy()
      return [status, JSON.parse(body).code, got[names.retry], server.guard.inspect()['toldNoRetry']]
    }

    const many = (n: number, headers: Record<string, string>) => Array.from({ length: n }, () => headers)
    const first = {}
    const second = { [names.attempt]: '1' }

    test('a refusal says: do not retry', async () => {
      expect(await refusedAfter([...many(17, first), ...many(3, second)])).toEqual([
        503,
        'overloaded_do_not_retry',
        'no',
        1,
      ])
    })

    test('also when only the callers know of them', async () => {
      const told = { [names.attempts]: '80,20' }
      expect(await refusedAfter(many(20, told))).toEqual([503, 'overloaded_do_not_retry', 'no', 1])
    })

    test.each<[string, Record<string, string>[], object]>([
      ['few of them are', [...many(30, first), ...many(3, second)], {}],
      ['hardly anybody has asked', many(5, second), {}],
      ['a stranger says so', many(25, second), { trust: [] }],
      ['one forges a million', [...many(28, first), { [names.attempts]: '1,9999999,9999999' }], {}],
      ['what is said is garbage', many(25, { [names.attempts]: '1,-5', [names.attempt]: 'x' }), {}],
      ['it is allowed', many(25, second), { retriesAtMost: 1 }],
    ])('unless %s', async (_, headers, options) => {
      expect(await refusedAfter(headers, options)).toEqual([503, 'full', undefined, 0])
    })
  })
})
