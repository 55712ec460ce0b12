import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { startGateway } from './support/gateway.ts'
import { type Answer, ask } from './support/http.ts'
import { startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'

// Overload protection as a rule of a route, through the whole gateway: two servers that do two things at once, and clients that ask without end.

const rank = (criticality: string) => ({ 'x-floodwall-criticality': criticality })
const codeOf = ({ body }: Answer): string => (JSON.parse(body) as { code: string }).code

/** A server that works on two requests at once, 10 ms each, and keeps the others waiting; it says that nobody may come, which is not for our callers. */
async function small() {
  let busy = 0
  const line: (() => void)[] = []
  const turn = (): void => {
    if (busy === 2) return
    const begin = line.shift()
    if (begin === undefined) return
    busy++
    begin()
    setTimeout(() => {
      busy--
      turn()
    }, 10)
  }
  return startOrigin((_, response) => {
    response.setHeader('x-floodwall-level', '7')
    line.push(() => void setTimeout(() => response.end('done'), 10))
    turn()
  })
}

const overload = { kind: 'overload', limits: { start: 4, most: 4 }, size: 4 }
const routes = [
  { id: 'health', path: '/health', layers: [] },
  { id: 'api', layers: [overload] },
]

interface Guard {
  readonly kind: string
  readonly offeredPerS: number
  readonly wanted: number
  readonly admitted: Record<string, number>
  readonly refused: Record<string, number>
}

/** Asks again and again, until told to stop, and counts. */
function client(port: number, criticality: string, stopped: () => boolean) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const answers: Answer[] = []
  const over = (async () => {
    while (!stopped()) {
      const answer = await ask(port, { path: '/items', headers: rank(criticality), agent })
      answers.push(answer)
      // Whoever is refused asks again soon, whatever he was told.
      if (answer.status !== 200) await pause(5)
    }
    agent.destroy()
  })()
  return { answers, over }
}

