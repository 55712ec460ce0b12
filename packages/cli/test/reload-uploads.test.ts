import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Gateway } from './support/gateway.ts'
import { ask, type Wire, wire } from './support/http.ts'
import { type Origin, startOrigin } from './support/origin.ts'
import { reload, start, write } from './support/reload.ts'
import { until } from './support/until.ts'

// C36: a request ends in the settings in which it began, also when its body, a slot or another try is still to come.

const HALF = 'Content-Length: 10\r\n\r\nfirst'

/** Two clusters, a and b, and the routes to them. */
function twoClusters([a, b]: readonly Origin[], routes: readonly object[], more: object = {}): object {
  const clusters = Object.fromEntries(
    [a, b].map((origin, i) => ['ab'[i], { endpoints: [`http://127.0.0.1:${origin?.port}`] }]),
  )
  return { upstreams: undefined, clusters, layers: [], endpoint: [], routes, ...more }
}

/** A request that has sent half of its body, which the gateway collects; with those before it that is `kept`. */
async function half(gateway: Gateway, path: string, kept = 5): Promise<Wire> {
  const line = await wire(gateway.port, `POST ${path} HTTP/1.1\r\nHost: x\r\n${HALF}`)
  await until(async () => (await gateway.inspect()).gateway.keptBytes === kept)
  return line
}

async function answerTo(line: Wire): Promise<string> {
  line.write('other')
  await until(() => line.text.includes('\r\n\r\n'))
  return line.text
}

describe('C36 a body that is collected over a reload', () => {
  const toA = { path: '/a/**', cluster: 'a', rewrite: '/rewritten/{rest}' }
  const toB = { cluster: 'b' }

  test.each<[string, readonly object[]]>([
    ['a route is put before, and names by place move on', [{ path: '/x', cluster: 'a' }, toA, toB]],
    ['its route leads to another cluster', [toA, { cluster: 'a', rewrite: '/wrong' }]],
    ['its route is taken out', [toA]],
    ['its route has another name', [toA, { ...toB, id: 'renamed' }]],
    ['its route has a layer that refuses all', [toA, { ...toB, layers: [{ kind: 'bulkhead', slots: 0 }] }]],
  ])('%s: it goes where it was to go', async (_name, after) => {
    const origins = await Promise.all([startOrigin(), startOrigin()])
    const gateway = await start(1, twoClusters(origins, [toA, toB]))
    const line = await half(gateway, '/secret')
    write(gateway, 1, twoClusters(origins, after))
    await reload(gateway)
    expect(await answerTo(line)).toContain('200 OK')
    const [a, b] = origins
    expect(a?.seen).toEqual([])
    expect(b?.seen).toMatchObject([{ url: '/secret', body: 'firstother' }])
    await gateway.quiet(1)
  })

  test.each<[string, string]>([
    ['its cluster', 'all'],
    ['its cluster and its route', 'renamed'],
  ])('%s is taken out for longer than it takes to tidy up: it goes there all the same', async (_what, id) => {
    const held: ServerResponse[] = []
    const origins = await Promise.all([startOrigin(), startOrigin((_request, response) => void held.push(response))])
    const endpoint = [
      { kind: 'queue', atMost: '60s' },
      { kind: 'bulkhead', slots: 1 },
    ]
    const gateway = await start(1, twoClusters(origins, [{ id: 'all', cluster: 'b' }], { endpoint }))
    const first = ask(gateway.port)
    await until(() => held.length === 1)
    held.pop()?.end('ok')
    expect((await first).status).toBe(200)
    const lines = [await half(gateway, '/1'), await half(gateway, '/2', 10)]
    const clusters = { a: { endpoints: [`http://127.0.0.1:${origins[0]?.port}`] } }
    write(gateway, 1, { upstreams: undefined, clusters, layers: [], routes: [{ id, cluster: 'a' }] })
    await reload(gateway)
    // Those that were taken out are looked at each second.
    await pause(2500)
    for (const line of lines) line.write('other')
    // One has the slot, and the other waits for it.
    for (let i = 0; i < 2; i++) {
      await until(() => held.length === i + 1)
      held[i]?.end('ok')
    }
    await until(() => lines.every(({ statuses }) => statuses.length === 1))
    expect(lines.map(({ statuses }) => statuses)).toEqual([[200], [200]])
    expect(origins[0]?.seen).toEqual([])
    for (const { socket } of lines) socket.destroy()
    await gateway.quiet()
    await until(() => origins[1]?.sockets.size === 0)
  })

  test('what is sent is too long, late, or never: the settings of its start say so, and nothing is held', async () => {
    const origins = await Promise.all([startOrigin(), startOrigin()])
    const gateway = await start(1, twoClusters(origins, [{ cluster: 'b', limits: { body: 12 } }]))
    const leaving = await half(gateway, '/')
    const chunked = await wire(
      gateway.port,
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n',
    )
    write(gateway, 1, twoClusters(origins, [{ cluster: 'a' }]))
    await reload(gateway)
    chunked.write('9\r\nand more.\r\n0\r\n\r\n')
    await until(() => chunked.closed)
    expect(chunked.statuses).toEqual([413])
    leaving.socket.destroy()
    await gateway.quiet()
    expect(origins.map(({ seen }) => seen.length)).toEqual([0, 0])
  })
})

