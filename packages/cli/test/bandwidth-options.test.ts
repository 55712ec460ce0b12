import { describe, expect, test } from 'vitest'
import { effective } from '../src/gateway/admin/effective.ts'
import { showBandwidth } from '../src/gateway/config/bandwidth-options.ts'
import { faultsOf, read } from './support/settings.ts'

const route = (bandwidth: unknown, more: object = {}): object => ({ routes: [{ id: 'web', bandwidth, ...more }] })

describe('bandwidth of a route', () => {
  test('is none unless somebody says so', () => {
    expect(read({}).routes[0]?.bandwidth).toBeUndefined()
    expect(read({ routes: [{ id: 'web' }] }).routes[0]?.bandwidth).toBeUndefined()
  })

  test('as a text, as a number of bytes a second, and with all there is', () => {
    const down = {
      rate: '20MB/s',
      burst: '1MB',
      perCaller: { rate: '90MB/min', burst: '64KiB' },
      perConnection: 500_000,
      callers: 100,
    }
    const [one] = read(route({ up: '5MB/s', down }, { key: 'address' })).routes
    expect(one?.bandwidth).toEqual({
      up: {
        rate: { rate: 5e6, per: 1000, burst: 500_000 },
        perCaller: undefined,
        perConnection: undefined,
        callers: 10_000,
      },
      down: {
        rate: { rate: 20e6, per: 1000, burst: 1e6 },
        perCaller: { rate: 90e6, per: 60_000, burst: 65_536 },
        perConnection: { rate: 500_000, per: 1000, burst: 50_000 },
        callers: 100,
      },
    })
    expect(one?.bandwidth && showBandwidth(one.bandwidth)).toBe(
      'up 5 MB/s in all; down 20 MB/s in all, 1.5 MB/s a caller, 500 kB/s a connection',
    )
  })

  test('is among the settings that are shown', () => {
    const shown = effective(read(route({ down: '20MB/s' }))) as { routes: object[] }
    expect(shown.routes[0]).toMatchObject({ bandwidth: { down: { rate: { rate: 20e6, per: 1000, burst: 2e6 } } } })
  })

  test.each<[bandwidth: unknown, fault: RegExp]>([
    [{}, /routes\[0\]\.bandwidth: expected up or down/],
    ['20MB/s', /routes\[0\]\.bandwidth: expected an object of options/],
    [{ both: '20MB/s' }, /bandwidth\.both: expected no such field; known: up, down/],
    [{ down: '20MB' }, /bandwidth\.down: expected .*bytes in a span such as "10MB\/s"/],
    [{ down: '20Mb/s' }, /bandwidth\.down: expected .*bytes in a span/],
    [{ down: 0 }, /bandwidth\.down: expected a rate above 0/],
    [{ up: {} }, /bandwidth\.up: expected a rate: rate, perCaller or perConnection/],
    [{ up: { rate: '1MB/s', burst: 0 } }, /bandwidth\.up: expected a burst above 0, and its rate/],
    [{ up: { perCaller: '1MB/s', burst: '1MB' } }, /bandwidth\.up: expected a burst above 0, and its rate/],
    [{ up: { perCaller: { rate: '1MB/s', per: '1h' } } }, /bandwidth\.up\.perCaller\.per: expected no "per"/],
    [{ up: { perCaller: '1MB/s', callers: 0 } }, /bandwidth\.up\.callers: expected a whole number from 1/],
  ])('%j is a fault', (bandwidth, fault) => {
    const faults = faultsOf(route(bandwidth))
    expect(faults).toEqual([expect.stringMatching(fault)])
  })

  test('a limit for each caller of whom nobody knows is a concern', () => {
    const up = { perCaller: '1MB/s' }
    const told = (settings: object) => read(settings).concerns.filter((text) => text.includes('bandwidth'))
    expect(told(route({ up }))).toEqual([
      'route "web": bandwidth counts all callers as one: "key" says whose a request is, such as "key: address"',
    ])
    expect(told(route({ up }, { key: 'address' }))).toEqual([])
    expect(told(route({ up: '1MB/s' }))).toEqual([])
  })
})
