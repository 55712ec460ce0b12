import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { Agent, request as send } from 'node:http'
import { describe, expect, test } from 'vitest'
import { configFile, startGateway } from './support/gateway.ts'
import { ask, wire } from './support/http.ts'
import { startOrigin } from './support/origin.ts'
import { reload, start, write } from './support/reload.ts'
import { until } from './support/until.ts'

// C36: reload: keep what is learnt, lose nothing in flight.
describe('C36: what is learnt is kept', () => {
  test('(a), (b): an open breaker stays open, with the same settings and with others; counts go on', async () => {
    const origin = await startOrigin((_request, response) => response.writeHead(500).end())
    const breaker = (consecutive: number) => ({
      layers: [],
      endpoint: [{ kind: 'breaker', consecutive, openFor: '1h', openAtMost: '1h' }],
    })
    const gateway = await start(origin.port, breaker(3))
    for (let i = 0; i < 5; i++) await ask(gateway.port)
    expect(origin.seen).toHaveLength(3)
    for (const consecutive of [3, 4, 3]) {
      write(gateway, origin.port, breaker(consecutive))
      await reload(gateway)
      expect((await ask(gateway.port)).status).toBe(503)
    }
    expect(origin.seen).toHaveLength(3)
    const { pipeline, reload: last } = await gateway.inspect()
    expect(pipeline.calls).toMatchObject({ failure: 3, refused: 5 })
    expect(last).toMatchObject({ done: 3, failed: 0, ok: true, faults: [] })
  })

  test('slots that are taken stay taken: never 2 + 2', async () => {
    const held: ServerResponse[] = []
    const origin = await startOrigin((_request, response) => void held.push(response))
    const slots = (layers: object[]) => ({ layers: [{ kind: 'bulkhead', slots: 2 }, ...layers], endpoint: [] })
    const gateway = await start(origin.port, slots([]))
    const lines = await Promise.all([1, 2].map(() => wire(gateway.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')))
    await until(() => held.length === 2)
    write(gateway, origin.port, slots([{ kind: 'deadline', within: '1m' }]))
    await reload(gateway)
    expect((await ask(gateway.port)).status).toBe(503)
    for (const response of held) response.end('ok')
    await until(() => lines.every(({ statuses }) => statuses.length === 1))
    for (const { socket } of lines) socket.destroy()
    await gateway.quiet()
  })

  test('(f): what is wrong changes nothing, and says where and why: in the log, on the page, as a figure', async () => {
    const origin = await startOrigin()
    const gateway = await start(origin.port, {})
    writeFileSync(gateway.file, 'upstreams: [http://127.0.0.1:1]\ndrain: soon\nlayers:\n  - { kind: breakr }\n')
    await reload(gateway)
    expect((await ask(gateway.port)).body).toBe('ok')
    const { reload: last } = await gateway.inspect()
    expect(last).toMatchObject({ done: 0, failed: 1, ok: false })
    expect(last.faults).toEqual([
      expect.stringMatching(/gateway\.yaml:2:8 drain: expected a span/),
      expect.stringMatching(/gateway\.yaml:4:\d+ layers\[0\]/),
    ])
    const lines = gateway.log.filter(({ level }) => level === 'error')
    expect(lines.map(({ fault }) => fault)).toEqual(last.faults)
    const metrics = async () => (await gateway.admin('/metrics')).body
    expect(await metrics()).toContain('\nfloodwall_reload_ok 0\n')
    write(gateway, origin.port, {})
    await reload(gateway)
    expect((await gateway.inspect()).reload).toMatchObject({ done: 1, failed: 1, ok: true, faults: [] })
    expect(await metrics()).toContain('\nfloodwall_reload_ok 1\n')
  })

  test('a request sees one configuration from its start to its end', async () => {
    const held: ServerResponse[] = []
    const origin = await startOrigin((_request, response) => void held.push(response))
    const marked = (mark: string) => ({ routes: [{ id: 'only', response: { set: { 'x-mark': mark } } }] })
    const gateway = await start(origin.port, marked('before'))
    const early = ask(gateway.port)
    await until(() => held.length === 1)
    write(gateway, origin.port, marked('after'))
    await reload(gateway)
    const late = ask(gateway.port)
    await until(() => held.length === 2)
    for (const response of held) response.end()
    expect((await early).headers['x-mark']).toBe('before')
    expect((await late).headers['x-mark']).toBe('after')
  })

  test('(h): several at once: the file as it is in the end', async () => {
    const origin = await startOrigin()
    const gateway = await start(origin.port, {})
    for (let i = 0; i < 20; i++) {
      write(gateway, origin.port, { routes: [{ id: `route-${i}` }] })
      gateway.cli.kill('SIGHUP')
    }
    await until(async () => expect((await gateway.inspect()).routes.map(({ id }) => id)).toEqual(['route-19']))
    expect((await gateway.inspect()).reload.failed).toBe(0)
  })
})

describe('C36: nothing in flight is lost', () => {
  test('2,000 requests on kept connections while everything is exchanged 50 times: no error', async () => {
    const origins = await Promise.all([1, 2].map(() => startOrigin((_request, response) => response.end('ok'))))
    const [a = 0, b = 0] = origins.map(({ port }) => port)
    const clusters = (...ports: number[]) =>
      Object.fromEntries(ports.map((port) => [`c${port}`, { endpoints: [`http://127.0.0.1:${port}`] }]))
    const variants = [
      {
        clusters: clusters(a, b),
        routes: [
          { id: 'x', path: '/x', cluster: `c${a}` },
          { id: 'all', cluster: `c${b}` },
        ],
      },
      { clusters: clusters(a), routes: [{ id: 'all', cluster: `c${a}`, layers: [{ kind: 'retry', attempts: 2 }] }] },
      {
        routes: [
          {
            id: 'other',
            layers: [
              { kind: 'bulkhead', slots: 50 },
              { kind: 'deadline', within: '9s' },
            ],
          },
        ],
      },
    ]
    const gateway = await start(a, variants[0] as object)
    const agent = new Agent({ keepAlive: true })
    const answers = new Map<string, number>()
    let asked = 0
    let reloading = true
    const client = async (): Promise<void> => {
      while (reloading || asked < 2000) {
        const answer = await answerOf(gateway.port, asked++ % 3 === 0 ? '/x' : '/', agent)
        answers.set(answer, (answers.get(answer) ?? 0) + 1)
      }
    }
    const clients = Array.from({ length: 16 }, client)
    for (let i = 1; i <= 50; i++) {
      write(gateway, a, variants[i % 3] as object)
      await reload(gateway)
    }
    reloading = false
    await Promise.all(clients)
    agent.destroy()
    expect([...answers]).toEqual([['ok', asked]])
    expect(asked).toBeGreaterThanOrEqual(2000)
    expect((await gateway.inspect()).reload).toMatchObject({ done: 50, failed: 0 })
    await gateway.quiet()
    // The connections to what is not in the settings any more are gone.
    await until(async () => {
      const kept = (await gateway.inspect()).upstreams.map(({ id }) => id)
      for (const { port, sockets } of origins) if (!kept.includes(`127.0.0.1:${port}`)) expect(sockets.size).toBe(0)
    })
  }, 60_000)

  test('a request to a server that was taken out is finished, then its connections end', async () => {
    const held: ServerResponse[] = []
    const old = await startOrigin((_request, response) => void held.push(response))
    const next = await startOrigin()
    const cluster = (name: string, port: number) => ({
      upstreams: undefined,
      clusters: { [name]: { endpoints: [`http://127.0.0.1:${port}`] } },
      layers: [],
      endpoint: [],
    })
    const gateway = await start(1, cluster('old', old.port))
    const early = ask(gateway.port)
    await until(() => held.length === 1)
    write(gateway, 1, cluster('new', next.port))
    await reload(gateway)
    expect((await ask(gateway.port)).body).toBe('ok')
    expect(old.sockets.size).toBe(1)
    held[0]?.end('late')
    expect((await early).body).toBe('late')
    await until(() => old.sockets.size === 0)
  })
})

function answerOf(port: number, path: string, agent: Agent): Promise<string> {
  return new Promise((resolve) => {
    const request = send({ host: '127.0.0.1', port, path, agent }, (response) => {
      let text = response.statusCode === 200 ? '' : `${response.statusCode} `
      response.on('data', (chunk) => {
        text += String(chunk)
      })
      response.on('end', () => resolve(text))
    })
    request.on('error', (error) => resolve(error.message))
    request.end()
  })
}

describe('what can change', () => {
  test('limits and names at once; an address waits for a restart, which is said', async () => {
    const origin = await startOrigin()
    const gateway = await start(origin.port, {})
    const limits = { headerCount: 3, headerBytes: 2048, clients: 10 }
    write(gateway, origin.port, { listen: '127.0.0.1:1', admin: '127.0.0.1:2', limits })
    await reload(gateway)
    const settings = ['listen', 'admin', 'limits.headerBytes']
    const warned = { level: 'warn', msg: 'these settings need a restart; the others are in effect', settings }
    await until(() => expect(gateway.log).toContainEqual(expect.objectContaining(warned)))
    expect((await gateway.inspect()).reload).toMatchObject({ ok: true, waiting: settings })
    const many = { a: '1', b: '2', c: '3', d: '4' }
    expect((await ask(gateway.port, { headers: many })).status).toBe(431)
    expect(JSON.parse((await gateway.admin('/config')).body)).toMatchObject({
      listen: '127.0.0.1:0',
      limits: { headerCount: 3, headerBytes: 16_384, clients: 10 },
    })
    const lines = await Promise.all(Array.from({ length: 12 }, () => wire(gateway.port)))
    await until(() => lines.filter(({ closed }) => closed).length >= 2)
  })

  test('the command line stays above the file', async () => {
    const origin = await startOrigin()
    const args = ['--upstream', `http://127.0.0.1:${origin.port}`, '--no-watch']
    const gateway = await startGateway({ upstreams: [1], args })
    write(gateway, 2, {})
    await reload(gateway)
    expect((await ask(gateway.port)).body).toBe('ok')
  })

  test('a new token', async () => {
    const origin = await startOrigin()
    const token = configFile('the-first-of-two-tokens', 'token')
    const gateway = await start(origin.port, { adminToken: token })
    const status = async (text: string): Promise<number> =>
      (await ask(gateway.adminPort, { path: '/config', headers: { authorization: `Bearer ${text}` } })).status
    expect(await status('the-first-of-two-tokens')).toBe(200)
    writeFileSync(token, 'the-second-of-two-tokens\n')
    gateway.cli.kill('SIGHUP')
    await until(async () => (await status('the-second-of-two-tokens')) === 200)
    expect(await status('the-first-of-two-tokens')).not.toBe(200)
  })
})
