import { levelOf } from '../algorithms/admission/level.ts'
import type { Cluster } from '../algorithms/cluster/cluster.ts'
import { ConfigError, type ConfigIssue } from '../core/errors.ts'
import type { Layer } from '../core/layer.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Runtime } from '../core/runtime.ts'
import { balance } from '../policies/balance.ts'
import { deadline } from '../policies/deadline.ts'
import { holdBack, type Quorum } from '../policies/hold-back.ts'
import { excessOf, type TimeLimitSettings } from '../policies/time-limits.ts'
import { timeout } from '../policies/timeout.ts'
import { names } from '../wire/names.ts'
import { apiOf } from './api.ts'
import { heed } from './heed.ts'
import type { Levels } from './levels.ts'

// Which layers does a client have that its author did not write?
//
// A timeout where there is none, since a client without one waits for ever; the cluster; and, before it, what holds back from an API that has
// asked for a pause. And none of them may be so long that it is none.

/** An attempt's time to its first byte, where nobody says. */
const ATTEMPT_MS = 100

interface Completion {
  readonly cluster: Cluster
  readonly holdBack: boolean
  /** What servers say of their admission level; undefined: nobody is believed. */
  readonly levels: Levels | undefined
  readonly limits: TimeLimitSettings
  /** The client's name. */
  readonly path: string
  readonly runtime: Runtime
}

/** Throws a ConfigError on a balancer over another cluster, and on a time that is too long where it is not cut. */
export function completed(layers: readonly Layer[], to: Completion): Layer[] {
  const { cluster } = to
  const balances = layers.filter((layer) => layer.kind === 'balance')
  if (balances.some(({ options }) => (options as { cluster?: unknown }).cluster !== cluster)) {
    throw new ConfigError([
      { path: 'client.layers', value: 'balance', expected: "balance({ cluster }) with the client's" },
    ])
  }
  const whole = limited(balances.length > 0 ? layers : [...layers, balance({ cluster })], to)
  if (to.holdBack && !whole.some((layer) => layer.kind === 'holdBack')) {
    // Within a retry, so that each attempt teaches it; before the cluster, so that a refusal costs no choice.
    const at = whole.findIndex((layer) => layer.kind === 'balance')
    whole.splice(at, 0, holdBack({ by: apiOf, quorum: quorumOf(cluster, to.levels !== undefined) }))
  }
  if (to.levels !== undefined) {
    const at = whole.findIndex((layer) => layer.kind === 'balance')
    whole.splice(at, 0, heed(cluster, to.levels))
  }
  if (whole.some((layer) => layer.kind === 'timeout')) return whole
  return [...whole, timeout({ after: Math.min(ATTEMPT_MS, to.limits.mostTimeout) })]
}

/**
 * 503 is one server's word about itself: where there are others in choice, they are asked instead, and the API is held back when all have said
 * so. Everything else (429, a `RetryInfo` on any error) is said about the API, wherever it is asked.
 */
function quorumOf(cluster: Cluster, heeds: boolean): Quorum {
  return ({ value }: Outcome<unknown>) => {
    const { status, statusCode, headers } = (value ?? {}) as Told
    if (status !== 503 && statusCode !== 503) return 1
    if (heeds && saysLevel(headers)) return Number.POSITIVE_INFINITY
    return cluster.members.filter((member) => !member.isolated).length
  }
}

interface Told {
  readonly status?: unknown
  readonly statusCode?: unknown
  readonly headers?: unknown
}

/** It refuses by class and cohort, and says by which: what it wishes of one of them is no word about the others. */
function saysLevel(headers: unknown): boolean {
  if (typeof headers !== 'object' || headers === null) return false
  const text = headers instanceof Headers ? headers.get(names.level) : (headers as Record<string, unknown>)[names.level]
  return typeof text === 'string' && levelOf(text) !== undefined
}

/** The layers, those that take too long refused or cut; who cuts says so. */
function limited(layers: readonly Layer[], { limits, path, runtime }: Completion): Layer[] {
  const issues: ConfigIssue[] = []
  const whole = layers.map((layer) => {
    const excess = excessOf(layer, `client.${layer.kind}`, limits)
    if (excess === undefined) return layer
    issues.push(excess.issue)
    return layer.kind === timeout.kind ? timeout(excess.cut as never) : deadline(excess.cut as never)
  })
  if (issues.length > 0 && limits.onExcess === 'refuse') throw new ConfigError(issues)
  for (const { path: field, value, expected } of issues) {
    runtime.emit({
      type: 'warning',
      at: runtime.now(),
      path,
      why: `${field} is cut: expected ${expected}, got ${value}`,
    })
  }
  return whole
}
