import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ConfigError } from 'floodwall'
import { byBytes } from 'floodwall/server'
import { describe, expect, test } from 'vitest'

/** A request as node:http hands it out, as far as its cost looks at it. */
function request(headers: Record<string, string>, more: object = {}): IncomingMessage & EventEmitter {
  return Object.assign(new EventEmitter(), {
    headers,
    httpVersionMajor: 1,
    complete: false,
    push: () => true,
    ...more,
  }) as unknown as IncomingMessage & EventEmitter
}

const chunked = { 'transfer-encoding': 'chunked' }

/** One whose body has come. */
function whole(cost: ReturnType<typeof byBytes>, pieces: readonly number[], complete = true): number {
  const one = request(chunked)
  const charged = cost(one)
  for (const bytes of pieces) one.push(Buffer.alloc(bytes))
  one.push(null)
  Object.assign(one, { complete })
  one.emit('close')
  return charged
}

describe('what a body costs', () => {
  test.each<[name: string, headers: Record<string, string>, more: object, bytes: number]>([
    ['its length', { 'content-length': '5000' }, {}, 5000],
    ['nothing, where there is none', {}, {}, 0],
    ['nothing, of no bytes', { 'content-length': '0' }, {}, 0],
    ['the estimate, when it is chunked', chunked, {}, 65_536],
    ['the estimate, when it says two things', { ...chunked, 'content-length': '1' }, {}, 65_536],
    ['the estimate, when its length is no number', { 'content-length': '-1' }, {}, 65_536],
    ['the estimate, when its length is endless', { 'content-length': '9'.repeat(400) }, {}, 65_536],
    ['the estimate, in HTTP/2 without a length', {}, { httpVersionMajor: 2, stream: {} }, 65_536],
    ['nothing, in HTTP/2 with an end', {}, { httpVersionMajor: 2, stream: { endAfterHeaders: true } }, 0],
  ])('%s', (_name, headers, more, bytes) => {
    expect(byBytes()(request(headers, more))).toBe(bytes)
    expect(byBytes()({ raw: request(headers, more) })).toBe(bytes)
  })

  test('at least what a request costs anyway', () => {
    const cost = byBytes({ least: '1KiB', otherwise: '1MB' })
    expect(cost(request({}))).toBe(1024)
    expect(cost(request({ 'content-length': '5000' }))).toBe(5000)
    expect(cost(request(chunked))).toBe(1_000_000)
  })

  test('chunked bodies are charged what such bodies had lately', () => {
    const cost = byBytes({ otherwise: 500 })
    expect(whole(cost, [400, 600])).toBe(500)
    expect(whole(cost, [2000])).toBe(1000)
    expect(cost(request(chunked))).toBe(1100)
  })

  test('of one that was broken off what came counts, if it is more than usual', () => {
    const cost = byBytes({ otherwise: 500 })
    whole(cost, [1000])
    // It may have been larger, so that it makes nothing cheaper.
    expect(whole(cost, [1], false)).toBe(1000)
    expect(whole(cost, [], false)).toBe(1000)
    expect(whole(cost, [20_000, 1000], false)).toBe(1000)
    expect(cost(request(chunked))).toBe(3000)
  })

  test('a crowd of tiny ones does not make the next one free', () => {
    const cost = byBytes()
    for (let i = 0; i < 60; i++) whole(cost, [1])
    expect(whole(cost, [50_000_000])).toBe(65_536)
    expect(cost(request(chunked))).toBeGreaterThan(4_000_000)
    const dear = byBytes({ least: '100KiB' })
    whole(dear, [1])
    expect(dear(request(chunked))).toBe(102_400)
  })

  test.each<[object, string]>([
    [{ least: '1KB' }, 'byBytes.least'],
    [{ otherwise: -1 }, 'byBytes.otherwise'],
    [{ most: 1 }, 'byBytes.most'],
  ])('%j is refused', (options, path) => {
    let thrown: unknown
    try {
      byBytes(options)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(ConfigError)
    expect((thrown as ConfigError).issues).toMatchObject([{ path }])
  })

  test('of a real server, which reads the body as ever', async () => {
    const cost = byBytes({ otherwise: 7 })
    const costs: number[] = []
    const server = createServer((incoming, response) => {
      costs.push(cost(incoming))
      let text = ''
      incoming.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
      incoming.on('end', () => response.end(String(text.length)))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    for (const body of ['a'.repeat(300_000), 'b']) {
      const out = send({ port, host: '127.0.0.1', method: 'POST', headers: chunked, agent: false })
      out.end(body)
      const [answer] = (await once(out, 'response')) as [IncomingMessage]
      let said = ''
      for await (const piece of answer.setEncoding('utf8')) said += String(piece)
      expect(said).toBe(String(body.length))
    }
    server.close()
    expect(costs).toEqual([7, 300_000])
  })
})
