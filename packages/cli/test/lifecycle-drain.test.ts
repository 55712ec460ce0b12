import type { ServerResponse } from 'node:http'
import { Agent, request as send } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { certificate } from './support/certificates.ts'
import { Cli } from './support/child.ts'
import { configFile, type Gateway, startGateway } from './support/gateway.ts'
import { ask, wire } from './support/http.ts'
import { startOrigin } from './support/origin.ts'
import { filesOf, wireTls } from './support/tls.ts'
import { until } from './support/until.ts'

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

function isRefused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve(false)
    })
    socket.on('error', () => resolve(true))
  })
}

async function notReady(gateway: Gateway): Promise<void> {
  await until(async () => (await gateway.admin('/readyz')).status === 503)
}

// C39: SIGTERM: drain, do not drop, do not hang.
describe('C39: nothing is dropped', () => {
  test('ready no more, alive still; new ones are served until the delay is over; what runs, and who waits in a queue, is answered', async () => {
    const held: ServerResponse[] = []
    const origin = await startOrigin((request, response) => {
      if (request.url === '/quick') response.end('quick')
      else held.push(response)
    })
    const config = {
      drain: '60s',
      drainDelay: '2s',
      layers: [],
      routes: [
        {
          path: '/queued',
          layers: [
            { kind: 'queue', atMost: '60s' },
            { kind: 'bulkhead', slots: 1 },
          ],
        },
        {},
      ],
      endpoint: [],
    }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const kept = await wire(gateway.port, get('/quick'))
    const running = await wire(gateway.port, get('/slow'))
    const queued = await Promise.all(Array.from({ length: 6 }, () => wire(gateway.port, get('/queued'))))
    await until(() => kept.statuses.length === 1 && held.length === 2)
    gateway.cli.kill('SIGTERM')
    await notReady(gateway)
    expect((await gateway.admin('/readyz')).body).toBe('draining\n')
    expect((await gateway.admin('/healthz')).status).toBe(200)
    // Within the delay: on a kept connection, and on a new one.
    kept.write(get('/quick'))
    expect(await ask(gateway.port, { path: '/quick' })).toMatchObject({ status: 200, headers: { connection: 'close' } })
    await until(() => kept.closed)
    expect(kept.text).toMatch(/quick.*Connection: close.*quick$/s)
    await until(() => isRefused(gateway.port))
    expect((await gateway.admin('/healthz')).status).toBe(200)
    // After it: one after the other, as the queue lets them.
    for (let answered = 0; answered < 7; answered++) {
      await until(() => held.length > answered)
      held[answered]?.end('late')
    }
    await until(() => [running, ...queued].every(({ closed }) => closed))
    for (const line of [running, ...queued]) expect(line.text).toMatch(/200 OK.*Connection: close.*late$/s)
    expect((await gateway.cli.finished()).code).toBe(0)
    expect(gateway.log.map(({ msg }) => msg)).toEqual(['ready', 'stopping', 'draining', 'stopped'])
  })

  test('a stream, a retry that waits, a request that nobody answers: cut when the grace is over, exit code 1', async () => {
    const origin = await startOrigin((request, response) => {
      if (request.url === '/stream')
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
      else if (request.url === '/503') response.writeHead(503).end()
    })
    const layers = [{ kind: 'retry', attempts: 2, backoff: { first: '10h', atMost: '10h' } }]
    const config = { layers, endpoint: [], drain: '1s', drainDelay: '100ms' }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const lines = await Promise.all(['/stream', '/503', '/never'].map((path) => wire(gateway.port, get(path))))
    await until(() => lines[0]?.text.includes('data: 1') === true && origin.seen.length === 3)
    gateway.cli.kill('SIGTERM')
    expect((await gateway.cli.finished()).code).toBe(1)
    await until(() => lines.every(({ closed }) => closed) && origin.sockets.size === 0)
    // Nobody could take it for the whole: the last chunk is missing.
    expect(lines[0]?.text).not.toMatch(/0\r\n\r\n$/)
    expect(gateway.log).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: 'cut what was still running', inFlight: 3 }),
    )
  })

  test('who is connected and says nothing does not hold it up, and is nobody who was cut', async () => {
    const origin = await startOrigin()
    const tls = { ...filesOf(certificate('site')), listen: '127.0.0.1:0' }
    const gateway = await startGateway({ upstreams: [origin.port], config: { tls, drain: '60s', drainDelay: '50ms' } })
    const securePort = Number(new URL(String(gateway.log[0]?.['tls'])).port)
    const silent = await wire(gateway.port)
    const handshake = await wire(securePort)
    const secure = await wireTls(securePort, { rejectUnauthorized: false })
    const idle = await wire(gateway.port, get('/'))
    await until(() => idle.statuses.length === 1)
    gateway.cli.kill('SIGTERM')
    expect((await gateway.cli.finished()).code).toBe(0)
    await until(() => silent.closed && handshake.closed && idle.closed && secure.destroyed)
  })

  test('clients that keep their connections see no error, whenever they ask', async () => {
    const origin = await startOrigin((_request, response) => setTimeout(() => response.end('ok'), 5))
    const gateway = await startGateway({ upstreams: [origin.port] })
    const lines = await Promise.all(Array.from({ length: 20 }, () => wire(gateway.port)))
    const asked = lines.map(() => 0)
    const again = (i: number): void => {
      asked[i] = (asked[i] ?? 0) + 1
      lines[i]?.write(get('/'))
    }
    for (const [i, line] of lines.entries()) {
      // The next request as soon as the last is answered, unless the answer says that it was the last.
      line.socket.on('data', (chunk) => {
        if (String(chunk).endsWith('ok') && !/connection: close/i.test(line.text)) again(i)
      })
      again(i)
    }
    await until(() => asked.every((count) => count > 5))
    gateway.cli.kill('SIGTERM')
    expect((await gateway.cli.finished()).code).toBe(0)
    await until(() => lines.every(({ closed }) => closed))
    for (const [i, { statuses }] of lines.entries()) expect(statuses).toEqual(Array(asked[i]).fill(200))
  })

  test('one of two gateways ends under 1,000 requests of a client that repeats nothing: no error', async () => {
    const origin = await startOrigin((_request, response) => setTimeout(() => response.end('ok'), 2))
    const pair = await Promise.all([1, 2].map(() => startGateway({ upstreams: [origin.port] })))
    const agents = pair.map(() => new Agent({ keepAlive: true }))
    const ready = [true, true]
    const counts = [0, 0]
    let left = 1000
    let over = false
    // A balancer as they are: it looks now and then, and believes what it saw last.
    const looks = pair.map(async (gateway, i) => {
      while (!over && ready[i] === true) {
        ready[i] = (await gateway.admin('/readyz')).status === 200
        await pause(100)
      }
    })
    const client = async (): Promise<void> => {
      while (left-- > 0) {
        const at = left % 2 === 0 && ready[0] === true ? 0 : 1
        expect(await answerOf((pair[at] as Gateway).port, agents[at] as Agent)).toBe('200 ok')
        counts[at] = (counts[at] ?? 0) + 1
        if (left === 700) pair[0]?.cli.kill('SIGTERM')
      }
    }
    await Promise.all(Array.from({ length: 8 }, client))
    over = true
    await Promise.all(looks)
    expect((counts[0] ?? 0) + (counts[1] ?? 0)).toBe(1000)
    expect(counts[0]).toBeGreaterThan(100)
    expect((await pair[0]?.cli.finished())?.code).toBe(0)
    for (const agent of agents) agent.destroy()
  })
})

