import diagnostics from 'node:diagnostics_channel'
import { breaker, bulkhead, type FloodEvent, keyed, pipeline, rateLimit, shadow, systemRuntime } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { leftIn, NOTHING } from './fate.ts'

function heard(layers: Parameters<typeof pipeline>[1]) {
  const world = new VirtualRuntime()
  const p = pipeline('p', layers, { runtime: world })
  const events: FloodEvent[] = []
  const handle = p.on((event) => events.push(event))
  return { world, p, events, handle }
}

const down = () => Promise.reject(new Error('down'))

describe('a change of state', () => {
  test('is told once, with from, to, when, where and why', async () => {
    const { world, p, events } = heard([breaker({ consecutive: 2, openFor: '1s', jitter: 0, probes: 1 })])
    for (let i = 0; i < 5; i++) await p.outcome(down)
    world.advance('1s')
    await p.outcome(() => 1)
    expect(events.filter((e) => e.type === 'state')).toEqual([
      { type: 'state', at: 0, path: 'p/breaker', from: 'closed', to: 'open', why: '2 calls failed in a row (limit 2)' },
      { type: 'state', at: 1000, path: 'p/breaker', from: 'open', to: 'halfOpen', why: 'the open time is over' },
      { type: 'state', at: 1000, path: 'p/breaker', from: 'halfOpen', to: 'closed', why: '1 of 1 probes succeeded' },
    ])
  })

  test('reaches the runtime as well', async () => {
    const { world, p, events } = heard([breaker({ consecutive: 1 })])
    await p.outcome(down)
    expect(world.events).toEqual(events)
    expect(events).toHaveLength(1)
  })
})

describe('refusals are sampled', () => {
  test('the first of each second carries the count of those before it', async () => {
    const { world, p, events } = heard([bulkhead({ slots: 0 })])
    for (let ms = 0; ms < 2500; ms += 10) {
      await p.outcome(() => 1)
      world.advance(10)
    }
    const why = '0 of 0 slots are taken'
    const base = { type: 'refused', path: 'p/bulkhead', reason: 'full', why, shadow: false }
    expect(events).toEqual([
      { ...base, at: 0, count: 1 },
      { ...base, at: 1000, count: 100 },
      { ...base, at: 2000, count: 100 },
    ])
    expect(p.inspect()['refusals']).toEqual([{ path: 'p/bulkhead', reason: 'full', count: 250 }])
  })

  test('each reason and each layer has a count of its own', async () => {
    const { world, p, events } = heard([
      breaker({ consecutive: 1, openFor: '1s', jitter: 0, probes: 1 }),
      rateLimit({ rate: 1, per: '1h', burst: 2 }),
    ])
    await p.outcome(down)
    await p.outcome(() => 1)
    world.advance('1s')
    await p.outcome(() => 1)
    await p.outcome(() => 1)
    await p.outcome(() => 1)
    expect(events.filter((e) => e.type === 'refused').map((e) => [e.path, e.reason, e.count])).toEqual([
      ['p/breaker', 'open', 1],
      ['p/rateLimit', 'rate', 1],
    ])
    expect(p.inspect()['refusals']).toEqual([
      { path: 'p/breaker', reason: 'open', count: 1 },
      { path: 'p/rateLimit', reason: 'rate', count: 2 },
    ])
  })

  test('what a shadow would have refused is told as such, and admitted', async () => {
    const { p, events } = heard([shadow({ of: bulkhead({ slots: 0 }) })])
    for (let i = 0; i < 3; i++) expect(await p.call(() => i)).toBe(i)
    expect(events).toMatchObject([{ type: 'refused', path: 'p/shadow/bulkhead', shadow: true, count: 1 }])
    expect(p.inspect()['refusals']).toEqual([])
  })

  test('keys that strangers choose make no list without end', async () => {
    const { p, events } = heard([keyed({ of: bulkhead({ slots: 0 }), max: 1000 })])
    for (let i = 0; i < 1000; i++) await p.outcome(() => 1, { key: `stranger-${i}` })
    const rows = p.inspect()['refusals'] as { path: string; count: number }[]
    expect(rows.length).toBeLessThanOrEqual(65)
    expect(rows.reduce((sum, row) => sum + row.count, 0)).toBe(1000)
    expect(events.length).toBeLessThanOrEqual(65)
    expect(JSON.stringify(events)).not.toContain('stranger')
  })
})

