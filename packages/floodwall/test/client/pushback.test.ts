import type { RequestListener } from 'node:http'
import { around, deadline, type Outcome, timeout } from 'floodwall'
import { writeError } from 'floodwall/wire'
import { describe, expect, test, vi } from 'vitest'
import { type ClientOptions, client } from '../../src/client/index.ts'
import { open } from './support/shop.ts'

// What a server that says no wishes, and how it reaches the layers: headers always, the body where that is short and JSON.

type Way = 'fetch over pools' | 'the global fetch' | 'request'
const ways: Way[] = ['fetch over pools', 'the global fetch', 'request']

interface Answer {
  readonly status: number
  readonly text: string
}

/** A client of one server that keeps what the layers hear. */
async function asking(way: Way, handler: RequestListener, options: ClientOptions = {}) {
  const outcomes: Outcome<unknown>[] = []
  const listener = around(async (call, next) => {
    const outcome = await next(call)
    outcomes.push(outcome)
    return outcome
  })
  const { cluster, servers, inFlight } = await open([handler])
  const layers = [deadline({ within: '20s' }), listener, timeout({ after: '10s' })]
  const own = way === 'the global fetch' ? { fetch } : {}
  const asked = client('asked', cluster, layers, { drain: 1, holdBack: false, ...own, ...options })
  const ask = async (init: { signal?: AbortSignal } = {}): Promise<Answer> => {
    if (way === 'request') {
      const { statusCode, body } = await asked.request({ ...init, path: '/' })
      return { status: statusCode, text: await body.text() }
    }
    const response = await asked.fetch('/', init)
    return { status: response.status, text: await response.text() }
  }
  return { asked, ask, outcomes, servers, inFlight, close: () => asked.close() }
}

const says =
  (status: number, headers: Record<string, string | string[]>, body = ''): RequestListener =>
  (_, res) =>
    void res.writeHead(status, headers).end(body)

const heard = async (way: Way, handler: RequestListener) => {
  const { ask, outcomes, close } = await asking(way, handler)
  const answer = await ask()
  await close()
  const { verdict, retryAfterMs, noRetry } = outcomes[0] as Outcome<unknown>
  return { answer, verdict, retryAfterMs, noRetry }
}

const NOW = 'Mon, 30 Nov 2026 12:00:00 GMT'

