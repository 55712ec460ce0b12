import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import { ask, wire } from '../support/http.ts'
import { deadPort, startOrigin, startTcp } from '../support/origin.ts'
import { until } from '../support/until.ts'

// What goes wrong behind the gateway, under load. Afterwards nothing runs, no permit is held and no socket is left.

const CLIENTS = 40
const endpoint = [{ kind: 'breaker' }, { kind: 'bulkhead', slots: 1000 }, { kind: 'timeout', after: '500ms' }]
const config = { layers: [{ kind: 'retry', attempts: 2, backoff: { first: '1ms' } }], endpoint }

async function statusesOf(port: number): Promise<Set<number>> {
  const answers = await Promise.all(Array.from({ length: CLIENTS }, () => ask(port)))
  return new Set(answers.map(({ status }) => status))
}

describe('faults of the upstream', () => {
  test('refused: told at once, and isolated', async () => {
    const balance = { whenOut: 'recover' }
    const gateway = await startGateway({ upstreams: [await deadPort()], config: { ...config, balance } })
    const statuses = await statusesOf(gateway.port)
    expect([...statuses].every((status) => status === 502 || status === 503)).toBe(true)
    await until(async () => (await ask(gateway.port)).status === 503)
    await gateway.quiet()
  })

  test('back again: a refusing upstream is found when it listens', async () => {
    const port = await deadPort()
    const gateway = await startGateway({ upstreams: [port], config })
    expect((await ask(gateway.port)).status).toBe(502)
    await startOrigin(undefined, port)
    await until(async () => (await ask(gateway.port)).status === 200)
    await gateway.quiet()
  })

  test('reset: each is told, the connections are gone', async () => {
    const origin = await startTcp((socket) => void socket.once('data', () => socket.resetAndDestroy()))
    const gateway = await startGateway({ upstreams: [origin.port], config })
    expect([...(await statusesOf(gateway.port))].every((status) => status === 502 || status === 503)).toBe(true)
    await until(() => origin.sockets.size === 0)
    await gateway.quiet()
  })

  test('accepts and never answers: 504 in time, then the breaker spares the wait', async () => {
    const origin = await startTcp((socket) => void socket.resume())
    const gateway = await startGateway({ upstreams: [origin.port], config })
    expect([...(await statusesOf(gateway.port))].every((status) => status === 504 || status === 503)).toBe(true)
    await until(async () => (await ask(gateway.port)).status === 503)
    await until(() => origin.sockets.size === 0)
    expect((await gateway.quiet()).upstreams[0]?.failures['timeout']).toBeGreaterThan(0)
  })

  test('accepts and never reads: an upload ends by the time limit, too', async () => {
    const origin = await startTcp((socket: Socket) => void socket.pause())
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n')
    const block = Buffer.alloc(65_536)
    const push = (): void => {
      while (!line.closed && line.socket.write(block));
    }
    line.socket.on('drain', push)
    push()
    await until(() => line.text.includes('requestId'))
    expect(line.statuses).toEqual([504])
    await until(() => line.closed)
    await gateway.quiet()
    // Who does not read does not see that the other side is gone.
    for (const socket of origin.sockets) socket.resume()
    await until(() => origin.sockets.size === 0)
  })

  test('goes silent in the middle of a body: cut by the idle limit', async () => {
    const origin = await startTcp((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'))
    })
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { idle: '1s' } } })
    await expect(ask(gateway.port)).rejects.toThrow()
    await until(() => origin.sockets.size === 0)
    expect((await gateway.quiet()).upstreams[0]?.failures).toEqual({ idle: 1 })
  })

  test('a connection that never comes about: the call is free in time, and so is its place', async () => {
    // 192.0.2.0/24 is for documentation: packets to it are lost or refused, as the network likes.
    const gateway = await startGateway({
      upstreams: [],
      config: { ...config, upstreams: ['http://192.0.2.1:81'], limits: { connect: '10s' } },
    })
    expect([502, 504]).toContain((await ask(gateway.port)).status)
    await gateway.quiet()
  })

  test('a name that nobody knows', async () => {
    const gateway = await startGateway({
      upstreams: [],
      config: { ...config, upstreams: ['http://nobody.invalid:81'] },
    })
    // 504 where even the name server does not answer.
    expect([502, 504]).toContain((await ask(gateway.port, { method: 'POST', body: 'x' })).status)
    await gateway.quiet()
  })

  test('more requests than connections: they wait in line, and leave it when their time is over', async () => {
    let answer = (): void => {}
    const origin = await startOrigin((_request, response) => {
      answer = () => response.end('late')
    })
    const gateway = await startGateway({
      upstreams: [origin.port],
      config: { layers: [], endpoint: [{ kind: 'timeout', after: '700ms' }], limits: { connections: 1 } },
    })
    const all = Array.from({ length: 5 }, () => ask(gateway.port))
    await until(async () => (await gateway.inspect()).upstreams[0]?.connections.waiting === 4)
    const statuses = (await Promise.all(all)).map(({ status }) => status)
    expect(statuses).toEqual(Array(5).fill(504))
    await gateway.quiet()
    answer()
    await until(() => origin.sockets.size === 0)
    // Those that left the line were never sent.
    expect(origin.seen.length).toBeLessThan(5)
  })
})