describe('listeners', () => {
  test('one that throws changes no result, stops no other, and is counted', async () => {
    const { p, events } = heard([breaker({ consecutive: 1 })])
    p.on(() => {
      throw new Error('listener')
    })
    const later: FloodEvent[] = []
    p.on((event) => later.push(event))
    await p.outcome(down)
    expect(await p.outcome(() => 1)).toMatchObject({ ok: false, rejection: { reason: 'open' } })
    expect([events.length, later.length, p.inspect()['listenerFailures']]).toEqual([2, 2, 2])
  })

  test('an async one that rejects does not end the process', async () => {
    const { p, world } = heard([breaker({ consecutive: 1 })])
    const unhandled: unknown[] = []
    const note = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', note)
    const later = async () => {
      throw new Error('later')
    }
    p.on(later as () => void)
    await p.outcome(down)
    await world.settle()
    await world.settle()
    process.off('unhandledRejection', note)
    expect([unhandled, p.inspect()['listenerFailures']]).toEqual([[], 1])
  })

  test('one that removes itself, another, or adds one, does not disturb the round', async () => {
    const { p } = heard([breaker({ consecutive: 1 })])
    const order: string[] = []
    const first = p.on(() => {
      order.push('first')
      first[Symbol.dispose]()
      third[Symbol.dispose]()
      p.on(() => order.push('new'))
    })
    p.on(() => order.push('second'))
    const third = p.on(() => order.push('third'))
    await p.outcome(down)
    expect(order).toEqual(['first', 'second', 'third'])
    await p.outcome(() => 1)
    expect(order.slice(3)).toEqual(['second', 'new'])
  })

  test('one that is added twice hears twice, and is removed once by each handle', async () => {
    const { p, world } = heard([breaker({ consecutive: 1, jitter: 0 })])
    let count = 0
    const listener = () => void count++
    const one = p.on(listener)
    const two = p.on(listener)
    await p.outcome(down)
    expect(count).toBe(2)
    one[Symbol.dispose]()
    one[Symbol.dispose]()
    world.advance('1s')
    await p.outcome(() => 1)
    expect(count).toBe(3)
    two[Symbol.dispose]()
    world.advance('10s')
    await p.outcome(() => 1)
    expect(count).toBe(3)
  })

  test('one that calls the pipeline from inside does not loop', async () => {
    const { p } = heard([bulkhead({ slots: 0 })])
    let calls = 0
    p.on(() => {
      if (calls++ < 1000)
        p.start(
          () => {},
          () => {},
        )
    })
    await p.outcome(() => 1)
    expect([calls, leftIn(undefined, p)]).toEqual([1, NOTHING])
  })

  test('a handle works with `using`', async () => {
    const { p, events } = heard([bulkhead({ slots: 0 })])
    let heardInside = 0
    {
      using _ = p.on(() => heardInside++)
      await p.outcome(() => 1)
    }
    p.reload([])
    expect([heardInside, events.length]).toEqual([1, 2])
  })
})

describe('the channel of the process', () => {
  test('floodwall:event carries every event of every pipeline', async () => {
    const seen: unknown[] = []
    const subscriber = (message: unknown) => seen.push(message)
    const p = pipeline('real', [breaker({ consecutive: 1 })], { runtime: systemRuntime })
    const mine: FloodEvent[] = []
    p.on((event) => mine.push(event))
    diagnostics.subscribe('floodwall:event', subscriber)
    await p.outcome(down)
    diagnostics.unsubscribe('floodwall:event', subscriber)
    await p.outcome(() => 1)
    expect(seen).toEqual([mine[0]])
    expect(mine).toMatchObject([{ type: 'state', path: 'real/breaker', to: 'open' }, { type: 'refused' }])
  })
})
