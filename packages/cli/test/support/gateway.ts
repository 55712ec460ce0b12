import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { Cli } from './child.ts'
import { later } from './cleanup.ts'
import { type Answer, ask } from './http.ts'
import { until } from './until.ts'

// A gateway for one test, on free ports, ended with it.

export interface Pipeline {
  readonly running: number
  readonly calls: Readonly<Record<string, number>>
  readonly refusals: readonly { readonly path: string; readonly reason: string; readonly count: number }[]
}

export interface Upstream {
  readonly id: string
  readonly active: number
  readonly attempts: number
  readonly redone: number
  readonly connections: { readonly open: number; readonly waiting: number; readonly trouble?: string }
  readonly failures: Readonly<Record<string, number>>
}

/** What `/inspect` shows, as far as tests look at it. */
export interface Inspection {
  readonly gateway: {
    readonly stage: string
    readonly inFlight: number
    readonly connections: number
    readonly clientsGone: number
    readonly handshaking: number
    readonly handshakesFailed: number
    readonly connectionsRefused: number
    readonly keptBytes: number
    readonly upgrades: {
      readonly open: number
      readonly opened: number
      readonly toServers: number
      readonly toClients: number
    }
    readonly requests: Readonly<Record<string, number>>
  }
  readonly reload: { readonly done: number; readonly failed: number; readonly ok: boolean; readonly faults: string[] }
  readonly certificates: readonly Readonly<Record<string, unknown>>[]
  readonly routes: readonly { readonly id: string; readonly cluster: string; readonly pipeline: Pipeline }[]
  readonly clusters: readonly { readonly name: string; readonly upstreams: readonly Upstream[] }[]
  /** Of the first route. */
  readonly pipeline: Pipeline
  /** Of all clusters. */
  readonly upstreams: readonly Upstream[]
}

export class Gateway {
  readonly cli: Cli
  readonly port: number
  readonly adminPort: number
  /** Of its settings. */
  readonly file: string

  constructor(cli: Cli, port: number, adminPort: number, file: string) {
    this.cli = cli
    this.port = port
    this.adminPort = adminPort
    this.file = file
  }

  get pid(): number {
    return this.cli.process.pid as number
  }

  admin(path: string): Promise<Answer> {
    return ask(this.adminPort, { path })
  }

  async inspect(): Promise<Inspection> {
    const all = JSON.parse((await this.admin('/inspect')).body) as Inspection
    const { routes, clusters } = all
    return {
      ...all,
      pipeline: routes[0]?.pipeline as Pipeline,
      upstreams: clusters.flatMap(({ upstreams }) => upstreams),
    }
  }

  /** Every line of its log. */
  get log(): Record<string, unknown>[] {
    const lines = this.cli.stdout.split('\n').filter((line) => line !== '')
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  /** Nothing runs and nothing is held: no request, no attempt, no permit of any gate, no connection of a client but `kept`. */
  async quiet(kept = 0): Promise<Inspection> {
    let seen: Inspection | undefined
    await until(async () => {
      seen = await this.inspect()
      expect(seen.gateway).toMatchObject({ inFlight: 0, connections: kept, keptBytes: 0 })
      for (const { pipeline } of seen.routes) expect(pipeline.running).toBe(0)
      for (const { active, connections } of seen.upstreams)
        expect({ active, ...connections }).toMatchObject({ active: 0, waiting: 0 })
      expect(heldIn([seen.routes, seen.clusters])).toEqual([])
    })
    return seen as Inspection
  }
}

/** What snapshots of layers say is taken: slots, places in a queue, waits of a retry, probes. */
function heldIn(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  const snapshot = value as Record<string, unknown>
  const held = ['inFlight', 'used', 'waiting', 'waiters', 'running']
    .filter((name) => typeof snapshot[name] === 'number' && snapshot[name] !== 0)
    .map((name) => ({ kind: snapshot['kind'], [name]: snapshot[name] }))
  return [...held, ...Object.values(snapshot).flatMap(heldIn)]
}

export interface Start {
  readonly upstreams: readonly number[]
  /** More of the configuration. */
  readonly config?: object
  readonly args?: readonly string[]
}

export async function startGateway({ upstreams, config = {}, args = [] }: Start): Promise<Gateway> {
  const addresses = upstreams.map((port) => `http://127.0.0.1:${port}`)
  const timeout = timeoutFor(config)
  // Small machines have 1024 descriptors, and with more clients than those the gateway begins with a warning.
  const limits = { clients: 900, ...(config as { limits?: object }).limits }
  const settings = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', upstreams: addresses, timeout, ...config, limits }
  const file = configFile(JSON.stringify(settings))
  const cli = new Cli(['gateway', '--config', file, ...args])
  later(() => cli.kill())
  let ready: { listen: string; admin: string } | undefined
  await until(() => {
    const line = cli.stdout.split('\n').find((text) => text.includes('"msg":"ready"'))
    if (cli.process.exitCode !== null) throw new Error(`ended with ${cli.process.exitCode}: ${cli.stderr}`)
    if (line === undefined) return false
    ready = JSON.parse(line) as typeof ready
    return true
    // A machine with much to do takes its time to begin: how long is for the test's own limit to say.
  }, 60_000)
  const { listen, admin } = ready as { listen: string; admin: string }
  return new Gateway(cli, Number(new URL(listen).port), Number(new URL(admin).port), file)
}

/**
 * Most servers of tests, and the machine that they run on, have more to do than to answer within the default of 100 ms, and most tests are not about
 * it. Who says what stands around an attempt, and no timeout, wants to see no timeout: a minute is none for a test. Whose subject the default is
 * says `timeout: undefined`.
 */
export function timeoutFor(config: object): string {
  return (config as { readonly endpoint?: unknown }).endpoint === undefined ? '2s' : '60s'
}

/** A file with `text`, gone with the test. */
export function configFile(text: string | Buffer, name = 'gateway.yaml'): string {
  const folder = mkdtempSync(join(tmpdir(), 'floodwall-test-'))
  later(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}