describe('C20 Retry-After', () => {
  test.each<[string | string[], number]>([
    ['120', 120_000],
    ['0', 0],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
    ['Mon, 30 Nov 2026 12:01:30 GMT', 90_000],
    ['Monday, 30-Nov-26 12:01:30 GMT', 90_000],
    ['Mon Nov 30 12:01:30 2026', 90_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
    ['Sun Nov  6 08:49:37 1994', 0],
    ['-3', 0],
    ['+3', 0],
    ['1.5', 0],
    ['1e3', 0],
    ['99999999999', 0],
    ['abc', 0],
    ['', 0],
    ['Wed, 32 Oct 2026 07:28:00 GMT', 0],
    [['120', '60'], 0],
  ])('%j asks for %d ms, by the clock of the server', async (value, ms) => {
    for (const way of ways) {
      const pushed = await heard(way, says(429, { date: NOW, 'retry-after': value }))
      expect([way, pushed.retryAfterMs, pushed.verdict]).toEqual([way, ms, 'overload'])
    }
  })

  test.each([
    [200, 'success', 0],
    [301, 'success', 0],
    [404, 'success', 3000],
    [429, 'overload', 3000],
    [500, 'failure', 3000],
    [503, 'overload', 3000],
  ])('on a %d', async (status, verdict, retryAfterMs) => {
    for (const way of ways)
      expect(await heard(way, says(status, { 'retry-after': '3' }))).toMatchObject({ verdict, retryAfterMs })
  })

  test('a 503 that asks for nothing that can be read has broken', async () => {
    for (const value of ['abc', '0', ''])
      expect(await heard('request', says(503, { 'retry-after': value }))).toMatchObject({ verdict: 'failure' })
  })

  test('a date of a server that does not tell its time is read by our clock', async () => {
    const handler: RequestListener = (_, res) => {
      res.sendDate = false
      res.writeHead(429, { 'retry-after': new Date(Date.now() + 90_000).toUTCString() }).end()
    }
    const { retryAfterMs } = await heard('request', handler)
    expect(retryAfterMs).toBeGreaterThan(60_000)
    expect(retryAfterMs).toBeLessThanOrEqual(90_000)
  })
})

describe.each(ways)('the body of an error, by %s', (way) => {
  const facts = { code: 'rate', detail: 'Too often.', retryAfterMs: 3500, noRetry: false } as const

  test.each(['problem', 'google'] as const)(
    'as %s: finer than the header, and the caller reads it whole',
    async (form) => {
      const { status, headers, body } = writeError(form, facts)
      expect(await heard(way, says(status, { ...headers, 'retry-after': '3' }, body))).toEqual({
        answer: { status, text: body },
        verdict: 'overload',
        retryAfterMs: 3500,
        noRetry: false,
      })
    },
  )

  test.each(['problem', 'google'] as const)('as %s: do not retry', async (form) => {
    const { status, headers, body } = writeError(form, { ...facts, code: 'overloaded_do_not_retry', noRetry: true })
    const { 'x-floodwall-retry': _, ...without } = headers
    for (const all of [headers, without])
      expect(await heard(way, says(status, { ...all }, body))).toMatchObject({ verdict: 'overload', noRetry: true })
  })

  test('a RetryInfo on a 401: an answer like any other, with a wish', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '30s' }]
    const body = JSON.stringify({ error: { code: 401, status: 'UNAUTHENTICATED', details } })
    const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': String(body.length) }
    expect(await heard(way, says(401, headers, body))).toEqual({
      answer: { status: 401, text: body },
      verdict: 'success',
      retryAfterMs: 30_000,
      noRetry: false,
    })
  })

  const wish = JSON.stringify({ retryAfterMs: 3500 })
  const json = { 'content-type': 'application/problem+json' }
  const long = JSON.stringify({ retryAfterMs: 3500, more: 'x'.repeat(70_000) })
  test.each<[string, number, Record<string, string>, string]>([
    ['of a good answer', 200, { ...json, 'content-length': String(wish.length) }, wish],
    ['of which no length is said', 429, json, wish],
    ['that is long', 429, { ...json, 'content-length': String(long.length) }, long],
    ['that is something else', 429, { 'content-type': 'text/html', 'content-length': String(wish.length) }, wish],
    ['without a type', 429, { 'content-length': String(wish.length) }, wish],
    ['that is no JSON', 429, { ...json, 'content-length': '3' }, 'no!'],
    ['of nothing', 429, { ...json, 'content-length': '0' }, ''],
  ])('a body %s says nothing, and is passed on as it is', async (_, status, headers, body) => {
    expect(await heard(way, says(status, headers, body))).toMatchObject({
      answer: { status, text: body },
      retryAfterMs: 0,
      noRetry: false,
    })
  })

  test('its slot is free when it is here, read or not', async () => {
    const headers = { ...json, 'content-length': String(wish.length) }
    const { asked, inFlight, close } = await asking(way, says(429, headers, wish))
    if (way === 'request') await asked.request({ path: '/' })
    else await asked.fetch('/')
    expect(inFlight()).toEqual([0])
    await close()
  })

  test('that breaks off: the status counts, and the caller meets the break', async () => {
    const breaking: RequestListener = (_, res) => {
      res.writeHead(429, { ...json, 'content-length': '100', 'retry-after': '7' }).write('{"retry')
      setTimeout(() => res.destroy(), 5)
    }
    const { ask, outcomes, inFlight, close } = await asking(way, breaking)
    await expect(ask()).rejects.toThrow()
    expect(outcomes).toMatchObject([{ ok: true, verdict: 'overload', retryAfterMs: 7000 }])
    await vi.waitFor(() => expect(inFlight()).toEqual([0]), 10_000)
    await close()
  })

  test('that does not come: the attempt has its time, and the caller may leave', async () => {
    let open = 0
    const hanging: RequestListener = (_, res) => {
      open++
      res.on('close', () => open--)
      res.writeHead(429, { ...json, 'content-length': '100' }).write('{')
    }
    const { ask, asked, inFlight, close } = await asking(way, hanging)
    const aborter = new AbortController()
    const left = ask({ signal: aborter.signal })
    left.catch(() => {})
    await vi.waitFor(() => expect(open).toBe(1), 10_000)
    // Long enough for the head to be here.
    await new Promise((resolve) => setTimeout(resolve, 50))
    aborter.abort(new Error('the caller has left'))
    await expect(left).rejects.toThrow('the caller has left')
    await vi.waitFor(() => expect([open, ...inFlight()]).toEqual([0, 0]), 10_000)
    const own = way === 'the global fetch' ? { fetch } : {}
    const hasty = client('hasty', asked.cluster, [timeout({ after: 100 })], { drain: 1, ...own })
    const late = way === 'request' ? hasty.request({ path: '/' }) : hasty.fetch('/')
    await expect(late).rejects.toMatchObject({ code: 'timeout' })
    await vi.waitFor(() => expect([open, ...inFlight()]).toEqual([0, 0]), 10_000)
    await Promise.all([close(), hasty.close()])
  })
})

