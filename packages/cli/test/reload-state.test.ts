import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { Gateway } from './support/gateway.ts'
import { ask } from './support/http.ts'
import { startOrigin } from './support/origin.ts'
import { reload, start, write } from './support/reload.ts'
import { until } from './support/until.ts'

// C36: what is learnt, by the letters of the case; (a), (b), (f) and (h) are in reload.test.ts, (i) in reload-watch.test.ts.

async function statuses(gateway: Gateway, times: number): Promise<number[]> {
  const all: number[] = []
  for (let i = 0; i < times; i++) all.push((await ask(gateway.port)).status)
  return all
}

const few = (status: number, given: readonly number[]): number => given.filter((one) => one === status).length

describe('C36 at the gateway', () => {
  test('(c): another window: an open breaker stays open', async () => {
    const origin = await startOrigin((_request, response) => response.writeHead(500).end())
    const settings = (over: string) => ({
      layers: [],
      endpoint: [{ kind: 'breaker', failureRate: 0.5, atLeast: 3, over, openFor: '1h', openAtMost: '1h' }],
    })
    const gateway = await start(origin.port, settings('10s'))
    expect(await statuses(gateway, 5)).toEqual([500, 500, 500, 503, 503])
    write(gateway, origin.port, settings('20s'))
    await reload(gateway)
    expect(await statuses(gateway, 3)).toEqual([503, 503, 503])
    expect(origin.seen).toHaveLength(3)
  })

  test('(d): a layer that is removed and put back begins anew, and calls from before give their slots back where they took them', async () => {
    const held: ServerResponse[] = []
    const origin = await startOrigin((_request, response) => void held.push(response))
    const settings = (layers: object[]) => ({ layers, endpoint: [] })
    const gate = { kind: 'bulkhead', slots: 2 }
    const gateway = await start(origin.port, settings([gate]))
    const early = [ask(gateway.port), ask(gateway.port)]
    await until(() => held.length === 2)
    expect((await ask(gateway.port)).status).toBe(503)
    for (const layers of [[], [gate]]) {
      write(gateway, origin.port, settings(layers))
      await reload(gateway)
    }
    const late = [ask(gateway.port), ask(gateway.port)]
    await until(() => held.length === 4)
    expect((await ask(gateway.port)).status).toBe(503)
    // Those from before free nothing here.
    for (const response of held.splice(0, 2)) response.end('ok')
    for (const answer of early) expect((await answer).status).toBe(200)
    expect((await ask(gateway.port)).status).toBe(503)
    for (const response of held) response.end('ok')
    for (const answer of late) expect((await answer).status).toBe(200)
    await gateway.quiet()
  })

  test.each([
    [20, 2],
    [5, 2],
    [1, 1],
  ])('(e): 2 of 10 tokens are left: with a limit of %d there are %d', async (burst, left) => {
    const origin = await startOrigin()
    const settings = (most: number) => ({
      layers: [{ kind: 'rateLimit', rate: 1, per: '1h', burst: most }],
      endpoint: [],
    })
    const gateway = await start(origin.port, settings(10))
    expect(few(200, await statuses(gateway, 8))).toBe(8)
    write(gateway, origin.port, settings(burst))
    await reload(gateway)
    expect(few(200, await statuses(gateway, 5))).toBe(left)
  })

  test('(g): the same settings again and again, with 40 % of failures: the breaker trips as if nothing were', async () => {
    const origin = await startOrigin((_request, response) =>
      response.writeHead(origin.seen.length % 5 < 2 ? 500 : 200).end(),
    )
    const settings = {
      layers: [],
      endpoint: [{ kind: 'breaker', failureRate: 0.3, atLeast: 20, over: '1h', openFor: '1h', openAtMost: '1h' }],
    }
    const gateway = await start(origin.port, settings)
    const all: number[] = []
    for (let i = 0; i < 10; i++) {
      all.push(...(await statuses(gateway, 3)))
      write(gateway, origin.port, settings)
      await reload(gateway)
    }
    // At the twentieth result, or soon after it: when the share is passed.
    expect(origin.seen.length).toBeGreaterThanOrEqual(20)
    expect(origin.seen.length).toBeLessThan(25)
    expect(all.slice(origin.seen.length)).toEqual(Array(30 - origin.seen.length).fill(503))
  })

  test('another limit that new connections need: those that are there count, and never more are at the server', async () => {
    const held: ServerResponse[] = []
    const origin = await startOrigin((_request, response) => void held.push(response))
    const settings = (idle: string) => ({ layers: [], endpoint: [], limits: { connections: 2, idle } })
    const gateway = await start(origin.port, settings('60s'))
    const asked = Array.from({ length: 6 }, () => ask(gateway.port))
    await until(async () => held.length === 2 && (await gateway.inspect()).upstreams[0]?.connections.waiting === 4)
    write(gateway, origin.port, settings('61s'))
    await reload(gateway)
    for (let i = 0; i < 6; i++) {
      await until(() => held.length > i)
      expect(origin.sockets.size).toBeLessThanOrEqual(2)
      expect(held.length - i).toBeLessThanOrEqual(2)
      held[i]?.end('ok')
    }
    for (const answer of asked) expect((await answer).status).toBe(200)
    await gateway.quiet()
  })
})
