import { Readable } from 'node:stream'
import {
  bulkhead,
  type Call,
  deadline,
  type Pipeline,
  pipeline,
  queue,
  rateLimit,
  type Snapshot,
  timeout,
} from 'floodwall'
import { names } from 'floodwall/wire'
import { describe, expect, test } from 'vitest'
import { leftIn, NOTHING } from '../core/fate.ts'
import { ask, asking, oneConnection, raw, until } from './client.ts'
import { frameworks, type Reply } from './frameworks.ts'

// What every adapter owes, over real servers and real sockets.

const LOCAL = ['127.0.0.1']
const nothingLeft = (p: Pipeline) => JSON.stringify(leftIn(undefined, p)) === JSON.stringify(NOTHING)
const ok = async (): Promise<Reply> => ({ body: 'ok' })
const runningIn = (snapshot: Snapshot) => snapshot['running'] as number

/** Work that lasts until its signal fires, and then throws the reason. */
function untilAborted({ signal }: Call): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
}

/** A door that is opened by hand. */
function latch(): { opened: Promise<void>; open: () => void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open }
}

describe.each(frameworks)('%s', (_, start) => {
  test('passes a request through, and its answer', async () => {
    const p = pipeline('door', [bulkhead({ slots: 1 })])
    let seen: unknown
    await using server = await start(
      p,
      async (call, request, body) => {
        seen = [call.key, call.method, request.url, body]
        return { status: 201, headers: { 'x-mine': 'yes' }, body: 'made' }
      },
      { key: () => 'ann', route: () => 'POST /items' },
    )
    const { status, headers, body } = await ask({ port: server.port, path: '/items?a=1', method: 'POST', body: 'text' })
    expect([status, headers['x-mine'], body, seen]).toEqual([
      201,
      'yes',
      'made',
      ['ann', 'POST /items', '/items?a=1', 'text'],
    ])
    await until(() => nothingLeft(p))
    expect(p.inspect()['calls']).toMatchObject({ success: 1 })
  })

  test('refuses before the handler has run, and the connection lives on, with its body unread', async () => {
    const p = pipeline('door', [rateLimit({ rate: 1, per: '1h', burst: 1 })])
    let ran = 0
    await using server = await start(p, async () => (ran++, { body: 'ok' }))
    const agent = oneConnection()
    const answers = []
    for (let i = 0; i < 4; i++) {
      answers.push(await ask({ port: server.port, agent, method: 'POST', body: 'x'.repeat(100_000) }))
    }
    expect([answers.map(({ status }) => status), ran]).toEqual([[200, 429, 429, 429], 1])
    const { headers, body } = answers[1] as (typeof answers)[number]
    expect(JSON.parse(body)).toMatchObject({
      status: 429,
      code: 'rate',
      title: 'Too many requests',
      retryAfterMs: expect.any(Number),
    })
    expect(headers).toMatchObject({ 'content-type': 'application/problem+json', 'cache-control': 'no-store' })
    expect(Number(headers['retry-after'])).toBeGreaterThan(3500)
    expect(Object.values(agent.freeSockets).flat().length).toBe(1)
    agent.destroy()
  })

  test('refuses in the other format, and without a word of what stands behind', async () => {
    const p = pipeline('secret-name', [rateLimit({ rate: 1, per: '1h', burst: 1 })])
    await using server = await start(p, ok, { format: 'google' })
    await ask({ port: server.port })
    const { status, body } = await ask({ port: server.port })
    expect(JSON.parse(body)).toMatchObject({
      error: { code: 429, status: 'RESOURCE_EXHAUSTED', details: [{ reason: 'RATE' }, {}] },
    })
    expect([status, body.includes('secret-name')]).toEqual([429, false])
  })

  test('HEAD: the refusal has a head and no body, and the next answer is understood', async () => {
    const p = pipeline('door', [rateLimit({ rate: 1, per: '1h', burst: 2 })])
    await using server = await start(p, ok)
    const agent = oneConnection()
    const answers = []
    for (let i = 0; i < 4; i++) answers.push(await ask({ port: server.port, agent, method: i === 3 ? 'GET' : 'HEAD' }))
    expect(answers.map(({ status, body }) => [status, body === ''])).toEqual([
      [200, true],
      [200, true],
      [429, true],
      [429, false],
    ])
    agent.destroy()
  })

  test('a deadline that a trusted caller sent ends the signal of the handler, and the caller hears 504', async () => {
    const p = pipeline('door', [bulkhead({ slots: 1 })])
    let left = 0
    const reasons: unknown[] = []
    await using server = await start(
      p,
      (call) => {
        left = call.remainingMs
        call.signal.addEventListener('abort', () => reasons.push((call.signal.reason as { code?: unknown }).code))
        return untilAborted(call)
      },
      { trust: LOCAL },
    )
    const agent = oneConnection()
    const { status, body, headers } = await ask({ port: server.port, agent, headers: { [names.timeout]: '60' } })
    expect([status, JSON.parse(body).code, headers['retry-after'], reasons]).toEqual([
      504,
      'deadline',
      undefined,
      ['deadline'],
    ])
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(60)
    await until(() => nothingLeft(p))
    // The caller's time says nothing against the server; and the connection was not cut off by the handler's own end.
    expect(p.inspect()['calls']).toMatchObject({ ignored: 1, timeout: 0 })
    expect(Object.values(agent.freeSockets).flat().length).toBe(1)
    agent.destroy()
  })

  test('what a stranger sends is not believed', async () => {
    const p = pipeline('door', [])
    const seen: unknown[] = []
    await using server = await start(p, async (call) => (seen.push(call.remainingMs, call.criticality), { body: 'ok' }))
    const headers = { [names.timeout]: '1', [names.criticality]: 'CRITICAL_PLUS', [names.attempt]: '7' }
    expect((await ask({ port: server.port, headers })).status).toBe(200)
    expect(seen).toEqual([Number.POSITIVE_INFINITY, 'critical'])
  })

  test('criticality comes from who is trusted; the highest from who may', async () => {
    const seen: unknown[] = []
    const handler = async (call: Call) => (seen.push(call.criticality), { body: 'ok' })
    for (const criticalPlus of [[], LOCAL]) {
      await using server = await start(pipeline('door', []), handler, {
        trust: LOCAL,
        criticalPlus,
        criticality: 'sheddablePlus',
      })
      for (const said of ['CRITICAL_PLUS', 'SHEDDABLE', 'nonsense', undefined]) {
        await ask({ port: server.port, headers: said === undefined ? {} : { [names.criticality]: said } })
      }
    }
    expect(seen).toEqual([
      ...['critical', 'sheddable', 'sheddablePlus', 'sheddablePlus'],
      ...['criticalPlus', 'sheddable', 'sheddablePlus', 'sheddablePlus'],
    ])
  })

  test('hostile values are as if they were not there: the default deadline applies, never none', async () => {
    const left: number[] = []
    const handler = async (call: Call) => (left.push(call.remainingMs), { body: 'ok' })
    await using server = await start(pipeline('door', []), handler, { trust: LOCAL, within: '5s', atMost: '10s' })
    const hostile = ['-1', '1e3', 'Infinity', '12345678901', '', '5 5', '0x10', 'NaN']
    for (const value of hostile) await ask({ port: server.port, headers: { [names.timeout]: value } })
    await ask({ port: server.port, headers: { [names.timeout]: ['1000', '2000'] } })
    expect(left.map((ms) => ms > 4000 && Math.round(ms) <= 5000)).toEqual(Array.from({ length: 9 }, () => true))
    expect((await ask({ port: server.port, headers: { [names.timeout]: '0' } })).status).toBe(504)
    await ask({ port: server.port, headers: { [names.timeout]: '9999999999' } })
    expect(left.length).toBe(10)
    expect(server.guard.inspect()['malformed']).toBeGreaterThanOrEqual(8)
  })

  test('a client that leaves ends the signal of its handler, and gives the slot back', async () => {
    const p = pipeline('door', [bulkhead({ slots: 1 })])
    const reasons: unknown[] = []
    const begun = latch()
    await using server = await start(p, (call) => {
      call.signal.addEventListener('abort', () => reasons.push((call.signal.reason as Error).name))
      begun.open()
      return untilAborted(call)
    })
    const { sent } = asking({ port: server.port })
    await begun.opened
    sent.destroy()
    await until(() => reasons.length > 0 && nothingLeft(p) && runningIn(server.guard.inspect()) === 0)
    expect([reasons, p.inspect()['calls']]).toMatchObject([['AbortError'], { ignored: 1 }])
  })

  test('a client that leaves the queue is never handled', async () => {
    const p = pipeline('door', [queue({ atMost: '1m' }), bulkhead({ slots: 1 })])
    const [begun, end] = [latch(), latch()]
    let ran = 0
    await using server = await start(p, async () => {
      ran++
      begun.open()
      await end.opened
      return { body: 'ok' }
    })
    const first = ask({ port: server.port })
    await begun.opened
    const { sent } = asking({ port: server.port })
    await until(() => leftIn(undefined, p).waiting === 1)
    sent.destroy()
    await until(() => leftIn(undefined, p).waiting === 0)
    end.open()
    expect([(await first).status, ran]).toEqual([200, 1])
    await until(() => nothingLeft(p) && runningIn(server.guard.inspect()) === 0)
  })

  test('a request that waits behind another on its connection hears of the end of both', async () => {
    const p = pipeline('door', [bulkhead({ slots: 5 })])
    let begun = 0
    let aborted = 0
    await using server = await start(p, (call) => {
      begun++
      call.signal.addEventListener('abort', () => aborted++)
      return untilAborted(call)
    })
    const { socket } = raw(server.port, 'GET /1 HTTP/1.1\r\nhost: a\r\n\r\nGET /2 HTTP/1.1\r\nhost: a\r\n\r\n')
    await until(() => begun === 2)
    socket.destroy()
    await until(() => aborted === 2 && nothingLeft(p) && runningIn(server.guard.inspect()) === 0)
  })

  test('a streamed answer has its slot until it ends, and no deadline cuts it off', async () => {
    const p = pipeline('door', [deadline({ within: 60 }), bulkhead({ slots: 1 })])
    const body = new Readable({ read() {} })
    let aborted = false
    let first = true
    await using server = await start(p, async (call) => {
      call.signal.addEventListener('abort', () => (aborted = true))
      return first ? ((first = false), { body }) : { body: 'ok' }
    })
    body.push('begin ')
    const { answer } = asking({ port: server.port })
    await until(() => (p.inspect()['calls'] as { success: number }).success === 1)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect([(await ask({ port: server.port })).status, leftIn(undefined, p).used]).toEqual([503, 1])
    body.push('end')
    body.push(null)
    expect([(await answer).body, aborted]).toEqual(['begin end', false])
    await until(() => nothingLeft(p))
    expect((await ask({ port: server.port })).status).toBe(200)
  })

  test('a client that leaves in the middle of a streamed answer ends the signal, and gives the slot back', async () => {
    const p = pipeline('door', [bulkhead({ slots: 1 })])
    const body = new Readable({ read() {} })
    let aborted = false
    await using server = await start(p, async (call) => {
      call.signal.addEventListener('abort', () => (aborted = true))
      return { body }
    })
    body.push('begin ')
    const { sent } = asking({ port: server.port })
    await until(() => (p.inspect()['calls'] as { success: number }).success === 1)
    sent.destroy()
    await until(() => aborted && nothingLeft(p) && runningIn(server.guard.inspect()) === 0)
    body.destroy()
  })

  test('a handler that goes on after its time keeps its slot until it ends, and what it writes goes nowhere', async () => {
    const p = pipeline('door', [bulkhead({ slots: 1 }), timeout({ after: 40 })])
    const end = latch()
    await using server = await start(p, async () => {
      await end.opened
      return { status: 200, headers: { 'x-late': 'yes' }, body: 'late' }
    })
    const agent = oneConnection()
    const { status, body, headers } = await ask({ port: server.port, agent })
    expect([status, JSON.parse(body).code, headers['x-late']]).toEqual([504, 'timeout', undefined])
    expect((await ask({ port: server.port, agent })).status).toBe(503)
    expect([leftIn(undefined, p).used, runningIn(server.guard.inspect())]).toEqual([1, 1])
    end.open()
    await until(() => nothingLeft(p) && runningIn(server.guard.inspect()) === 0)
    expect([(await ask({ port: server.port, agent })).status, server.errors]).toEqual([200, []])
    agent.destroy()
  })

  test('an error of the handler comes to the framework, by identity, and is a failure', async () => {
    const p = pipeline('door', [bulkhead({ slots: 1 })])
    const error = new Error('mine')
    await using server = await start(p, () => Promise.reject(error))
    const { status } = await ask({ port: server.port })
    await until(() => server.errors.length > 0 && nothingLeft(p))
    expect([status, server.errors.length, server.errors[0] === error]).toEqual([500, 1, true])
    expect(p.inspect()['calls']).toMatchObject({ failure: 1 })
  })

  test.each([
    [200, 'success'],
    [404, 'success'],
    [429, 'overload'],
    [500, 'failure'],
    [503, 'overload'],
    [504, 'failure'],
  ])('an answer with status %d is a %s', async (status, verdict) => {
    const p = pipeline('door', [])
    await using server = await start(p, async () => ({ status, body: 'x' }))
    expect((await ask({ port: server.port })).status).toBe(status)
    expect(p.inspect()['calls']).toMatchObject({ [verdict]: 1 })
  })
})
