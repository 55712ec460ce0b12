import { Cluster, deadline, type FloodEvent, type Layer, retry, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { type ClientOptions, client } from '../../src/client/index.ts'

// A timeout that is far too long is none: whoever means it says so by a higher limit.

function made(layers: readonly Layer[], options: ClientOptions = {}) {
  const runtime = new VirtualRuntime()
  const cluster = new Cluster({}, runtime.env('shop'))
  const shop = client('shop', cluster, layers, { runtime, ...options })
  const warnings = runtime.events.filter((e): e is FloodEvent & { type: 'warning' } => e.type === 'warning')
  return { rows: shop.pipeline.explain().split('\n'), warnings, cluster }
}

describe('above 60 s', () => {
  test.each<[string, Layer[], RegExp]>([
    ['a timeout', [timeout({ after: '61s' })], /client\.timeout\.after: expected at most 60s .*, got 61s/],
    ['a deadline', [deadline({ within: '1h' })], /client\.deadline\.within: expected at most 60s .*, got 60m/],
    ['both', [deadline({ within: '2h' }), timeout({ after: '30d' })], /deadline\.within.*timeout\.after.* got 30d/],
  ])('%s is refused', (_, layers, message) => {
    expect(() => made(layers)).toThrow(message)
  })

  test('is cut where that is wanted, and somebody is told with field and value', () => {
    const layers = [deadline({ within: '1h', floor: 5 }), retry({ pauseAtMost: '1h' }), timeout({ after: '61s' })]
    const { rows, warnings } = made(layers, { limits: { onExcess: 'cap' } })
    expect(rows[1]).toMatch(/deadline within 60000 .*floor 5/)
    expect(rows.at(-1)).toMatch(/balance/)
    expect(rows[3]).toMatch(/timeout after 60000/)
    expect(warnings).toEqual([
      expect.objectContaining({
        path: 'shop',
        why: 'client.deadline.within is cut: expected at most 60s (the limit mostTimeout), got 60m',
      }),
      expect.objectContaining({
        path: 'shop',
        why: 'client.timeout.after is cut: expected at most 60s (the limit mostTimeout), got 61s',
      }),
    ])
  })

  test('is allowed by a higher limit; a lower one forbids more', () => {
    const long = [deadline({ within: '1h' }), timeout({ after: '10m' })]
    const { warnings } = made(long, { limits: { mostTimeout: '1h' } })
    expect(warnings).toEqual([])
    expect(() => made([timeout({ after: 501 })], { limits: { mostTimeout: 500 } })).toThrow(/at most 500ms/)
  })

  test('60 s are not', () => {
    const { rows, warnings } = made([deadline({ within: '1m' }), timeout({ after: '60s' })])
    expect([rows.length, warnings]).toEqual([6, []])
  })
})

test('the defaults are within any limit', () => {
  for (const [mostTimeout, within, after] of [
    [60_000, 1000, 100],
    [500, 500, 100],
    [50, 50, 50],
  ] as const) {
    const runtime = new VirtualRuntime()
    const shop = client('shop', new Cluster({}, runtime.env('shop')), undefined, { runtime, limits: { mostTimeout } })
    expect(shop.pipeline.inspect()['layers']).toMatchObject([
      { withinMs: within },
      { kind: 'retry' },
      { kind: 'holdBack' },
      { kind: 'heed' },
      { kind: 'balance' },
      { afterMs: after },
    ])
  }
})
