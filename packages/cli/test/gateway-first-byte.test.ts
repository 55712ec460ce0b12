import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { Cli } from './support/child.ts'
import { later } from './support/cleanup.ts'
import { type Gateway, startGateway } from './support/gateway.ts'
import { ask, wire } from './support/http.ts'
import { type Origin, startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'

// How long a server may take to the first byte of its answer: the default, other times, and what is none of that time.

const trust = ['127.0.0.1']
/** No test's word about time: the default. */
const unsaid = { timeout: undefined }
const EXCUSE = 'no answer within 100 ms: the default, "timeout" of the route or of the top level says another'

const mute = (): Promise<Origin> => startOrigin((request) => void request.resume())

/** Answers after `ms`. */
const slow = (ms: number): Promise<Origin> =>
  startOrigin((request, response) => {
    request.resume()
    setTimeout(() => response.end('slow'), ms)
  })

const warnings = ({ log }: Gateway): unknown[] => log.filter(({ level }) => level === 'warn').map(({ msg }) => msg)

interface Timed {
  readonly timeout: { readonly afterMs?: number; readonly from: string; readonly timeouts: number }
}

async function timesOf(gateway: Gateway): Promise<readonly Timed['timeout'][]> {
  return ((await gateway.inspect()).routes as unknown as Timed[]).map(({ timeout }) => timeout)
}

describe('a server that never answers, before a gateway that was told no time', () => {
  const breaker = { kind: 'breaker' }

  test.each<[string, (port: number) => object]>([
    ['nothing but servers', () => ({})],
    ['a list of its own around attempts', () => ({ endpoint: [breaker] })],
    ['no layers', () => ({ layers: [], endpoint: [] })],
    [
      'a cluster of its own',
      (port) => ({
        upstreams: undefined,
        clusters: { shop: { endpoints: [`http://127.0.0.1:${port}`], endpoint: [] } },
        routes: [{ cluster: 'shop', layers: [] }],
      }),
    ],
  ])('%s: 504', async (_what, more) => {
    const { port } = await mute()
    const gateway = await startGateway({ upstreams: [port], config: { ...unsaid, ...more(port) } })
    const answer = await ask(gateway.port, { method: 'POST', body: 'x' })
    expect(answer.status).toBe(504)
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'upstream-timeout' })
    expect(await timesOf(gateway)).toEqual([{ afterMs: 100, from: 'default', timeouts: 1 }])
    await gateway.quiet()
  })

  test('says where the time comes from: to trusted callers, in the log once, to operators', async () => {
    const { port } = await mute()
    const config = { ...unsaid, trust, layers: [], endpoint: [], routes: [{ id: 'shop' }] }
    const gateway = await startGateway({ upstreams: [port], config })
    for (let i = 0; i < 3; i++) {
      expect(JSON.parse((await ask(gateway.port)).body)).toMatchObject({ layer: 'shop/timeout', why: EXCUSE })
    }
    await until(() => expect(warnings(gateway)).toEqual([EXCUSE]))
    expect(gateway.log.find(({ msg }) => msg === EXCUSE)).toMatchObject({ route: 'shop' })
    expect(await timesOf(gateway)).toEqual([{ afterMs: 100, from: 'default', timeouts: 3 }])
    expect(JSON.parse((await gateway.admin('/config')).body)).toMatchObject({
      routes: [{ id: 'shop', timeout: { afterMs: 100, from: 'default' } }],
    })
  })

  test('and nothing of it to strangers', async () => {
    const { port } = await mute()
    const gateway = await startGateway({ upstreams: [port], config: { ...unsaid, layers: [] } })
    expect((await ask(gateway.port)).body).not.toMatch(/default|100/)
  })

  test('a time that was asked for has no excuse', async () => {
    const { port } = await mute()
    const config = { timeout: '150ms', trust, layers: [], endpoint: [] }
    const gateway = await startGateway({ upstreams: [port], config })
    expect(JSON.parse((await ask(gateway.port)).body)).toMatchObject({ why: 'no answer within 150 ms' })
    expect(warnings(gateway)).toEqual([])
  })

  test('each attempt has it: the next server answers', async () => {
    const [silent, good] = [await mute(), await startOrigin()]
    const config = { ...unsaid, balance: { picker: 'roundRobin' } }
    const gateway = await startGateway({ upstreams: [silent.port, good.port], config })
    for (let i = 0; i < 2; i++) expect((await ask(gateway.port)).body).toBe('ok')
    expect(silent.seen).toHaveLength(1)
    await until(() => expect(warnings(gateway)).toEqual([EXCUSE]))
  })

  test('it is evidence against the server: its breaker opens', async () => {
    const { port } = await mute()
    const endpoint = [{ kind: 'breaker', consecutive: 3, openFor: '1h', openAtMost: '1h' }]
    const gateway = await startGateway({ upstreams: [port], config: { ...unsaid, layers: [], endpoint } })
    const statuses: number[] = []
    for (let i = 0; i < 5; i++) statuses.push((await ask(gateway.port)).status)
    expect(statuses).toEqual([504, 504, 504, 503, 503])
  })

  test('the short form of the command line has it, and --timeout says another', async () => {
    const { port } = await slow(400)
    const started = ['100ms', '5s'].map((span) => {
      const args = span === '100ms' ? [] : ['--timeout', span]
      const at = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0']
      const cli = new Cli(['gateway', ...at, '--upstream', `http://127.0.0.1:${port}`, ...args])
      later(() => cli.kill())
      return cli
    })
    const statuses: number[] = []
    for (const cli of started) {
      await until(() => cli.stdout.includes('"msg":"ready"'), 60_000)
      const listen = /"listen":"([^"]+)"/.exec(cli.stdout)?.[1] as string
      statuses.push((await ask(Number(new URL(listen).port), { method: 'POST' })).status)
    }
    expect(statuses).toEqual([504, 200])
  })
})