describe('a flood', () => {
  test('who matters is served, the others hear when to come again, and operators see what was wanted', async () => {
    const origins = [await small(), await small()]
    const gateway = await startGateway({
      upstreams: origins.map(({ port }) => port),
      config: { routes, endpoint: [], trust: ['127.0.0.1'] },
    })
    let stop = false
    const people = Array.from({ length: 2 }, () => client(gateway.port, 'CRITICAL', () => stop))
    const batches = Array.from({ length: 40 }, () => client(gateway.port, 'SHEDDABLE', () => stop))
    const served = (): number => people.flatMap(({ answers }) => answers).length
    await until(() => served() >= 100, 60_000)
    // In the middle of it: what is exempt passes, and so do those who look after the gateway.
    const health = await ask(gateway.port, { path: '/health' })
    expect([health.status, (await gateway.admin('/healthz')).status]).toEqual([200, 200])
    const metrics = (await gateway.admin('/metrics')).body
    const { routes: seen } = await gateway.inspect()
    stop = true
    await Promise.all([...people, ...batches].map(({ over }) => over))

    const [mine, theirs] = [people, batches].map((all) => all.flatMap(({ answers }) => answers)) as [Answer[], Answer[]]
    const share = (answers: readonly Answer[]) => answers.filter(({ status }) => status === 200).length / answers.length
    console.log(
      `critical ${(100 * share(mine)).toFixed(1)} % of ${mine.length}, sheddable ${(100 * share(theirs)).toFixed(1)} % of ${theirs.length}`,
    )
    expect(share(mine)).toBeGreaterThan(0.85)
    expect(share(mine)).toBeGreaterThan(3 * share(theirs))
    const refused = theirs.filter(({ status }) => status !== 200)
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]))
    expect(refused.every(({ headers }) => Number(headers['retry-after']) >= 120)).toBe(true)
    for (const answer of refused) expect(['overloaded', 'queue-full', 'queue-timeout']).toContain(codeOf(answer))
    // The level is the route's own, on each answer to who is trusted.
    for (const { headers } of [...mine, ...theirs])
      expect(Number(headers['x-floodwall-level'])).toBeLessThanOrEqual(512)
    expect([...mine, ...theirs].some(({ headers }) => headers['x-floodwall-level'] === '7')).toBe(false)

    const line = (name: string, labels: string) =>
      Number(
        new RegExp(`^floodwall_overload_${name}\\{layer="api/overload"${labels}\\} (\\S+)$`, 'm').exec(metrics)?.[1],
      )
    expect(line('refused_total', ',class="sheddable"')).toBeGreaterThan(0)
    expect(line('admitted_total', ',class="critical"')).toBeGreaterThan(80)
    expect(line('offered_per_second', '')).toBeGreaterThan(0)
    expect(line('wanted', '')).toBeGreaterThan(line('limit', '') / 10)
    expect(line('inversions_total', '')).toBeGreaterThanOrEqual(0)
    const labels = new Set([...metrics.matchAll(/^floodwall_overload_\w+\{([^}]*)\}/gm)].map(([, text]) => text))
    // Of the layer, with each class and without, and of the listener.
    expect(labels.size).toBe(6)
    const api = seen.find(({ id }) => id === 'api') as unknown as { pipeline: { layers: Guard[] } }
    expect(api.pipeline.layers.find(({ kind }) => kind === 'overload')?.refused['sheddable']).toBeGreaterThan(0)
    await gateway.quiet()
  }, 120_000)

  test('strangers have no class, and hear neither our level nor that of a server', async () => {
    const origin = await startOrigin((_, response) => {
      response.setHeader('x-floodwall-level', '7')
      setTimeout(() => response.end('done'), 500)
    })
    const tight = [{ ...overload, limits: { start: 2, most: 2 }, size: 1 }]
    const config = { routes: [routes[0], { id: 'api', layers: tight }], endpoint: [] }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => ask(gateway.port, { headers: rank('CRITICAL_PLUS') })),
    )
    expect(answers.some(({ status }) => status === 503)).toBe(true)
    expect(answers.every(({ headers }) => headers['x-floodwall-level'] === undefined)).toBe(true)
    const [, api] = (await gateway.inspect()).routes as unknown as { pipeline: { layers: Guard[] } }[]
    const guard = api?.pipeline.layers.find(({ kind }) => kind === 'overload')
    const { admitted = {}, refused = {} } = guard ?? {}
    expect([admitted['criticalPlus'], refused['criticalPlus']]).toEqual([0, 0])
    expect((admitted['critical'] ?? 0) + (refused['critical'] ?? 0)).toBe(30)
  })
})

test('adaptiveLimit, bbr, partitions and the options of a queue are rules of a route, too', async () => {
  const origin = await startOrigin()
  const layers = [{ kind: 'bbr' }, { kind: 'queue', size: 10, codel: {} }, { kind: 'adaptiveLimit' }]
  const config = {
    routes: [
      { id: 'a', path: '/a', layers },
      { id: 'b', layers: [{ kind: 'partitions', of: { kind: 'bulkhead', slots: 4 }, shares: { critical: 0.5 } }] },
    ],
    endpoint: [],
  }
  const gateway = await startGateway({ upstreams: [origin.port], config })
  for (const path of ['/a', '/b', '/a']) expect((await ask(gateway.port, { path })).status).toBe(200)
  // The gateway's own signal is found: nobody warns that nothing tells how busy it is.
  expect(gateway.log.some(({ msg }) => String(msg).includes('nothing tells how busy'))).toBe(false)
  const [a] = (await gateway.inspect()).routes as unknown as {
    pipeline: { layers: { kind: string; cpu?: number }[] }
  }[]
  expect(a?.pipeline.layers.find(({ kind }) => kind === 'bbr')?.cpu).toEqual(expect.any(Number))
  await gateway.quiet()
})