function answerOf(port: number, agent: Agent): Promise<string> {
  return new Promise((resolve) => {
    const request = send({ host: '127.0.0.1', port, agent }, (response) => {
      let text = `${response.statusCode} `
      response.on('data', (chunk) => {
        text += String(chunk)
      })
      response.on('end', () => resolve(text))
    })
    request.on('error', (error) => resolve(error.message))
    request.end()
  })
}

describe('C39: it does not hang', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('%s with nothing open: it ends, exit code 0', async (signal) => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port] })
    const idle = await wire(gateway.port, get('/'))
    await until(() => idle.statuses.length === 1)
    gateway.cli.kill(signal)
    expect((await gateway.cli.finished()).code).toBe(0)
    await until(() => idle.closed)
    expect(gateway.log.map(({ msg }) => msg)).toEqual(['ready', 'stopping', 'draining', 'stopped'])
    // A person waits for no balancer.
    expect(gateway.log[2]).toMatchObject({ delayMs: signal === 'SIGINT' ? 0 : 1000, withinMs: 10_000 })
  })

  test('a second signal ends it at once, within the delay and after it', async () => {
    const origin = await startOrigin(() => {})
    const config = { layers: [], endpoint: [], drain: '1h' }
    const gateways = await Promise.all(
      ['1h', '1ms'].map((drainDelay) => startGateway({ upstreams: [origin.port], config: { ...config, drainDelay } })),
    )
    for (const gateway of gateways) await wire(gateway.port, get('/'))
    await until(() => origin.seen.length === 2)
    for (const { cli } of gateways) cli.kill('SIGTERM')
    await until(() => isRefused((gateways[1] as Gateway).port))
    await notReady(gateways[0] as Gateway)
    for (const { cli } of gateways) cli.kill('SIGTERM')
    for (const { cli } of gateways) expect((await cli.finished()).code).toBe(1)
    await until(() => origin.sockets.size === 0)
  })

  test('SIGTERM while it starts, whenever that is: it ends, and not with an error', async () => {
    const { port } = await startOrigin()
    const text = `listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nupstreams: [http://127.0.0.1:${port}]\ndrainDelay: 0\n`
    for (const afterMs of [0, 60, 120, 180, 240, 300, 400]) {
      const cli = new Cli(['gateway', '--config', configFile(text)])
      await pause(afterMs)
      cli.kill('SIGTERM')
      await cli.finished()
      // Before there is somebody who hears it, the system ends the process.
      const { exitCode, signalCode } = cli.process
      expect([exitCode, signalCode]).toEqual(signalCode === null ? [0, null] : [null, 'SIGTERM'])
      expect(cli.stderr).toBe('')
    }
  })

  test('a delay longer than the whole makes no sense', async () => {
    const file = configFile('upstreams: [http://127.0.0.1:1]\ndrain: 1s\ndrainDelay: 2s\n')
    const cli = new Cli(['gateway', '--config', file, '--check'])
    expect(await cli.finished()).toEqual({
      code: 2,
      stdout: '',
      stderr: `${file}:3:13 drainDelay: expected at most "drain", which is 1000 ms, got 2000 ms\n`,
    })
  })
})
