import { describe, expect, test } from 'vitest'
import { configOf } from '../src/gateway/config/config.ts'
import { run } from './support/child.ts'
import { configFile } from './support/gateway.ts'
import { faultsOf, read } from './support/settings.ts'

// Who says how long a server may take to the first byte of its answer, and how long that may be.

const upstreams = ['http://127.0.0.1:3000']
const layer = (after: string): object => ({ kind: 'timeout', after })

const timeOf = (settings: object): object | undefined => read(settings).routes[0]?.timeout

const byDefault = { afterMs: 100, from: 'default' }
const shop = { endpoints: ['http://127.0.0.1:3001'] }
const only = (cluster: object, more: object = {}): object => ({
  upstreams: undefined,
  clusters: { shop: cluster },
  ...more,
})

describe('100 ms, where nobody has said anything', () => {
  test.each<[string, object]>([
    ['nothing but servers', {}],
    ['an own list around attempts', { endpoint: [{ kind: 'breaker' }] }],
    ['an empty one', { endpoint: [] }],
    ['own layers around operations', { layers: [{ kind: 'bulkhead', slots: 1 }] }],
    ['no layers at all', { layers: [], endpoint: [] }],
    ['a deadline, which is for all attempts together', { layers: [{ kind: 'deadline', within: '5s' }] }],
    ['a cluster', only(shop)],
    ['a cluster with a list of its own', only({ ...shop, endpoint: [{ kind: 'bulkhead', slots: 3 }] })],
    ['a cluster with another list than the top level', only({ ...shop, endpoint: [] }, { endpoint: [layer('1s')] })],
    ['a route', { routes: [{ id: 'x', path: '/x' }] }],
    ['a route with a list of its own', { routes: [{ layers: [] }], layers: [layer('1s')] }],
    ['a static route', { routes: [{ class: 'static' }] }],
  ])('%s', (_what, settings) => {
    expect(timeOf(settings)).toEqual(byDefault)
  })

  test('the short form on the command line, too', () => {
    expect(configOf({ upstream: upstreams }).routes[0]?.timeout).toEqual(byDefault)
    expect(configOf({ upstream: upstreams, timeout: '2s' }).routes[0]?.timeout).toEqual({
      afterMs: 2000,
      from: 'settings',
    })
  })

  test('a shorter mostTimeout cuts it without a word', () => {
    for (const onExcess of ['refuse', 'cap']) {
      const config = read({ mostTimeout: '40ms', onExcess })
      expect(config.routes[0]?.timeout).toEqual({ afterMs: 40, from: 'default' })
      expect(config.concerns).toEqual([])
    }
  })

  test('a deadline that is shorter is no concern, and neither are three attempts', () => {
    for (const within of ['50ms', '100ms', '250ms'])
      expect(read({ layers: [{ kind: 'deadline', within }, { kind: 'retry' }] }).concerns).toEqual([])
  })

  test('what it defeats is a concern: a hedge that would begin later, a breaker that waits for slower calls', () => {
    expect(read({ layers: [{ kind: 'hedge', after: '200ms' }] }).concerns).toEqual([
      expect.stringMatching(/^route "default": hedge > timeout: .* timed out after 100ms/),
    ])
    expect(read({ endpoint: [{ kind: 'breaker', slowAfter: '1s' }] }).concerns).toEqual([
      expect.stringMatching(/^route "default": breaker > timeout: no call lasts 1s/),
    ])
  })
})

