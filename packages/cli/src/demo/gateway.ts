import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { request } from 'undici'
import type { Crew, Member } from './crew.ts'
import { type EndpointFacts, factsOf, type GatewayFacts } from './facts.ts'
import { protection } from './protection.ts'

// The gateway of the demo: the real one, as a process, with a configuration in a file.

const bin = new URL('../../bin/floodwall.js', import.meta.url)
const READY_WITHIN_MS = 10_000

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

  /** With the names of the demo instead of ids. */
  async inspect(signal: AbortSignal): Promise<GatewayFacts> {
    const { body } = await request(`${this.admin}/inspect`, { signal })
    const facts = factsOf(await body.json())
    const endpoints = new Map<string, EndpointFacts>()
    for (const [id, endpoint] of facts.endpoints) {
      endpoints.set(this.upstreams.find(({ url }) => url.endsWith(id))?.name ?? id, endpoint)
    }
    return { ...facts, endpoints }
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
  // No balancer has to hear of its end.
  const args = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--drain-delay', '0ms']
  const member = crew.hire('the gateway', bin, ['gateway', ...args, '--config', config])
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