describe('C36 calls that wait over a reload that takes their cluster out', () => {
  const only = (name: string, { port }: Origin, more: object = {}) => ({
    upstreams: undefined,
    clusters: { [name]: { endpoints: [`http://127.0.0.1:${port}`] } },
    layers: [],
    endpoint: [],
    ...more,
  })

  test('in a queue, of the route or of the server: each has its turn at the server of its start', async () => {
    for (const place of ['layers', 'endpoint']) {
      const held: ServerResponse[] = []
      const old = await startOrigin((_request, response) => void held.push(response))
      const next = await startOrigin()
      const line = {
        [place]: [
          { kind: 'queue', atMost: '60s' },
          { kind: 'bulkhead', slots: 1 },
        ],
      }
      const gateway = await start(1, only('old', old, line))
      const asked = [1, 2, 3].map(() => ask(gateway.port))
      await until(async () => held.length === 1 && (await gateway.inspect()).gateway.inFlight === 3)
      write(gateway, 1, only('new', next))
      await reload(gateway)
      for (let i = 0; i < 3; i++) {
        await until(() => held.length === i + 1)
        held[i]?.end('old')
      }
      for (const answer of asked) expect(await answer).toMatchObject({ status: 200, body: 'old' })
      expect((await ask(gateway.port)).body).toBe('ok')
      await until(() => old.sockets.size === 0)
    }
  }, 60_000)

  test('for another try: it is made', async () => {
    const old = await startOrigin((_request, response) => {
      // A wait as long as this, and not one that chance draws up.
      if (old.seen.length === 1) response.writeHead(503, { 'retry-after': '2' }).end()
      else response.end('old')
    })
    const next = await startOrigin()
    const layers = [{ kind: 'retry', attempts: 2 }]
    const gateway = await start(1, only('old', old, { layers }))
    const early = ask(gateway.port)
    await until(() => old.seen.length === 1)
    write(gateway, 1, only('new', next))
    await reload(gateway)
    expect(old.seen).toHaveLength(1)
    expect(await early).toMatchObject({ status: 200, body: 'old' })
    expect([old.seen.length, next.seen.length]).toEqual([2, 0])
    await until(() => old.sockets.size === 0)
  })
})

describe('C36 other options of the balancer', () => {
  test('another picker: never more at the server than its slots, and who waits for one gets it', async () => {
    const held: ServerResponse[] = []
    const origin = await startOrigin((_request, response) => void held.push(response))
    const endpoint = [
      { kind: 'queue', atMost: '60s' },
      { kind: 'bulkhead', slots: 2 },
    ]
    const settings = (picker: string) => ({ layers: [], endpoint, balance: { picker } })
    const gateway = await start(origin.port, settings('powerOfChoices'))
    const asked = Array.from({ length: 5 }, () => ask(gateway.port))
    await until(async () => held.length === 2 && (await gateway.inspect()).gateway.inFlight === 5)
    write(gateway, origin.port, settings('roundRobin'))
    await reload(gateway)
    asked.push(ask(gateway.port))
    await until(async () => (await gateway.inspect()).gateway.inFlight === 6)
    for (let i = 0; i < 6; i++) {
      await until(() => held.length > i)
      expect(held.length - i).toBeLessThanOrEqual(2)
      held[i]?.end('ok')
    }
    for (const answer of asked) expect((await answer).status).toBe(200)
    await gateway.quiet()
  })

  test('https where http was, at the same address: the next request is sent in TLS', async () => {
    const origin = await startOrigin()
    const gateway = await start(origin.port, { layers: [], endpoint: [] })
    expect((await ask(gateway.port)).status).toBe(200)
    write(gateway, origin.port, { upstreams: [`https://127.0.0.1:${origin.port}`], layers: [], endpoint: [] })
    await reload(gateway)
    expect((await ask(gateway.port)).status).toBe(502)
    expect(origin.seen).toHaveLength(1)
  })
})
