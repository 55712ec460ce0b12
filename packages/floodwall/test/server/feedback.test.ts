import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { bbr, bulkhead, type Gate, gate, type Layer, pipeline, Rejection, rateLimit } from 'floodwall'
import { protect } from 'floodwall/http'
import { ServerEdge } from 'floodwall/server'
import { names } from 'floodwall/wire'
import { describe, expect, test } from 'vitest'
import { BUSY, SIGNALS } from '../../src/algorithms/admission/pressure.ts'
import { Answers } from '../../src/server/answers.ts'
import { ask, oneConnection, raw, until } from '../adapters/client.ts'
import { frameworks } from '../adapters/frameworks.ts'
import { serving } from '../adapters/serving.ts'
import { leftIn, NOTHING } from '../core/fate.ts'

// What callers hear of an overloaded server, and what becomes of what they had sent.

const LOCAL = ['127.0.0.1']

/** Refuses everything as an overloaded gate does, and posts its level. */
class Closed implements Gate {
  readonly kind = 'overload'
  readonly path = 'door/overload'
  asked = 0
  tryAcquire(): Rejection {
    this.asked++
    return new Rejection(this, 'overloaded', 1500, 1, 1)
  }
  settled(): void {}
  cancelled(): void {}
  levelText(): string {
    return '320'
  }
  inspect() {
    return { kind: this.kind, asked: this.asked }
  }
}

describe.each(frameworks)('%s', (_, start) => {
  test('every answer to a trusted caller carries the level, refusals as well; a stranger hears nothing of it', async () => {
    const open = new Closed()
    let refuse = true
    const door: Gate = Object.assign(Object.create(open) as Closed, {
      tryAcquire: (...args: Parameters<Gate['tryAcquire']>) =>
        refuse ? Closed.prototype.tryAcquire.call(open) : free.tryAcquire(...args),
    })
    const free = bulkhead({ slots: 9 }).build(pipeline('free', []).env) as Gate
    for (const [trust, told] of [
      [LOCAL, '320'],
      [[], undefined],
    ] as const) {
      const p = pipeline('door', [gate(door)])
      await using server = await start(p, async () => ({ body: 'ok' }), { trust })
      refuse = true
      const no = await ask({ port: server.port })
      refuse = false
      const yes = await ask({ port: server.port })
      expect([no.status, yes.status]).toEqual([503, 200])
      expect([no.headers[names.level], yes.headers[names.level]]).toEqual([told, told])
    }
  })

  test('health checks and admin routes pass while everything is refused, and are not counted', async () => {
    const closed = new Closed()
    const p = pipeline('door', [gate(closed)])
    await using server = await start(p, async () => ({ body: 'ok' }), { exempt: ['/health', '/admin'] })
    const statuses: number[] = []
    for (const path of ['/', '/health', '/admin?x=1', '/'])
      statuses.push((await ask({ port: server.port, path })).status)
    expect([statuses, closed.asked]).toEqual([[503, 200, 200, 503], 2])
    const { exempt, pipeline: inside } = server.guard.inspect() as unknown as Record<string, { calls: object }>
    expect([exempt, inside?.calls]).toMatchObject([{ success: 2 }, { refused: 2, success: 0 }])
  })

  test('a streamed answer has its slot until its body has ended: the next one is refused until then', async () => {
    const p = pipeline('door', [bulkhead({ slots: 1 })])
    let finish: () => void = () => {}
    const body = () =>
      Readable.from(
        (async function* () {
          yield 'half'
          await new Promise<void>((resolve) => (finish = resolve))
          yield 'whole'
        })(),
      )
    await using server = await start(p, async () => ({ body: body() }))
    const first = ask({ port: server.port })
    await until(() => leftIn(undefined, p).used === 1)
    await sleep(10)
    expect((await ask({ port: server.port })).status).toBe(503)
    finish()
    expect((await first).body).toBe('halfwhole')
    await until(() => JSON.stringify(leftIn(undefined, p)) === JSON.stringify(NOTHING))
  })

  test('a large body that is refused ends its connection, with the answer whole', async () => {
    await using server = await start(pipeline('door', [gate(new Closed())]), async () => ({ body: 'ok' }))
    const head = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: 9000000\r\n\r\n'
    const { socket, text } = raw(server.port, `${head}${'x'.repeat(300_000)}`)
    await once(socket, 'end')
    expect(text()).toMatch(/HTTP\/1.1 503 .*\r\nconnection: close\r\n.*"code":"overloaded"/is)
    if (!socket.closed) await once(socket, 'close')
  })

  test('the handler is told how long its request has waited', async () => {
    let waited: unknown
    await using server = await start(pipeline('door', []), async (call) => {
      waited = call.init.waitedMs
      return { body: 'ok' }
    })
    await ask({ port: server.port })
    expect(waited).toBeGreaterThanOrEqual(0)
  })
})

