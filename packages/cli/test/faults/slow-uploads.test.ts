import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import { wire } from '../support/http.ts'
import { startOrigin } from '../support/origin.ts'
import { until } from '../support/until.ts'

// Clients that send their body so slowly that they hold what others need.

const post = (more = '', length = 1_000_000): string =>
  `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n${more}\r\n`
const expects = 'Expect: 100-continue\r\n'

describe('who has asked whether to send', () => {
  const config = { layers: [{ kind: 'bulkhead', slots: 1 }], endpoint: [] }

  test('and does not begin: the slot is free soon', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { continue: '1s' } } })
    const line = await wire(gateway.port, post(expects))
    await until(() => line.statuses.length === 1)
    await until(() => line.closed)
    expect(line.statuses).toEqual([100, 408])
    expect(origin.seen).toHaveLength(0)
    const { pipeline } = await gateway.quiet()
    expect(pipeline.running).toBe(0)
  })

  test('and trickles: the same, though he is never idle', async () => {
    const origin = await startOrigin()
    const limits = { continue: '1s', upload: '1MB', idle: '60s' }
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits } })
    const line = await wire(gateway.port, post(expects))
    await until(() => line.statuses.length === 1)
    const timer = setInterval(() => line.write('x'), 100)
    await until(() => line.closed)
    clearInterval(timer)
    expect(line.statuses).toEqual([100, 408])
    await gateway.quiet()
  })

  test('and sends in time: answered, although the layers have been slow to say yes', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({
      upstreams: [origin.port],
      config: {
        layers: [
          { kind: 'queue', size: 1, atMost: '10s' },
          { kind: 'bulkhead', slots: 1 },
        ],
        endpoint: [],
        limits: { continue: '2s' },
      },
    })
    // Holds the slot until his own time is over.
    const first = await wire(gateway.port, post(expects))
    await until(() => first.statuses.length === 1)
    const second = await wire(gateway.port, post(expects, 5))
    await until(() => second.statuses.includes(100))
    second.write('hello')
    await until(() => second.statuses.length === 2)
    expect(second.statuses).toEqual([100, 200])
    expect(origin.seen.map(({ body }) => body)).toEqual(['hello'])
    second.socket.destroy()
    await gateway.quiet()
  })
})

describe('a large body that is streamed', () => {
  test('too slowly: the connection to the server is given back after the time to start', {
    timeout: 60_000,
  }, async () => {
    const origin = await startOrigin((request) => void request.resume())
    const config = { layers: [], endpoint: [], routes: [{ replay: 0 }], limits: { connections: 1, idle: '60s' } }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, post())
    const timer = setInterval(() => line.write('x'.repeat(10)), 200)
    await pause(15_000)
    expect(line.closed).toBe(false)
    await until(() => line.closed, 20_000)
    clearInterval(timer)
    expect(line.statuses).toEqual([408])
    await until(() => origin.sockets.size === 0)
    await gateway.quiet()
  })

  test('by a server that takes its time: the client is not to blame', { timeout: 60_000 }, async () => {
    let go = (): void => {}
    const origin = await startOrigin((request, response) => {
      request.pause()
      go = () => {
        request.resume()
        request.on('end', () => response.end('ok'))
      }
    })
    const config = { layers: [], endpoint: [], routes: [{ replay: 0, limits: { upload: '10MB' } }] }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const length = 20_000_000
    const line = await wire(gateway.port, post('', length))
    line.write(Buffer.alloc(length))
    await until(() => origin.seen.length === 1)
    await pause(24_000)
    expect(line.text).toBe('')
    go()
    await until(() => line.statuses.length === 1)
    expect(line.statuses).toEqual([200])
    line.socket.destroy()
    await gateway.quiet()
  })
})
