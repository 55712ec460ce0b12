import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { startGateway } from './support/gateway.ts'
import { ask, wire } from './support/http.ts'
import { startOrigin, startTcp } from './support/origin.ts'
import { until } from './support/until.ts'

// What a bandwidth must not do to anybody else: to the other routes, to the clock of a request, to those who come after a tunnel.

const KB = 1000
const sent = randomBytes(900 * KB)

test('short tunnels are no way around it', async () => {
  const origin = await startOrigin(undefined, 0, (_request, socket) => {
    socket.on('error', () => {})
    socket.write('HTTP/1.1 101 x\r\nUpgrade: raw\r\nConnection: Upgrade\r\n\r\n')
    setTimeout(() => socket.end(sent.subarray(0, 60 * KB)), 5)
  })
  const down = { rate: '20kB/s', burst: 2000, perCaller: '20kB/s' }
  const routes = [{ id: 'web', key: 'address', upgrade: ['raw'], bandwidth: { down } }]
  const gateway = await startGateway({ upstreams: [origin.port], config: { layers: [], endpoint: [], routes } })
  let got = 0
  const since = performance.now()
  for (let i = 0; i < 6; i++) {
    const line = await wire(gateway.port, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n')
    line.socket.on('data', (text: string) => {
      got += text.length
    })
    await until(() => line.statuses[0] === 101)
    await pause(60)
    line.socket.destroy()
  }
  // Heads of some 150 bytes are no bodies; a late timer gives what 100 ms are worth.
  const most = 2000 + 2000 + (performance.now() - since) * 20 + 6 * 200
  expect(got).toBeLessThan(most)
  expect((await gateway.quiet()).gateway.upgrades.open).toBe(0)
})

describe('a request', () => {
  test('whose answer is held back has time: its server reads no more meanwhile', async () => {
    // It answers after the first bytes, and reads on when all of its answer is gone.
    const origin = await startTcp((socket) => {
      socket.once('data', () => {
        socket.pause()
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n')
        socket.write(sent)
      })
    })
    const bandwidth = { down: { rate: '400kB/s', burst: '20kB' } }
    const config = { layers: [], endpoint: [], limits: { request: '1s' }, routes: [{ id: 'web', bandwidth }] }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const body = Buffer.alloc(20_000 * KB)
    const headers = { 'content-length': body.length }
    expect(await ask(gateway.port, { method: 'POST', headers, body })).toMatchObject({ status: 200, bytes: 900 * KB })
  })

  test('that is held back takes nothing of what others may keep', async () => {
    let tries = 0
    const origin = await startOrigin((request, response) => {
      request.resume().on('end', () => {
        response.statusCode = tries++ % 2 === 0 ? 503 : 200
        response.end()
      })
    })
    const slow = { id: 'slow', path: '/slow', bandwidth: { up: { rate: '3kB/s', burst: '16KiB' } } }
    const routes = [slow, { id: 'others', path: '/**' }]
    const config = { layers: [{ kind: 'retry' }], endpoint: [], limits: { replay: '64KiB' }, routes }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const lines = await Promise.all(
      [1, 2, 3, 4].map(async (_, i) => {
        // Two come whole, and two piece by piece.
        const head = `PUT /slow HTTP/1.1\r\nHost: x\r\nContent-Length: ${30 * KB}\r\n\r\n`
        const line = await wire(gateway.port, head + (i < 2 ? '' : 'a'.repeat(30 * KB)))
        if (i < 2) setTimeout(() => line.write(bytesOf(30 * KB)), 20)
        return line
      }),
    )
    await pause(200)
    const kept = async (): Promise<number> => (await gateway.inspect()).gateway.keptBytes
    // In memory they are, and have a bound of their own.
    const held = await kept()
    expect([held > 0, held <= 64 * 1024]).toEqual([true, true])
    for (let i = 0; i < 3; i++) {
      const answer = await ask(gateway.port, { method: 'PUT', path: '/fast', body: bytesOf(8 * KB) })
      expect(answer.status).toBe(200)
    }
    for (const { socket } of lines) socket.destroy()
    await gateway.quiet()
    expect(await kept()).toBe(0)
  })
})

function bytesOf(count: number): Buffer {
  return Buffer.alloc(count, 97)
}
