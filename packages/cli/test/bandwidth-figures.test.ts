import { envOf, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'
import { Exposition } from '../src/gateway/admin/exposition.ts'
import type { Exchange } from '../src/gateway/exchange/exchange.ts'
import { bandwidthLayer, RouteBandwidth } from '../src/gateway/routes/bandwidth.ts'
import { bandwidthFigures } from '../src/gateway/routes/bandwidth-figures.ts'
import { read } from './support/settings.ts'

/** A route's limits, as its settings say them. */
function limitsOf(bandwidth: object, key?: string): NonNullable<ReturnType<typeof read>['routes'][0]['bandwidth']> {
  const [route] = read({ routes: [{ id: 'web', bandwidth, ...(key === undefined ? {} : { key }) }] }).routes
  if (route?.bandwidth === undefined) throw new Error('no bandwidth')
  return route.bandwidth
}

/** As far as limits look at one. */
function exchange(key?: string, peer: object = {}): Exchange {
  return { route: { keyOf: () => key }, head: {}, peer } as unknown as Exchange
}

test('figures of routes that have a limit, and nothing of others', () => {
  const world = new VirtualRuntime()
  const web = new RouteBandwidth(limitsOf({ down: { rate: '1kB/s', burst: '2kB' } }), envOf(world, 'web/bandwidth'))
  const flow = web.download(exchange())
  expect(flow?.take(5000)).toBe(2000)
  flow?.wait(3000, () => {})
  world.advance(1500)
  const text = new Exposition()
  bandwidthFigures(text, [
    { id: 'web', bandwidth: web },
    { id: 'other', bandwidth: undefined },
  ])
  const lines = text
    .end()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  expect(lines).toEqual([
    'floodwall_bandwidth_bytes_total{route="web",direction="down"} 2000',
    'floodwall_bandwidth_held_back_bytes_total{route="web",direction="down"} 0',
    'floodwall_bandwidth_waiting{route="web",direction="down"} 1',
    'floodwall_bandwidth_waiting_bytes{route="web",direction="down"} 2000',
  ])
  world.advance(500)
  expect(web.inspect()).toMatchObject({ up: null, down: { passed: 4000, heldBack: 2000, waiting: 0, streams: 1 } })
  flow?.close()
  expect(web.inspect()).toMatchObject({ down: { streams: 0 } })
})

test('a reload keeps the object and what was used, and each caller and connection their own', () => {
  const world = new VirtualRuntime()
  const down = {
    perCaller: { rate: '1kB/s', burst: '2kB' },
    perConnection: { rate: '1kB/s', burst: '1500B' },
    callers: 2,
  }
  const made = pipeline('web', [bandwidthLayer(limitsOf({ down }, 'address'))], { runtime: world })
  const before = made.find('bandwidth') as unknown as RouteBandwidth
  const connection = {}
  const first = before.download(exchange('ann', connection))
  expect(first?.take(5000)).toBe(1500)
  first?.close()
  made.reload([bandwidthLayer(limitsOf({ down: { ...down, callers: 3 } }, 'address'))])
  const after = made.find('bandwidth') as unknown as RouteBandwidth
  expect(after).toBe(before)
  // The connection has used its own, and ann on another one has 500 left.
  expect(after.download(exchange('ann', connection))?.take(5000)).toBe(0)
  expect(after.download(exchange('ann', {}))?.take(501)).toBe(0)
  expect(after.download(exchange('ann', {}))?.take(500)).toBe(500)
  expect(after.download(exchange('ben', {}))?.take(5000)).toBe(1500)
  expect(after.upload(exchange('ann', {}))).toBeUndefined()
  made.reload([])
  expect(made.find('bandwidth')).toBeUndefined()
})
