import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { request } from 'undici'
import type { Crew, Member } from './crew.ts'

// The gateway of the demo: the real one, as a process, with a configuration in a file.

const bin = new URL('../../bin/floodwall.js', import.meta.url)
const READY_WITHIN_MS = 10_000

/** As a user would write it for servers that usually answer in 5 ms. What isolates a server that misbehaves is there by itself. */
const protection = {
  layers: [
    { kind: 'deadline', within: '2s' },
    { kind: 'retry', attempts: 3, backoff: { first: '10ms' } },
  ],
  endpoint: [{ kind: 'timeout', after: '250ms' }],
}

const STATES = ['closed', 'halfOpen', 'open']

/** What is read from it while it runs. */
export interface GatewayFacts {
  readonly retries: number
  /** States of breakers, by the id of what they guard. */
  readonly breakers: ReadonlyMap<string, string>
}

export interface Upstream {
  readonly name: string
  readonly url: string
}

export class Gateway {
  readonly url: string
  private readonly admin: string
  private readonly upstreams: readonly Upstream[]

  constructor(url: string, admin: string, upstreams: readonly Upstream[]) {
    this.url = url
    this.admin = admin
    this.upstreams = upstreams
  }

  async inspect(signal: AbortSignal): Promise<GatewayFacts> {
    const { body } = await request(`${this.admin}/inspect`, { signal })
    const breakers = new Map<string, string>()
    let retries = 0
    for (const part of parts(await body.json())) {
      if (part['kind'] === 'retry') retries += Number(part['retries'])
      if (part['kind'] !== 'balance') continue
      for (const [id, state] of statesOf(part)) {
        const name = this.nameOf(id)
        breakers.set(name, worse(breakers.get(name), state))
      }
    }
    return { retries, breakers }
  }

  private nameOf(id: string): string {
    return this.upstreams.find(({ url }) => url.endsWith(id))?.name ?? id
  }
}

/** Starts it in front of `upstreams` and waits until it is ready. */
export async function startGateway(
  crew: Crew,
  folder: string,
  upstreams: readonly Upstream[],
  signal: AbortSignal,
): Promise<Gateway> {
  mkdirSync(folder, { mode: 0o700 })
  const config = join(folder, 'gateway.json')
  writeFileSync(config, JSON.stringify({ ...protection, upstreams: upstreams.map(({ url }) => url) }, undefined, 2))
  const addresses = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0']
  const member = crew.hire('the gateway', bin, ['gateway', ...addresses, '--config', config])
  return ready(member, upstreams, signal)
}

/** It logs JSON, and says `ready` with its real addresses. Its output is read on to the end: a full pipe would stop it. */
function ready({ process }: Member, upstreams: readonly Upstream[], signal: AbortSignal): Promise<Gateway> {
  return new Promise((resolve, reject) => {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(READY_WITHIN_MS)])
    limit.addEventListener('abort', () => {
      reject(signal.aborted ? signal.reason : new Error(`the gateway was not ready within ${READY_WITHIN_MS} ms`))
    })
    createInterface({ input: process.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      if (!line.startsWith('{')) return
      const { msg, listen, admin } = JSON.parse(line)
      if (msg === 'ready') resolve(new Gateway(listen, admin, upstreams))
    })
  })
}

/** Everything of some kind in what it shows of itself, however deep. */
function* parts(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return
  if ('kind' in value) yield value as Record<string, unknown>
  for (const inner of Object.values(value)) yield* parts(inner)
}

/** Of each upstream the cluster's own breaker and those of its layers. */
function* statesOf(balance: Record<string, unknown>): Generator<[id: string, state: string]> {
  const { endpoints, cluster } = balance as { endpoints: unknown[]; cluster?: { endpoints: unknown[] } }
  for (const endpoint of [...endpoints, ...(cluster?.endpoints ?? [])] as { id: string }[]) {
    for (const part of parts(endpoint)) if (part['kind'] === 'breaker') yield [endpoint.id, String(part['state'])]
  }
}

/** Of two breakers before one upstream, what lets fewer through. */
function worse(a: string | undefined, b: string): string {
  return a === undefined || STATES.indexOf(b) > STATES.indexOf(a) ? b : a
}