describe('a body that was looked at', () => {
  const text = '{"retryAfterMs":5}'
  const headers = { 'content-type': 'application/json', 'content-length': String(text.length), 'x-a': '1' }

  test('request: read in every way, once', async () => {
    const { asked, close } = await asking('request', says(429, headers, text))
    const body = async () => {
      const answer = await asked.request({ path: '/' })
      expect([answer.statusCode, answer.headers['x-a'], answer.trailers]).toEqual([429, '1', {}])
      return answer.body as typeof answer.body & {
        blob(): Promise<Blob>
        bytes(): Promise<Uint8Array>
        bodyUsed: boolean
      }
    }
    expect(await (await body()).json()).toEqual({ retryAfterMs: 5 })
    expect(Buffer.from(await (await body()).arrayBuffer()).toString()).toBe(text)
    expect(Buffer.from(await (await body()).bytes()).toString()).toBe(text)
    expect(await (await (await body()).blob()).text()).toBe(text)
    expect((await (await body()).toArray()).join('')).toBe(text)
    const thrown = await body()
    await thrown.dump()
    expect(thrown.destroyed).toBe(true)
    const used = await body()
    expect(used.bodyUsed).toBe(false)
    await used.text()
    expect(used.bodyUsed).toBe(true)
    await close()
  })

  test('fetch: the response is the one that fetch made', async () => {
    const { asked, servers, close } = await asking('fetch over pools', says(429, headers, text))
    const response = await asked.fetch('/a')
    expect([response.url, response.bodyUsed]).toEqual([`http://${servers[0]?.id}/a`, false])
    expect(await response.clone().json()).toEqual({ retryAfterMs: 5 })
    expect(await response.text()).toBe(text)
    await close()
  })

  test('a function like fetch that says a short body and sends a long one', async () => {
    const endless = () =>
      new Response(new ReadableStream({ pull: (c) => c.enqueue(new Uint8Array(40_000)) }), {
        status: 429,
        headers: { ...headers, 'retry-after': '2' },
      })
    const { asked, outcomes, close } = await asking('fetch over pools', () => {}, { fetch: async () => endless() })
    const response = await asked.fetch('/')
    expect(outcomes).toMatchObject([{ verdict: 'overload', retryAfterMs: 2000 }])
    await response.body?.cancel()
    await close()
  })
})