describe('a body that is refused unread', () => {
  const refusing = (layers: readonly Layer[] = [gate(new Closed())]) => protect(pipeline('door', layers), () => {})

  test('a small one is read away, and the connection lives on', async () => {
    await using server = await serving(refusing())
    const agent = oneConnection()
    for (let i = 0; i < 3; i++) {
      const { status, headers } = await ask({ port: server.port, agent, method: 'POST', body: 'x'.repeat(50_000) })
      expect([status, headers.connection]).toEqual([503, 'keep-alive'])
    }
    agent.destroy()
  })

  test.each([
    ['a large one', { 'content-length': '10000000' }, 'x'.repeat(300_000)],
    ['one of unknown length', { 'transfer-encoding': 'chunked' }, '5\r\nhello\r\n'],
    ['one that was only announced', { 'content-length': '5', expect: '100-continue' }, ''],
  ])('%s: the answer arrives whole, says that the connection ends, and it ends', async (_, headers, body) => {
    await using server = await serving(refusing())
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const { socket, text } = raw(server.port, `POST / HTTP/1.1\r\nhost: a\r\n${lines.join('')}\r\n${body}`)
    await once(socket, 'end')
    expect(text()).toMatch(/HTTP\/1.1 503 .*\r\nconnection: close\r\n.*"code":"overloaded"/is)
    // Ended from there; it goes on to read what we still send, for a while.
    socket.on('error', () => {})
    if (!socket.closed) await once(socket, 'close')
  })

  test('a small one that is still on its way, when the server drains: the connection ends, and is not reset', async () => {
    await using server = await serving(() => {})
    const p = pipeline('door', [gate(new Closed())])
    const edge = new ServerEdge(p, { connections: server.server })
    server.server.removeAllListeners('request')
    server.server.on('request', (request, response) => edge.serve(request, response, request, { proceed: () => {} }))
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    let text = ''
    let error: Error | undefined
    socket.setEncoding('utf8').on('data', (piece: string) => (text += piece))
    socket.on('error', (fault) => (error = fault))
    await once(socket, 'connect')
    void edge.close()
    socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n${'x'.repeat(40_000)}`)
    await once(socket, 'end')
    expect(text).toMatch(/HTTP\/1.1 503 .*\r\nconnection: close\r\n/is)
    for (let i = 0; i < 6; i++) {
      socket.write('x'.repeat(10_000))
      await sleep(5)
    }
    socket.end()
    if (!socket.closed) await once(socket, 'close').catch(() => {})
    expect(error).toBeUndefined()
    await edge.close()
  })

  test('a client that never stops sending is cut off', async () => {
    await using server = await serving(refusing())
    const { socket, text } = raw(server.port, 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\n')
    const piece = 'x'.repeat(65_536)
    const more = () => {
      while (!socket.destroyed && socket.write(piece));
    }
    socket.on('drain', more)
    more()
    await until(() => socket.destroyed)
    expect(socket.bytesWritten).toBeLessThan(50_000_000)
    expect(text()).toContain('HTTP/1.1 503')
  })

  test('who lingers does not keep the process alive', async () => {
    await using server = await serving(refusing())
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const before = timers()
    const { socket } = raw(server.port, 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n')
    await once(socket, 'end')
    expect(timers()).toBeLessThanOrEqual(before)
    socket.destroy()
  })
})

describe('answers are written once', () => {
  test('C37 the same refusal is the same object, and times of another try do not fill the memory', () => {
    const answers = new Answers('problem')
    const first = answers.of('overloaded', 0, false)
    expect(answers.of('overloaded', 0, false)).toBe(first)
    expect(answers.of('overloaded', 1499.2, false)).toBe(answers.of('overloaded', 1500, false))
    expect(answers.of('overloaded', 0, true)).not.toBe(first)
    const kept = new Set(Array.from({ length: 10_000 }, (_, i) => answers.of('rate', i, false)))
    // 0 to 100, and 90 for each factor of ten.
    expect(kept.size).toBe(101 + 90 + 90)
    for (const code of ['rate', 'overloaded', 'full'] as const) {
      for (let ms = 0; ms < 1e7; ms += 997) answers.of(code, ms, false)
    }
    expect((answers as unknown as { kept: Map<string, unknown> }).kept.size).toBeLessThanOrEqual(512)
  })

  test('a flood whose times of another try are spread is answered from the stock; no time is shorter than it was', () => {
    const answers = new Answers('problem')
    const said = new Set<unknown>()
    for (let i = 0; i < 10_000; i++) {
      const ms = 1000 + ((i * 7919) % 119_000)
      const answer = answers.of('overloaded', ms, false)
      said.add(answer)
      const { retryAfterMs } = JSON.parse(answer.body) as { retryAfterMs: number }
      expect(retryAfterMs >= ms && retryAfterMs < ms * 1.1).toBe(true)
    }
    expect(said.size).toBe(90 + 90 + 3)
  })

  test('with the time of another try in header and body', async () => {
    const p = pipeline('door', [rateLimit({ rate: 1, per: '1h', burst: 1 })])
    await using server = await serving(protect(p, (_, response) => void response.end()))
    await ask({ port: server.port })
    const { headers, body } = await ask({ port: server.port })
    expect(Number(headers['retry-after'])).toBe(
      Math.ceil((JSON.parse(body) as { retryAfterMs: number }).retryAfterMs / 1000),
    )
  })
})

test('what may refuse is shared with the layers of the pipeline, and taken back', async () => {
  const p = pipeline('door', [])
  const shared = () => p.env.share<{ name: string }[]>(SIGNALS, () => []).map(({ name }) => name)
  const one = new ServerEdge(p)
  expect(shared()).toEqual(['heap', 'memory', 'gc'])
  const two = new ServerEdge(p)
  expect(Object.keys(one.inspect()['signals'] as object)).toContain('queue-delay')
  await one.close()
  expect(shared()).toEqual(['heap', 'memory', 'gc'])
  await two.close()
  expect(shared()).toEqual([])
})

test('how busy it is is shared apart: bbr finds it, overload does not count it', async () => {
  const p = pipeline('door', [bbr()])
  const busy = () => p.env.share<{ name: string; level(now: number): number }[]>(BUSY, () => [])
  const edge = new ServerEdge(p)
  const [signal] = busy()
  const level = signal?.level(p.env.precise()) ?? -1
  expect([busy().length, signal?.name, level >= 0 && level <= 1]).toEqual([1, 'cpu', true])
  expect(p.env.share<{ name: string }[]>(SIGNALS, () => []).map(({ name }) => name)).not.toContain('cpu')
  await p.call(() => 1)
  expect((p.inspect()['layers'] as { cpu: unknown }[])[0]?.cpu).toEqual(expect.any(Number))
  await edge.close()
  expect(busy()).toEqual([])
})
