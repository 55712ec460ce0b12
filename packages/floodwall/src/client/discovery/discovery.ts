import * as v from 'valibot'
import type { Cluster } from '../../algorithms/cluster/cluster.ts'
import { showMs } from '../../core/duration.ts'
import { messageOf } from '../../core/event.ts'
import type { Snapshot } from '../../core/gate.ts'
import type { Endpoint } from '../../core/init.ts'
import type { Runtime } from '../../core/runtime.ts'
import { parse, positiveSpan } from '../../core/schema.ts'
import { systemRuntime } from '../../core/system.ts'
import { foundEndpoints } from './endpoint-list.ts'

// Who belongs to the cluster, when the one who should say so fails?
//
// A registry that is down, a zone file that was cut, a DNS server that answers with nothing: none of them has stopped the endpoints. So a bad
// answer changes nothing for `keepFor`; checks and breakers know better who is well. After that the list is stale beyond trust, and emptied.

/** Where endpoints come from. Made by `fixed`, `dns`, `file`, or by you. */
export interface Discovery {
  /** Begins to look. Calls `found` with each whole list, `failed` with what went wrong; either any number of times. Called once. */
  start(found: (endpoints: readonly Endpoint[]) => void, failed: (error: unknown) => void): void
  /** Ends it: no call comes any more, and nothing is left open. Twice is harmless. */
  close(): void
}

const discoverOptions = v.strictObject({
  /** So long an empty or failing answer leaves the last good list as it is. Default 10 min. */
  keepFor: v.optional(positiveSpan, '10m'),
})

export type DiscoverOptions = v.InferInput<typeof discoverOptions>

/** `waiting`: nothing was found yet; `fresh`; `kept`: the last answers were bad; `emptied`: for too long. */
type FeedState = 'waiting' | 'fresh' | 'kept' | 'emptied'

/** What feeds a cluster with endpoints, until it is closed. */
export class Feed {
  readonly kind = 'discovery'
  readonly path: string
  /** Resolves with the first list, or when the feed is closed before. */
  readonly ready: Promise<void>
  private resolveReady: () => void = () => {}
  private readonly cluster: Cluster
  private readonly discovery: Discovery
  private readonly runtime: Runtime
  private readonly keepMs: number
  private state: FeedState = 'waiting'
  private since: number
  private lists = 0
  private failures = 0
  /** Why the last answer was bad; empty when it was good. */
  private fault = ''
  private cancelExpiry: (() => void) | undefined
  private closed = false

  constructor(cluster: Cluster, discovery: Discovery, options: DiscoverOptions, runtime: Runtime) {
    this.keepMs = parse(discoverOptions, options, 'discover').keepFor
    this.path = `${cluster.path}/discovery`
    this.cluster = cluster
    this.discovery = discovery
    this.runtime = runtime
    this.since = runtime.now()
    this.ready = new Promise((resolve) => {
      this.resolveReady = resolve
    })
    try {
      discovery.start(
        (endpoints) => this.found(endpoints),
        (error) => this.failed(error),
      )
    } catch (error) {
      this.failed(error)
    }
  }

  private found(list: readonly Endpoint[]): void {
    if (this.closed) return
    let endpoints: Endpoint[]
    try {
      endpoints = foundEndpoints(list, 'endpoints')
    } catch (error) {
      return this.failed(error)
    }
    if (endpoints.length === 0) return this.failed(new Error('the answer is empty'))
    this.cancelExpiry?.()
    this.cancelExpiry = undefined
    this.lists++
    this.fault = ''
    this.cluster.update(endpoints)
    this.enter('fresh', `${endpoints.length} endpoints found`)
    this.resolveReady()
  }

  private failed(error: unknown): void {
    if (this.closed) return
    const before = this.fault
    this.failures++
    this.fault = messageOf(error)
    if (this.state === 'fresh') {
      this.cancelExpiry = this.runtime.after(this.keepMs, () => this.expire(), true)
      this.enter('kept', `${this.fault}; the last good list is kept for ${showMs(this.keepMs)}`)
    } else if (this.state === 'waiting' && before === '') {
      this.emit({ type: 'warning', why: `no endpoints are known yet: ${this.fault}` })
    }
  }

  private expire(): void {
    this.cancelExpiry = undefined
    this.cluster.update([])
    this.enter('emptied', `no good answer for ${showMs(this.keepMs)}: ${this.fault}`)
  }

  private enter(to: FeedState, why: string): void {
    const from = this.state
    if (to === from) return
    this.state = to
    this.since = this.runtime.now()
    this.emit({ type: 'state', from, to, why })
  }

  private emit(
    event: { type: 'warning'; why: string } | { type: 'state'; from: string; to: string; why: string },
  ): void {
    this.runtime.emit({ at: this.runtime.now(), path: this.path, ...event })
  }

  /** No list comes any more; the cluster keeps the one it has. Twice is harmless. */
  close(): void {
    if (this.closed) return
    this.closed = true
    this.cancelExpiry?.()
    this.cancelExpiry = undefined
    this.discovery.close()
    this.resolveReady()
  }

  /** What is, now: JSON-safe. */
  inspect(now: number = this.runtime.now()): Snapshot {
    const { kind, path, state, lists, failures, fault } = this
    return { kind, path, state, sinceMs: Math.max(0, now - this.since), lists, failures, fault }
  }
}

/**
 * Keeps `cluster` at what `discovery` finds. Kept endpoints keep their state, dropped ones finish what they have and are forgotten. Its
 * changes of state are events at `<cluster>/discovery`. Throws a ConfigError on bad options.
 */
export function discover(
  cluster: Cluster,
  discovery: Discovery,
  options: DiscoverOptions = {},
  runtime: Runtime = systemRuntime,
): Feed {
  return new Feed(cluster, discovery, options, runtime)
}
