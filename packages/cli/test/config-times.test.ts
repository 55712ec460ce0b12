import { describe, expect, test } from 'vitest'
import type { Config } from '../src/gateway/config/config.ts'
import { crampedBy, descriptorsAllowed } from '../src/gateway/config/descriptors.ts'
import { run } from './support/child.ts'
import { configFile, startGateway } from './support/gateway.ts'
import { startOrigin } from './support/origin.ts'
import { faultsOf, read } from './support/settings.ts'
import { until } from './support/until.ts'

// Settings that are right and should be known all the same, and times that are too long.

const upstreams = ['http://127.0.0.1:3000']

const optionsOf = ({ routes, clusters }: Config): object[] =>
  [...(routes[0]?.layers ?? []), ...(clusters[0]?.each ?? [])].map(({ options }) => options)

const long = {
  layers: [{ kind: 'deadline', within: '2m' }],
  endpoint: [{ kind: 'timeout', after: '90s' }],
  routes: [{ layers: [{ kind: 'shadow', of: { kind: 'timeout', after: '61s' } }] }, {}],
}

describe('the longest timeout that the settings may ask for', () => {
  test('is 60 s: longer ones are faults, each with its place', () => {
    expect(faultsOf({ ...long, routes: [{ layers: [{ kind: 'timeout', after: '61s' }] }, {}] })).toEqual([
      expect.stringMatching(/^layers\[0\]\.within: expected at most 60s \(the limit mostTimeout\), got 2m/),
      expect.stringMatching(/^endpoint\[0\]\.after: .*at most 60s/),
      expect.stringMatching(/^routes\[0\]\.layers\[0\]\.after: .*at most 60s/),
    ])
  })

  test('a minute is not more than a minute', () => {
    expect(faultsOf({ layers: [{ kind: 'deadline', within: '60s' }] })).toEqual([])
  })

  test('who means it says so', () => {
    const config = read({ mostTimeout: '5m', layers: long.layers, endpoint: long.endpoint })
    expect(optionsOf(config)).toMatchObject([{ within: 120_000 }, { after: 90_000 }])
  })

  test('may be less: the defaults keep to it', () => {
    expect(optionsOf(read({ mostTimeout: '5s' }))).toMatchObject([{ within: 5000 }, {}, {}])
    expect(read({ mostTimeout: '5s' }).concerns).toEqual([])
    expect(faultsOf({ mostTimeout: '5s', layers: [{ kind: 'deadline', within: '6s' }] })).toHaveLength(1)
  })

  test('onExcess: cap cuts them, and says so at the start, by --check and after a reload', async () => {
    const origin = await startOrigin()
    const config = { layers: long.layers, endpoint: [], onExcess: 'cap' }
    expect(optionsOf(read(config))).toMatchObject([{ within: 60_000 }])
    const told = 'layers[0].within: 2m was cut: at most 60s (the limit mostTimeout)'
    expect(read(config).concerns).toEqual([told])
    const checked = await run(
      'gateway',
      '--check',
      '--config',
      configFile(JSON.stringify({ upstreams, limits: { clients: 10 }, ...config })),
    )
    expect(checked).toMatchObject({ code: 0, stderr: `warning: ${told}\n` })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    await until(() => gateway.log.some(({ level, msg }) => level === 'warn' && msg === told))
    gateway.cli.kill('SIGHUP')
    await until(() => gateway.log.filter(({ msg }) => msg === told).length === 2)
  })

  test.each([
    [{ mostTimeout: 0 }, 'mostTimeout'],
    [{ mostTimeout: 'for ever' }, 'mostTimeout'],
    [{ onExcess: 'ignore' }, 'onExcess'],
  ])('%j is none', (settings, path) => {
    expect(faultsOf(settings)).toEqual([expect.stringMatching(new RegExp(`^${path}: `))])
  })
})

describe('an order of layers that defeats itself', () => {
  const upsideDown = [
    { kind: 'timeout', after: '1s' },
    { kind: 'retry', attempts: 2 },
  ]
  const why = 'timeout > retry: the timeout ends all attempts at once: move it inside, or take a deadline for the whole'

  test('is told with the name of the route, in the log and by --check', async () => {
    const origin = await startOrigin()
    const config = { routes: [{ id: 'shop', path: '/shop/**', layers: upsideDown }, { id: 'rest' }], endpoint: [] }
    const told = `route "shop": ${why}`
    const checked = await run(
      'gateway',
      '--check',
      '--config',
      configFile(JSON.stringify({ upstreams, limits: { clients: 10 }, ...config })),
    )
    expect(checked).toMatchObject({ code: 0, stderr: `warning: ${told}\n` })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    await until(() => gateway.log.some(({ level, msg }) => level === 'warn' && msg === told))
  })

  test('counts what stands around an attempt, too', () => {
    const config = { layers: [{ kind: 'deadline', within: '1s' }], endpoint: [{ kind: 'timeout', after: '2s' }] }
    expect(read(config).concerns).toEqual([
      'route "default": deadline > timeout: the timeout of 2s never fires: the deadline of 1s is over first',
    ])
  })

  test('that many routes have is told once', () => {
    const routes = Array.from({ length: 7 }, (_, i) => ({ id: `r${i}`, path: `/${i}` }))
    expect(read({ layers: upsideDown, endpoint: [], routes }).concerns).toEqual([
      `routes "r0", "r1", "r2", "r3", "r4" and 2 more: ${why}`,
    ])
  })

  test('the defaults have none', () => {
    expect(read({}).concerns).toEqual([])
  })
})

describe('more connections than descriptors', () => {
  const settings = (clients: number, doors = 1): Config => {
    const config = read({ limits: { clients } })
    return doors === 1 ? config : { ...config, tls: { listen: config.listen } as Config['tls'] }
  }

  test('are told, with the number that fits', () => {
    expect(crampedBy(settings(500), 1000)).toEqual([])
    expect(crampedBy(settings(1000), 1024)).toEqual([
      expect.stringMatching(
        /^limits\.clients: 1000 connections, and this process may have 1024 descriptors: take at most 959, /,
      ),
    ])
    expect(crampedBy(settings(500, 2), 1000)).toEqual([expect.stringContaining('at each of 2 addresses')])
  })

  test('the limit is that of the system, where it says one', () => {
    const file = (text: string): string => configFile(text, 'limits')
    const head = 'Limit                     Soft Limit           Hard Limit           Units     \n'
    expect(
      descriptorsAllowed(
        file(`${head}Max open files            1024                 4096                 files     \n`),
      ),
    ).toBe(1024)
    expect(
      descriptorsAllowed(
        file(`${head}Max open files            unlimited            unlimited            files     \n`),
      ),
    ).toBe(Number.POSITIVE_INFINITY)
    expect(descriptorsAllowed('/nowhere/limits')).toBe(Number.POSITIVE_INFINITY)
  })
})