describe('a route with a time of its own', () => {
  test('has it, and the others have theirs', async () => {
    const { port } = await slow(400)
    const routes = [{ path: '/slow', timeout: '10s' }, {}]
    const gateway = await startGateway({ upstreams: [port], config: { ...unsaid, layers: [], routes } })
    expect((await ask(gateway.port, { path: '/slow' })).body).toBe('slow')
    expect((await ask(gateway.port)).status).toBe(504)
    expect(await timesOf(gateway)).toEqual([
      { afterMs: 10_000, from: 'route', timeouts: 0 },
      { afterMs: 100, from: 'default', timeouts: 1 },
    ])
  })

  test('has it in the place of the layers that say another, around the attempt and the operation', async () => {
    const { port } = await slow(400)
    const config = {
      ...unsaid,
      layers: [{ kind: 'timeout', after: '90ms' }],
      endpoint: [{ kind: 'timeout', after: '100ms' }],
      routes: [{ path: '/slow', timeout: '10s' }, { path: '/quick', timeout: '50ms' }, {}],
    }
    const gateway = await startGateway({ upstreams: [port], config })
    const statuses: number[] = []
    for (const path of ['/slow', '/quick', '/']) statuses.push((await ask(gateway.port, { path })).status)
    expect(statuses).toEqual([200, 504, 504])
    expect((await timesOf(gateway)).map(({ timeouts }) => timeouts)).toEqual([0, 1, 0])
  })

  test('gets another with new settings, and keeps its count where it stays', async () => {
    const { port } = await slow(400)
    const config = { ...unsaid, layers: [], routes: [{ path: '/a' }, {}] }
    const gateway = await startGateway({ upstreams: [port], config })
    for (const path of ['/a', '/']) expect((await ask(gateway.port, { path })).status).toBe(504)
    const now = JSON.parse(readFileSync(gateway.file, 'utf8')) as object
    writeFileSync(gateway.file, JSON.stringify({ ...now, routes: [{ path: '/a', timeout: '10s' }, {}] }))
    gateway.cli.kill('SIGHUP')
    await until(async () => (await gateway.inspect()).reload.done > 0)
    expect((await timesOf(gateway)).map(({ timeouts }) => timeouts)).toEqual([0, 1])
    expect((await ask(gateway.port, { path: '/a' })).status).toBe(200)
  })
})

describe('what the time is not for', () => {
  test('an answer that has begun may take as long as it likes', async () => {
    const { port } = await startOrigin((_request, response) => {
      response.write('first,')
      setTimeout(() => response.end('last'), 500)
    })
    const gateway = await startGateway({ upstreams: [port], config: { ...unsaid, layers: [] } })
    expect(await ask(gateway.port)).toMatchObject({ status: 200, body: 'first,last' })
  })

  test.each([
    ['collected', {}],
    ['streamed', { routes: [{ replay: 0 }] }],
  ])('a client that sends slowly, its body %s', async (_how, more) => {
    const { port, seen } = await startOrigin()
    const gateway = await startGateway({ upstreams: [port], config: { ...unsaid, layers: [], ...more } })
    const line = await wire(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n')
    for (const letter of 'slow') {
      await new Promise((resolve) => setTimeout(resolve, 200))
      line.write(letter)
    }
    await until(() => line.statuses.length > 0)
    expect(line.statuses).toEqual([200])
    expect(seen.map(({ body }) => body)).toEqual(['slow'])
  })

  test('a server that takes a large body slowly', async () => {
    const { port } = await startOrigin((request, response) => {
      let pauses = 0
      request.on('data', () => {
        if (++pauses > 4) return
        request.pause()
        setTimeout(() => request.resume(), 250)
      })
      request.on('end', () => response.end('all'))
    })
    const gateway = await startGateway({ upstreams: [port], config: { ...unsaid, layers: [], endpoint: [] } })
    const answer = await ask(gateway.port, { method: 'PUT', body: Buffer.alloc(16_000_000) })
    expect(answer).toMatchObject({ status: 200, body: 'all' })
  })

  test('when all was sent it begins: 504', async () => {
    const { port } = await mute()
    const config = { ...unsaid, layers: [], endpoint: [], routes: [{ replay: 0 }] }
    const gateway = await startGateway({ upstreams: [port], config })
    expect((await ask(gateway.port, { method: 'POST', body: Buffer.alloc(500_000) })).status).toBe(504)
    expect((await timesOf(gateway))[0]?.timeouts).toBe(1)
    await gateway.quiet()
  })

  test('a server that takes nothing of a body is given 5 s, whatever the time, and not the excuse', async () => {
    const { port } = await startOrigin((request) => void request.pause())
    const gateway = await startGateway({ upstreams: [port], config: { ...unsaid, trust, layers: [], endpoint: [] } })
    const line = await wire(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n')
    line.write(Buffer.alloc(20_000_000))
    await until(() => line.text.includes('requestId'), 20_000)
    expect(line.statuses).toEqual([504])
    expect(line.text).toContain('"layer":"default/timeout/intake","why":"no answer within 5000 ms"')
    expect((await timesOf(gateway))[0]).toEqual({ afterMs: 100, from: 'default', timeouts: 1 })
    expect(warnings(gateway)).toEqual([])
    line.socket.destroy()
    await gateway.quiet()
  })
})
