import { Agent, request as send } from 'node:http'
import { expect, test } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import { type Origin, startOrigin } from '../support/origin.ts'

// Everything at once: upstreams that answer, break, dawdle and stream, clients that read, leave and upload. What each request came to does
// not matter here; that nothing is left does.

const REQUESTS = 3000
const CLIENTS = 40

/** The same sequence in every run: Park and Miller's generator. */
function dice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (state * 48_271) % 2_147_483_647
    return state % sides
  }
}

function moody(seed: number): Promise<Origin> {
  const roll = dice(seed)
  return startOrigin((request, response) => {
    request.on('error', () => {})
    switch (roll(12)) {
      case 0:
        return void request.socket.destroy()
      case 1:
        return void request.socket.resetAndDestroy()
      case 2:
        response.statusCode = 503
        return void response.end('no')
      case 3:
        response.write('x'.repeat(roll(200_000)))
        return void setTimeout(() => request.socket.destroy(), roll(30))
      case 4:
        request.resume()
        return void setTimeout(() => response.end('late'), roll(400))
      case 5: {
        const timer = setInterval(() => response.write('y'.repeat(50_000)), 1)
        response.on('close', () => clearInterval(timer))
        // Between the end and the close a slow reader has time for another write, which would be an error that nobody hears.
        const end = (): void => {
          clearInterval(timer)
          response.end()
        }
        return void setTimeout(end, roll(40))
      }
      case 6:
        return void response.end('early')
      case 7:
        response.statusCode = 304
        return void response.end()
      default:
        request.resume()
        request.on('end', () => response.end('z'.repeat(roll(100_000))))
    }
  })
}

const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })

/** One request of a client with moods of its own; resolves when it is over, in whatever way. */
function one(port: number, roll: (sides: number) => number): Promise<void> {
  return new Promise((resolve) => {
    const upload = roll(10) < 3
    const method = (upload ? ['POST', 'PUT'] : ['GET', 'HEAD', 'DELETE'])[roll(upload ? 2 : 3)] as string
    const leaves = roll(7) === 0
    const request = send({ host: '127.0.0.1', port, method, agent: roll(10) === 0 ? false : agent }, (response) => {
      response.on('error', () => {})
      if (roll(20) === 0) response.destroy()
      else response.resume()
    })
    request.on('error', () => {})
    request.on('close', resolve)
    if (upload) request.write(Buffer.alloc(roll(4) === 0 ? roll(2_000_000) : roll(2000)))
    if (leaves) setTimeout(() => request.destroy(), roll(60))
    else request.end()
  })
}

test('whatever happens, nothing is left', { timeout: 60_000 }, async () => {
  const origins = [await moody(1), await moody(2)]
  const gateway = await startGateway({
    upstreams: origins.map(({ port }) => port),
    config: {
      layers: [
        { kind: 'deadline', within: '2s' },
        { kind: 'queue', size: 20, atMost: '500ms' },
        { kind: 'bulkhead', slots: 30 },
        { kind: 'retry', backoff: { first: '5ms' } },
      ],
      endpoint: [
        { kind: 'breaker', openFor: '200ms' },
        { kind: 'timeout', after: '200ms' },
      ],
      limits: { connections: 12 },
    },
  })
  const roll = dice(3)
  let left = REQUESTS
  const client = async (): Promise<void> => {
    while (left-- > 0) await one(gateway.port, roll)
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  agent.destroy()
  const { upstreams, gateway: facts } = await gateway.quiet()
  expect(facts.requests['2xx']).toBeGreaterThan(REQUESTS / 4)
  for (const { connections } of upstreams) expect(connections.open).toBeLessThanOrEqual(12)
  expect(gateway.log.filter(({ level }) => level === 'error')).toEqual([])
  expect(gateway.cli.stderr).toBe('')
})
