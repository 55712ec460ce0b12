import { bulkhead, type FloodEvent, keyed, pipeline, rateLimit } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { ask } from './client.ts'
import { frameworks } from './frameworks.ts'

// `key`, `route` and `cost` read what strangers send: what they throw costs nobody his request.

const THROWS = () => {
  throw new TypeError("Cannot read properties of undefined (reading 'user')")
}

describe.each(frameworks)('%s', (_, start) => {
  test('functions that throw are as if nobody had been asked, counted, and told once each', async () => {
    const p = pipeline('door', [keyed({ of: rateLimit({ rate: 100 }) }), bulkhead({ slots: 1 })])
    const told: FloodEvent[] = []
    using _on = p.on((event) => void told.push(event))
    const seen: unknown[] = []
    await using server = await start(
      p,
      async (call) => (seen.push([call.key, call.cost, call.method]), { body: 'ok' }),
      { key: THROWS, cost: THROWS, route: THROWS },
    )
    for (let i = 0; i < 3; i++) expect((await ask({ port: server.port, method: 'PUT' })).status).toBe(200)
    expect(seen).toEqual(Array.from({ length: 3 }, () => ['', 1, 'PUT']))
    expect(server.guard.inspect()['faults']).toBe(9)
    expect(p.inspect()['calls']).toMatchObject({ success: 3, failure: 0 })
    expect(told.map((event) => [event.type, event.path, 'why' in event && event.why])).toEqual(
      ['route', 'key', 'cost'].map((name) => [
        'warning',
        'door',
        `${name} threw, and the request went on without: "Cannot read properties of undefined (reading 'user')"`,
      ]),
    )
    expect(server.errors).toEqual([])
  })

  test('one that throws for some requests answers for the others', async () => {
    const keys: unknown[] = []
    const key = ({ headers }: { headers: Record<string, unknown> }) => (headers['x-user'] as string).toUpperCase()
    await using server = await start(pipeline('door', []), async (call) => (keys.push(call.key), { body: 'ok' }), {
      key,
    } as never)
    await ask({ port: server.port })
    await ask({ port: server.port, headers: { 'x-user': 'ann' } })
    expect([keys, server.guard.inspect()['faults']]).toEqual([['', 'ANN'], 1])
  })
})
