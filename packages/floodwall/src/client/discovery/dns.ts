import { promises, type RecordWithTtl } from 'node:dns'
import { isIP, isIPv6 } from 'node:net'
import * as v from 'valibot'
import { backoffMs } from '../../algorithms/retry/backoff.ts'
import type { Endpoint } from '../../core/init.ts'
import type { Runtime } from '../../core/runtime.ts'
import { count, oneOf, parse, positiveSpan } from '../../core/schema.ts'
import { systemRuntime } from '../../core/system.ts'
import type { Discovery } from './discovery.ts'
import { MOST_ENDPOINTS } from './endpoint-list.ts'
import { isOffLimits } from './off-limits.ts'
import { foremost, scaled } from './srv.ts'

// Which addresses does a name have, and which has it a minute later?

const NAME = 'a DNS name'

const dnsOptions = v.pipe(
  v.strictObject({
    name: v.pipe(v.string(NAME), v.regex(/^[A-Za-z0-9_.-]{1,253}$/, NAME)),
    /** `A` and `AAAA` are asked again when their TTL is over, `SRV` after `interval` (Node tells no TTL for it). Default `A`. */
    kind: v.optional(oneOf('A', 'AAAA', 'SRV'), 'A'),
    /** The port of all addresses; required for `A` and `AAAA`. The answers to `SRV` have their own. */
    port: v.optional(v.pipe(count, v.maxValue(65_535, 'a port'))),
    /** How the endpoints are spoken to, for clients of HTTP. Default: not said, which is `http`. */
    scheme: v.optional(oneOf('http', 'https')),
    /** Ask at least so often, whatever the TTL. Default 30 s. */
    interval: v.optional(positiveSpan, '30s'),
    /** ... and not more often than this. Default 1 s. */
    atLeast: v.optional(positiveSpan, '1s'),
    /** Of each try of a query; there are two. Default 2 s. */
    timeout: v.optional(positiveSpan, '2s'),
    /** Servers to ask: `['10.0.0.53', '[fd00::53]:5353']`. Default: those of the system. */
    servers: v.optional(v.array(v.string('the address of a server'))),
    /** Also take link-local, metadata and unspecified addresses. Default false. */
    allowLinkLocal: v.optional(v.boolean('true or false'), false),
  }),
  v.forward(
    v.check(({ kind, port }) => kind === 'SRV' || port !== undefined, 'a port, since answers to A and AAAA have none'),
    ['port'],
  ),
)

export type DnsOptions = v.InferInput<typeof dnsOptions>
type DnsSettings = v.InferOutput<typeof dnsOptions>

/** Later by up to this share: a fleet that was told the same TTL must not come back in step. */
const JITTER = 0.1
/** Targets of SRV records that are looked up at once. */
const LOOKUPS = 32
/** The name has no address of that kind: an answer, not a failure. */
const NOTHING_THERE = new Set(['ENODATA', 'ENOTFOUND'])

interface Answer {
  readonly endpoints: Endpoint[]
  readonly ttlMs: number
}

class DnsDiscovery implements Discovery {
  private readonly settings: DnsSettings
  private readonly runtime: Runtime
  private readonly resolver: promises.Resolver
  private cancelTimer: (() => void) | undefined
  private failures = 0
  /** Addresses that were dropped last time, so that each set is told once. */
  private dropped = ''
  private closed = false

  constructor(options: DnsOptions, runtime: Runtime) {
    this.settings = parse(dnsOptions, options, 'dns')
    this.runtime = runtime
    this.resolver = new promises.Resolver({ timeout: this.settings.timeout, tries: 2 })
    if (this.settings.servers !== undefined) this.resolver.setServers(this.settings.servers)
  }

  start(found: (endpoints: readonly Endpoint[]) => void, failed: (error: unknown) => void): void {
    const look = async (): Promise<void> => {
      let answer: Answer
      try {
        answer = await this.ask()
      } catch (error) {
        if (this.closed) return
        failed(error)
        return this.wait(look, this.backoffMs())
      }
      if (this.closed) return
      this.failures = 0
      found(answer.endpoints)
      const { interval, atLeast } = this.settings
      this.wait(look, Math.max(atLeast, Math.min(answer.ttlMs, interval)))
    }
    void look()
  }

  private wait(look: () => Promise<void>, ms: number): void {
    const jitter = 1 + JITTER * this.runtime.random()
    this.cancelTimer = this.runtime.after(ms * jitter, () => void look(), true)
  }

