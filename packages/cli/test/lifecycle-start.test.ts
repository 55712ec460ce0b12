import { writeFileSync } from 'node:fs'
import type { Layer } from 'floodwall'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { type Config, configOf } from '../src/gateway/config/config.ts'
import { Gateway } from '../src/gateway/gateway.ts'
import { Site } from '../src/gateway/site.ts'
import { certificate } from './support/certificates.ts'
import { run } from './support/child.ts'
import { later } from './support/cleanup.ts'
import { configFile, startGateway } from './support/gateway.ts'
import { ask } from './support/http.ts'
import { startOrigin, startTcp } from './support/origin.ts'
import { filesOf, startSecureOrigin } from './support/tls.ts'
import { until } from './support/until.ts'

// In the process of the test, where its moments can be held.

function settings(port: number, more = ''): Config {
  return configOf({
    config: configFile(`listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nupstreams: [http://127.0.0.1:${port}]\n${more}`),
  })
}

const portIn = (url: string): number => Number(new URL(url).port)

describe('C39: readiness tells the truth from the first moment', () => {
  test('503 while clients cannot connect yet, then 200', async () => {
    const { port } = await startOrigin()
    const gateway = new Gateway(settings(port), pino({ level: 'silent' }))
    later(() => void gateway.close())
    let go = (): void => {}
    const held = new Promise<void>((resolve) => {
      go = resolve
    })
    const open = gateway.front.open.bind(gateway.front)
    gateway.front.open = async () => {
      await held
      await open()
    }
    const started = gateway.start()
    await until(() => gateway.admin.listening)
    const admin = portIn(gateway.admin.address)
    expect(await ask(admin, { path: '/readyz' })).toMatchObject({ status: 503, body: 'starting\n' })
    expect((await ask(admin, { path: '/healthz' })).status).toBe(200)
    go()
    await started
    expect(await ask(admin, { path: '/readyz' })).toMatchObject({ status: 200, body: 'ready\n' })
    expect((await ask(portIn(gateway.addresses.listen))).body).toBe('ok')
  })

  test('told to end before it had begun: nothing listens', async () => {
    const gateway = new Gateway(settings(1), pino({ level: 'silent' }))
    const started = gateway.start()
    await gateway.close()
    await started
    expect(gateway.stage).toBe('closed')
    expect(gateway.admin.listening).toBe(false)
    expect(() => gateway.addresses).toThrow()
  })

  test('ports in use: one clear line, exit code 1, and nothing stays behind', async () => {
    const taken = await startTcp(() => {})
    const tls = { ...filesOf(certificate('site')), listen: `127.0.0.1:${taken.port}` }
    const file = configFile(
      JSON.stringify({ listen: '127.0.0.1:0', admin: '127.0.0.1:0', upstreams: ['http://127.0.0.1:1'], tls }),
    )
    expect(await run('gateway', '--config', file)).toEqual({
      code: 1,
      stdout: '',
      stderr: `floodwall gateway: 127.0.0.1:${taken.port} is in use by another process\n`,
    })
  })

  test.each([
    ['--listen', 'no-such-host.invalid:80', /no-such-host\.invalid is not the name of an address/],
    ['--listen', '203.0.113.1:80', /203\.0\.113\.1:80 is not an address of this machine/],
  ])('%s %s', async (option, address, words) => {
    const args = ['--upstream', 'http://127.0.0.1:1', '--admin', '127.0.0.1:0']
    const { code, stderr } = await run('gateway', ...args, option, address)
    expect(code).toBe(1)
    expect(stderr).toMatch(words)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  })
})