describe('the nearest word counts', () => {
  const settings = { timeout: '4s' }
  const around = { layers: [layer('2s')] }
  const each = { endpoint: [layer('3s')] }

  test.each<[string, object, object]>([
    ['the top level before nobody', settings, { afterMs: 4000, from: 'settings' }],
    ['layers around attempts before the top level', { ...settings, ...each }, { from: 'endpoint' }],
    ['layers around operations as well', { ...settings, ...each, ...around }, { from: 'layers' }],
    [
      'the route before all',
      { ...settings, ...each, ...around, routes: [{ timeout: '1s' }] },
      { afterMs: 1000, from: 'route' },
    ],
    ['its layers before the top level', { ...settings, routes: [around] }, { from: 'layers' }],
    ['a route without a word', { ...settings, routes: [{}] }, { afterMs: 4000, from: 'settings' }],
  ])('%s', (_what, said, expected) => {
    expect(timeOf(said)).toEqual({ afterMs: undefined, ...expected })
  })

  test('of what a route replaces no order is told', () => {
    const long = { layers: [{ kind: 'deadline', within: '1s' }], endpoint: [layer('2s')] }
    expect(read(long).concerns).toHaveLength(1)
    expect(read({ ...long, routes: [{ timeout: '500ms' }] }).concerns).toEqual([])
    expect(read({ ...long, routes: [{ timeout: '1s' }] }).concerns).toEqual([
      'route "route-1": deadline > timeout: the timeout of 1s never fires: the deadline of 1s is over first',
    ])
  })
})

describe('longer than mostTimeout', () => {
  const long = { timeout: '2m', routes: [{ id: 'slow', timeout: '61s' }] }

  test('is a fault, with its place', () => {
    expect(faultsOf(long)).toEqual([
      'timeout: expected at most 60s (the limit mostTimeout), got 2m',
      'routes[0].timeout: expected at most 60s (the limit mostTimeout), got 61s',
    ])
    expect(faultsOf({ timeout: '60s', routes: [{ timeout: '60s' }] })).toEqual([])
    expect(faultsOf({ ...long, mostTimeout: '2m' })).toEqual([])
  })

  test('or cut, and told', () => {
    const config = read({ ...long, layers: [], onExcess: 'cap' })
    expect(config.routes[0]?.timeout).toEqual({ afterMs: 60_000, from: 'route' })
    expect(config.concerns).toEqual([
      'timeout: 2m was cut: at most 60s (the limit mostTimeout)',
      'routes[0].timeout: 61s was cut: at most 60s (the limit mostTimeout)',
    ])
  })

  test('on the command line', () => {
    expect(() => configOf({ upstream: upstreams, timeout: '2m' })).toThrow(/^--timeout: expected at most 60s/)
    expect(() => configOf({ upstream: upstreams, timeout: 'soon' })).toThrow(/^--timeout: expected a span/)
  })

  test.each([0, -1, '0s', 'for ever', '2d', null])('%j is no time', (timeout) => {
    expect(faultsOf({ timeout })).toEqual([expect.stringMatching(/^timeout: expected a span/)])
    expect(faultsOf({ routes: [{ timeout }] })).toEqual([
      expect.stringMatching(/^routes\[0\]\.timeout: expected a span/),
    ])
  })
})

test('--check says how long, and where that comes from', async () => {
  const routes = [
    { id: 'own', path: '/own', timeout: '1s' },
    { id: 'quick', path: '/quick', layers: [layer('50ms')] },
    { id: 'a', path: '/a' },
    { id: 'b' },
  ]
  const file = configFile(JSON.stringify({ upstreams, routes, endpoint: [], limits: { clients: 10 } }))
  expect(await run('gateway', '--check', '--config', file)).toEqual({
    code: 0,
    stderr: '',
    stdout: `The settings are fine: routes 4, clusters 1.
route "own": 1s to the first byte of an answer: its own "timeout"
route "quick": to the first byte of an answer: as its "layers" say
routes "a", "b": 100ms to the first byte of an answer: the default, "timeout" of the route or of the top level says another
`,
  })
})

describe('retryShare', () => {
  test('is a tenth, or what the top level or the route says', () => {
    expect(read({}).routes[0]?.retryShare).toBe(0.1)
    const routes = [{ path: '/a' }, { retryShare: 0 }]
    expect(read({ retryShare: 0.5, routes }).routes.map(({ retryShare }) => retryShare)).toEqual([0.5, 0])
  })

  test.each([-0.1, 1.1, '10%', null])('%j is none', (retryShare) => {
    expect(faultsOf({ retryShare })).toEqual([expect.stringMatching(/^retryShare: expected a share from 0 to 1/)])
    expect(faultsOf({ routes: [{ retryShare }] })).toHaveLength(1)
  })
})
