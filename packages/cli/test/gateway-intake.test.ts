import { Agent, type Server } from 'node:http'
import { type Gate, gate, type Layer, type Ask as Question, Rejection } from 'floodwall'
import type { Intake } from 'floodwall/server'
import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import { inspect } from '../src/gateway/admin/inspect.ts'
import { metrics } from '../src/gateway/admin/metrics.ts'
import { type Config, configOf } from '../src/gateway/config/config.ts'
import { Gateway } from '../src/gateway/gateway.ts'
import { certificate } from './support/certificates.ts'
import { configFile } from './support/gateway.ts'
import { type Ask, ask } from './support/http.ts'
import { askTls, filesOf } from './support/tls.ts'
import { until } from './support/until.ts'

// What when saying no is too much for the gateway: a gateway in this process, with a layer whose refusals are dear.

class Dear implements Gate {
  readonly kind = 'dear'
  readonly path = 'dear'
  /** How long calls have waited, as they say. */
  readonly waits: number[] = []
  tryAcquire({ waitedMs = 0 }: Question): Rejection {
    this.waits.push(waitedMs)
    for (const end = performance.now() + 3; performance.now() < end; );
    return new Rejection(this, 'overloaded', 0, 1, 1)
  }
  settled(): void {}
  cancelled(): void {}
  inspect() {
    return { kind: this.kind }
  }
}

function configFor(settings: object, dear = new Dear()): Config {
  const base = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', upstreams: ['http://127.0.0.1:1'] }
  const config = configOf({ config: configFile(JSON.stringify({ ...base, ...settings })) })
  // Of a kind for which the gateway measures.
  const layers: Layer[] = [{ ...gate(dear), kind: 'overload' }]
  return { ...config, routes: config.routes.map((route) => ({ ...route, layers })) }
}

/** A gateway, and lines of its log. */
async function house(settings: object, dear?: Dear) {
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const gateway = new Gateway(configFor(settings, dear), log)
  await gateway.start()
  const port = Number(new URL(gateway.addresses.listen).port)
  return {
    ...{ gateway, port, lines },
    intake: (door = 'http') => gateway.front.intakes[door],
    [Symbol.asyncDispose]: () => gateway.close(),
  }
}

interface Door {
  readonly server: Server
  readonly intake: Intake
}
const doorOf = (gateway: Gateway): Door => (gateway.front as unknown as { plain: Door }).plain

test('a flood of refusals over new connections: some are turned away, kept ones are kept, operators see it, and it ends', async () => {
  await using h = await house({ limits: { clients: 900 } })
  const { gateway, port } = h
  const { server } = doorOf(gateway)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const told = { failed: 0, statuses: new Set<number>() }
  let flooding = true
  const flood = async (kept: boolean) => {
    while (flooding) {
      await ask(port, kept ? { agent } : {}).then(
        ({ status }) => told.statuses.add(status),
        () => told.failed++,
      )
    }
  }
  // Over a kept connection it costs as much, and is left alone.
  const before = flood(true)
  await new Promise((resolve) => setTimeout(resolve, 900))
  expect([h.intake()?.times, told.failed]).toEqual([0, 0])
  const anew = Promise.all(Array.from({ length: 8 }, () => flood(false)))
  await until(() => h.intake()?.shedding === true && told.failed > 0, 15_000)
  expect(server.maxConnections).toBeLessThan(16)
  // A limit of the settings that is larger opens no door.
  gateway.update(configFor({ limits: { clients: 700 } }))
  expect(server.maxConnections).toBeLessThan(16)
  expect((await ask(port, { agent })).status).toBe(503)
  expect(inspect(gateway)).toMatchObject({ gateway: { intake: { http: { shedding: true, times: 1 } } } })
  expect(metrics(gateway)).toContain('floodwall_overload_shedding{listener="http"} 1\n')
  flooding = false
  await Promise.all([before, anew])
  await until(() => h.intake()?.shedding === false, 15_000)
  expect([server.maxConnections, h.intake()?.times]).toEqual([700, 1])
  expect((await ask(port)).status).toBe(503)
  expect([...told.statuses]).toEqual([503])
  expect(metrics(gateway)).toMatch(/floodwall_overload_connections_dropped_total\{listener="http"\} [1-9]/)
  const states = h.lines.filter(({ msg }) => msg === 'state changed')
  expect(states).toMatchObject([
    { path: 'gateway/http/intake', to: 'shedding', level: 40 },
    { path: 'gateway/http/intake', to: 'taking', level: 30 },
  ])
  agent.destroy()
  await gateway.close()
  expect(server.listenerCount('drop')).toBe(1)
}, 30_000)

test('turns that each take a connection: the gateway asks itself how long they wait, and does not count itself among its clients', async () => {
  const authority = certificate('authority', { authority: true })
  const tls = { listen: '127.0.0.1:0', ...filesOf(certificate('site', { by: authority })) }
  await using h = await house({ tls })
  const { gateway, port } = h
  const secure = Number(new URL(gateway.addresses.tls as string).port)
  const ca = authority.cert
  let flooding = true
  const flood = async (one: () => Promise<unknown>) => {
    while (flooding) await one()
  }
  const floods = [
    ...Array.from({ length: 6 }, () => flood(() => ask(port))),
    ...Array.from({ length: 6 }, () => flood(() => askTls(secure, { ca }))),
  ]
  await until(() => (h.intake()?.probes ?? 0) >= 2 && (h.intake('https')?.probes ?? 0) >= 2, 15_000)
  await until(() => (h.intake()?.acceptMs ?? 0) > 0, 15_000)
  flooding = false
  await Promise.all(floods)
  await until(() => gateway.peers.size === 0 && gateway.front.handshaking === 0)
  expect(gateway.telemetry.handshakesFailed).toBe(0)
}, 30_000)

test('refusals by layers on the first request of a connection count, and how long it waited to be taken; nothing of the others', async () => {
  const dear = new Dear()
  await using h = await house({ routes: [{ id: 'api', path: '/api' }] }, dear)
  const { intake } = doorOf(h.gateway)
  vi.spyOn(intake, 'waitedMs').mockReturnValue(5000)
  const refused = vi.spyOn(intake, 'refused')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  /** The status, how many refusals counted, and whether a wait for being taken was seen. */
  const get = async (path: string, options: Ask) => {
    refused.mockClear()
    const { status } = await ask(h.port, { path, ...options })
    return [status, refused.mock.calls.length, dear.waits.splice(0).map((ms) => ms >= 5000)]
  }
  expect(await get('/api', { agent })).toEqual([503, 1, [true]])
  expect(await get('/api', { agent })).toEqual([503, 0, [false]])
  expect(await get('/api', {})).toEqual([503, 1, [true]])
  // It is refused when its body is here.
  expect(await get('/api', { method: 'POST', body: 'x' })).toEqual([503, 1, [true]])
  expect(await get('/nowhere', {})).toEqual([404, 0, []])
  agent.destroy()
}, 15_000)