  private backoffMs(): number {
    const { interval, atLeast } = this.settings
    const wait = { first: atLeast, factor: 2, atMost: interval }
    return Math.max(atLeast, backoffMs(wait, ++this.failures, this.runtime.random()))
  }

  private async ask(): Promise<Answer> {
    const { name, kind, port = 0 } = this.settings
    if (kind === 'SRV') return this.askSrv(name)
    const records = await this.addresses(name, kind)
    const ids = this.allowed(records.map(({ address }) => address)).map((address) => idOf(address, port))
    const ttl = Math.min(...records.map((r) => r.ttl))
    return { endpoints: this.endpointsOf(new Map(ids.map((id) => [id, 1]))), ttlMs: ttl * 1000 }
  }

  /** The addresses of the targets, not their names: what a name means would be decided out of our sight. */
  private async askSrv(name: string): Promise<Answer> {
    const records = foremost(await this.resolver.resolveSrv(name))
    if (records.length > MOST_ENDPOINTS) throw tooMany(records.length)
    const byName = new Map<string, readonly string[]>()
    const names = [...new Set(records.map((r) => r.name))]
    for (let at = 0; at < names.length; at += LOOKUPS) {
      const some = names.slice(at, at + LOOKUPS)
      const found = await Promise.all(some.map((target) => this.targetAddresses(target)))
      for (const [i, target] of some.entries()) byName.set(target, found[i] ?? [])
    }
    const allowed = new Set(this.allowed([...byName.values()].flat()))
    const weights = new Map<string, number>()
    for (const { name: target, port, weight } of records) {
      const addresses = (byName.get(target) ?? []).filter((address) => allowed.has(address))
      for (const address of addresses) {
        const id = idOf(address, port)
        weights.set(id, (weights.get(id) ?? 0) + weight / addresses.length)
      }
    }
    return { endpoints: this.endpointsOf(scaled(weights)), ttlMs: this.settings.interval }
  }

  /** A target that does not exist is left out; a server that fails to tell fails the whole answer. */
  private async targetAddresses(target: string): Promise<string[]> {
    if (isIP(target) !== 0) return [target]
    for (const kind of ['A', 'AAAA'] as const) {
      try {
        return (await this.addresses(target, kind)).map(({ address }) => address)
      } catch (error) {
        if (!NOTHING_THERE.has(String((error as { code?: unknown }).code))) throw error
      }
    }
    return []
  }

  private addresses(name: string, kind: 'A' | 'AAAA'): Promise<RecordWithTtl[]> {
    return kind === 'A' ? this.resolver.resolve4(name, { ttl: true }) : this.resolver.resolve6(name, { ttl: true })
  }

  private allowed(addresses: readonly string[]): string[] {
    const bad = this.settings.allowLinkLocal ? [] : addresses.filter(isOffLimits)
    const told = [...new Set(bad)].sort().slice(0, 10).join(', ')
    if (told !== this.dropped && told !== '') {
      const why = `addresses that no endpoint may have were dropped: ${told}`
      this.runtime.emit({ type: 'warning', at: this.runtime.now(), path: `dns/${this.settings.name}`, why })
    }
    this.dropped = told
    return addresses.filter((address) => !bad.includes(address))
  }

  private endpointsOf(weights: ReadonlyMap<string, number>): Endpoint[] {
    if (weights.size > MOST_ENDPOINTS) throw tooMany(weights.size)
    const { scheme } = this.settings
    // Sorted: servers turn the order round with every answer, and nothing has changed by that.
    const sorted = [...weights].sort(([a], [b]) => (a < b ? -1 : 1))
    return sorted.map(([id, weight]) => ({ id, weight, ...(scheme && { address: `${scheme}://${id}` }) }))
  }

  close(): void {
    this.closed = true
    this.cancelTimer?.()
    this.resolver.cancel()
  }
}

function idOf(address: string, port: number): string {
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`
}

function tooMany(found: number): Error {
  return new Error(`${found} endpoints were found, at most ${MOST_ENDPOINTS} are taken`)
}

/**
 * Endpoints from a name. Link-local, metadata and unspecified addresses are dropped, with an event. Timers do not keep the process alive, a
 * query that is under way does. Throws a ConfigError on bad options.
 */
export function dns(options: DnsOptions, runtime: Runtime = systemRuntime): Discovery {
  return new DnsDiscovery(options, runtime)
}
