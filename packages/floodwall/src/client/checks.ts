import * as v from 'valibot'
import type { Cluster } from '../algorithms/cluster/cluster.ts'
import type { Member } from '../algorithms/cluster/member.ts'
import type { Snapshot } from '../core/gate.ts'
import type { Runtime } from '../core/runtime.ts'
import { count, parse, positiveSpan } from '../core/schema.ts'
import { systemRuntime } from '../core/system.ts'
import { checkHttp } from './check-http.ts'
import { checkTcp } from './check-tcp.ts'
import { type CheckPlan, Checkup } from './checkup.ts'
import type { Prober } from './prober.ts'

// Who is well, whatever the calls say?
//
// Calls find out only what they are sent to find out. Checks look at every endpoint by themselves: they take out who is down before a call
// meets it, and bring back who is isolated without spending calls on it.

const isKind = (kind: unknown): boolean => kind === 'tcp' || kind === 'http' || typeof kind === 'function'

const checkOptions = v.strictObject({
  /** What a check is: `tcp` connects, `http` asks for `path` and wants 2xx, a function is yours. Default `tcp`. */
  kind: v.optional(v.custom<'tcp' | 'http' | Prober>(isKind, '"tcp", "http" or a function'), 'tcp'),
  /** Between two checks of one endpoint, up to a tenth more or less. Default 5 s. */
  interval: v.optional(positiveSpan, '5s'),
  /** A check that has not ended by then has failed. Default 1 s. */
  timeout: v.optional(positiveSpan, '1s'),
  /** Checks in a row that must pass before calls may probe an isolated endpoint. Default 2. */
  rise: v.optional(count, 2),
  /** Failed checks in a row that isolate. Default 3. */
  fall: v.optional(count, 3),
  /** What `http` asks for. Default `/health`. */
  path: v.optional(v.pipe(v.string('a path'), v.regex(/^\/[\x21-\x7e]*$/, 'a path that begins with "/"')), '/health'),
  /** So much of a body is read at most, in bytes. Default 65536. */
  maxBody: v.optional(count, 65_536),
})

export type CheckOptions = v.InferInput<typeof checkOptions>
type CheckSettings = v.InferOutput<typeof checkOptions>

/** The active checks of a cluster, until they are closed. */
export class Checks {
  readonly kind = 'checks'
  readonly path: string
  private readonly cluster: Cluster
  private readonly plan: CheckPlan
  private readonly runtime: Runtime
  private readonly name: string
  private readonly checkups = new Map<Member, Checkup>()
  private readonly unwatch: () => void

  constructor(cluster: Cluster, options: CheckOptions, runtime: Runtime) {
    const settings = parse(checkOptions, options, 'checks')
    const { kind, interval, timeout, rise, fall } = settings
    this.path = `${cluster.path}/checks`
    this.name = typeof kind === 'function' ? 'function' : kind
    this.cluster = cluster
    this.runtime = runtime
    this.plan = { probe: proberOf(settings), intervalMs: interval, timeoutMs: timeout, rise, fall }
    this.unwatch = cluster.watch({
      updated: (members) => this.updated(members),
      moved: (member, to) => this.checkups.get(member)?.moved(to),
      mayProbe: (member) => this.checkups.get(member)?.cleared ?? true,
    })
    this.updated(cluster.members)
  }

  private updated(members: readonly Member[]): void {
    const { checkups, cluster, plan, runtime } = this
    const gone = new Set(checkups.keys())
    for (const member of members) {
      if (!gone.delete(member)) checkups.set(member, new Checkup(member, cluster, plan, runtime))
    }
    for (const member of gone) this.forget(member)
  }

  private forget(member: Member): void {
    this.checkups.get(member)?.close()
    this.checkups.delete(member)
  }

  /** Ends all checks, running ones too. The isolated ones come back by their breakers' time alone. Twice is harmless. */
  close(): void {
    this.unwatch()
    for (const member of [...this.checkups.keys()]) this.forget(member)
  }

  /** What is, now: JSON-safe. */
  inspect(now: number = this.runtime.now()): Snapshot {
    const endpoints = [...this.checkups.values()].map((checkup) => ({
      id: checkup.member.endpoint.id,
      checking: checkup.checking,
      nextInMs: checkup.nextInMs(now),
      checks: checkup.checks,
      failures: checkup.failures,
      isolations: checkup.isolations,
      returns: checkup.returns,
      fault: checkup.fault,
    }))
    return { kind: this.kind, path: this.path, check: this.name, endpoints }
  }
}

function proberOf({ kind, path, maxBody }: CheckSettings): Prober {
  if (typeof kind === 'function') return kind
  return kind === 'tcp' ? checkTcp : checkHttp(path, maxBody)
}

/**
 * Checks every endpoint of `cluster` from now on, those that discovery adds too; isolated ones come back by way of the checks. Throws a
 * ConfigError on bad options. The timers do not keep the process alive.
 */
export function checks(cluster: Cluster, options: CheckOptions = {}, runtime: Runtime = systemRuntime): Checks {
  return new Checks(cluster, options, runtime)
}