describe('C36: all of it, or nothing', () => {
  const broken: Layer = {
    kind: 'broken',
    options: {},
    build: () => {
      throw new Error('it cannot be built')
    },
  }

  test.each(['routes', 'clusters'] as const)(
    'a layer that cannot be built, in %s, changes nothing before it either',
    (where) => {
      const config = settings(1, 'routes: [{ id: a, layers: [] }, { id: b, layers: [{ kind: bulkhead, slots: 1 }] }]\n')
      const site = new Site(
        config,
        () => {},
        () => {},
      )
      later(() => void site.close())
      const shape = () => JSON.stringify(site.routes.map(({ pipeline }) => pipeline.explain()))
      const before = shape()
      const { routes, clusters } = settings(
        1,
        'routes: [{ id: a, layers: [{ kind: bulkhead, slots: 2 }] }, { id: c }]\n',
      )
      const next =
        where === 'routes'
          ? { ...config, routes: routes.map((route) => (route.id === 'c' ? { ...route, layers: [broken] } : route)) }
          : { ...config, routes, clusters: clusters.map((cluster) => ({ ...cluster, each: [broken] })) }
      expect(() => site.update(next)).toThrow('it cannot be built')
      expect(shape()).toBe(before)
      expect(site.routes.map(({ id }) => id)).toEqual(['a', 'b'])
    },
  )

  test('one that breaks only when it takes over from its predecessor: back to what was', () => {
    const spiteful: Layer = {
      kind: 'bulkhead',
      options: {},
      build: (env, previous) => {
        if (previous !== undefined) throw new Error('not after that one')
        return { kind: 'bulkhead', path: env.path, run: (call, next, done) => next(call, done) }
      },
    }
    const config = settings(1, 'routes: [{ id: a, layers: [] }, { id: b, layers: [{ kind: bulkhead, slots: 1 }] }]\n')
    const site = new Site(
      config,
      () => {},
      () => {},
    )
    later(() => void site.close())
    const shape = () => JSON.stringify(site.routes.map(({ pipeline }) => pipeline.explain()))
    const before = shape()
    const [a, b] = config.routes
    const next = {
      ...config,
      routes: [
        { ...a, layers: [{ ...spiteful, kind: 'other' }] },
        { ...b, layers: [spiteful] },
      ],
    }
    expect(() => site.update(next as Config)).toThrow('not after that one')
    expect(shape()).toBe(before)
  })
})

test('C36: certificates that cannot be used after all: the routes are what they were, too', async () => {
  const { cert, key } = filesOf(certificate('a'))
  const tls = `tls: { cert: ${cert}, key: ${key} }\n`
  const config = settings(1, `${tls}routes: [{ id: a }]\n`)
  const gateway = new Gateway(config, pino({ level: 'silent' }))
  later(() => void gateway.close())
  const next = settings(1, `${tls}routes: [{ id: b }]\n`)
  const identities = next.tls?.identities.map((one) => ({ ...one, cert: 'nothing of the kind', mark: 'another' }))
  expect(() => gateway.update({ ...next, tls: { ...next.tls, identities } } as Config)).toThrow()
  expect(gateway.site.routes.map(({ id }) => id)).toEqual(['a'])
  expect(gateway.config).toBe(config)
  expect(gateway.reloads.done).toBe(0)
})

test('a new authority for servers: connections to come are judged by it, those that are there are not cut', async () => {
  const [first, second] = ['first', 'second'].map((name) => certificate(name, { authority: true }))
  if (first === undefined || second === undefined) throw new Error('unreachable')
  const ca = configFile(first.cert, 'ca.pem')
  const { cert, key } = certificate('server', { by: first })
  let release = (): void => {}
  const origin = await startSecureOrigin({ cert, key }, (request, response) => {
    if (request.url === '/held') release = () => response.end('held')
    else response.end('ok')
  })
  const clusters = { default: { endpoints: [`https://localhost:${origin.port}`], tls: { ca } } }
  const config = { upstreams: undefined, clusters, layers: [], endpoint: [] }
  const gateway = await startGateway({ upstreams: [], config, args: ['--no-watch'] })
  const held = ask(gateway.port, { path: '/held' })
  await until(() => origin.hosts.length === 1)
  writeFileSync(ca, second.cert)
  gateway.cli.kill('SIGHUP')
  await until(async () => (await gateway.inspect()).reload.done === 1)
  expect((await ask(gateway.port)).status).toBe(502)
  release()
  expect((await held).body).toBe('held')
  await until(() => origin.sockets.size === 0)
  writeFileSync(ca, second.cert + first.cert)
  gateway.cli.kill('SIGHUP')
  await until(async () => (await gateway.inspect()).reload.done === 2)
  expect((await ask(gateway.port)).body).toBe('ok')
})
