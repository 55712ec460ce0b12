import { breaker } from '../../algorithms/gates/breaker.ts'
import type { BreakerOptions } from '../../algorithms/gates/breaker-settings.ts'
import { ConfigError } from '../../core/errors.ts'
import type { Layer } from '../../core/layer.ts'
import { show } from '../../core/schema.ts'
import { type Wish, wishOf } from './dialects.ts'
import { Fields, Findings, type SentinelNote } from './findings.ts'

// Which breakers of ours do what these rules of Sentinel are meant to do?
//
// Each rule becomes a breaker with statistics of its own. What its fields mean is kept; what its code does wrong is not: docs/from-sentinel.md
// has the list.
//
// { resource: 'abc', strategy: 1, retryTimeoutMs: 5000, minRequestAmount: 10, statIntervalMs: 10000, threshold: 0.1 } becomes
// breaker({ failureRate: 0.1, over: 10000, atLeast: 10, openFor: 5000, probes: 1, probeFailureRate: 1 }).
//
// Invariant: a document with a fault makes nothing; else every rule that is about a resource has its layer, and every field that is not
// honoured as it stands has its note.

/** More is a mistake or an attack. */
const MOST_RULES = 10_000
export const MOST_RULES_OF_ONE = 100
const MOST_CHARACTERS = 16_000_000

/** "About 10 s", Sentinel's documents say of both. */
const TEMPLATE_MS = 10_000
/** What their examples have. */
const TEMPLATE_MIN = 10
/** A window moves by a bucket at a time: with 10 it forgets a tenth at once, with 1 everything. */
const BUCKETS = 10
const MOST_BUCKETS = 100
/** So long a probe is waited for, or twice as long as it may take: else none would ever come back in time. */
const LAPSE_MS = 10_000
/** A share that any failure reaches: what a threshold of 0 is meant to be. */
const ANY = 1e-9

/** Where a rule went. */
export interface ImportedRule {
  /** Where it stood: `'[3]'`. */
  readonly at: string
  readonly id: string | number | undefined
  readonly resource: string
  /** What its breaker is called in a pipeline of these layers: `'breaker-2'`. */
  readonly place: string
}

/** What became of a document. */
export interface SentinelImport {
  /** A breaker for each rule, by resource, in the order of the rules. */
  readonly layers: ReadonlyMap<string, readonly Layer[]>
  readonly rules: readonly ImportedRule[]
  /** Every field that is not honoured as it stands. */
  readonly notes: readonly SentinelNote[]
}

/**
 * Reads circuit breaking rules of Sentinel, Go's or Java's: a list, or its JSON. The layers are of our own {@link breaker}.
 *
 * @throws ConfigError that lists every fault with path, value and expectation; then nothing has been made
 */
export function fromSentinel(rules: unknown): SentinelImport {
  const list = listOf(rules)
  const findings = new Findings()
  const wishes: { at: string; wish: Sensible }[] = []
  for (let i = 0; i < list.length; i++) {
    const at = `[${i}]`
    const raw: unknown = list[i]
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) findings.fault(at, raw, 'a rule')
    else {
      const fields = new Fields(raw as Record<string, unknown>, at, findings)
      const wish = wishOf(fields)
      if (wish !== undefined) wishes.push({ at, wish: sensible(wish, fields) })
    }
  }
  const byResource = new Map<string, Layer[]>()
  const places = wishes.map(({ at, wish }): ImportedRule => {
    const { id, resource } = wish
    const layers = byResource.get(resource) ?? []
    byResource.set(resource, layers)
    if (layers.length === MOST_RULES_OF_ONE)
      findings.fault(`${at}.resource`, resource, `at most ${MOST_RULES_OF_ONE} rules for one resource`)
    else layers.push(layerOf(wish))
    return { at, id, resource, place: layers.length === 1 ? 'breaker' : `breaker-${layers.length}` }
  })
  findings.check()
  return { layers: byResource, rules: places, notes: findings.notes }
}

/** The document as a whole is wrong. */
function refuse(value: string, expected: string): ConfigError {
  return new ConfigError([{ path: 'rules', value, expected }])
}

/** The rules of a document, or its JSON. */
export function listOf(rules: unknown): readonly unknown[] {
  const list = typeof rules === 'string' ? parsed(rules) : rules
  if (!Array.isArray(list)) throw refuse(show(list), 'a list of rules')
  if (list.length > MOST_RULES) throw refuse(`${list.length} rules`, `at most ${MOST_RULES}`)
  return list
}

function parsed(text: string): unknown {
  if (text.length > MOST_CHARACTERS) throw refuse(`${text.length} characters`, `at most ${MOST_CHARACTERS}`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refuse(show(text), `JSON (${(error as Error).message})`)
  }
}

/** A wish that can be fulfilled: everything is said, and nothing opens without a fault. */
type Sensible = Wish & Record<'retryTimeoutMs' | 'minRequestAmount' | 'statIntervalMs', number>

function sensible(wish: Wish, fields: Fields): Sensible {
  const { words } = wish
  const statIntervalMs = span(wish.statIntervalMs, 'statIntervalMs', fields)
  return {
    ...wish,
    statIntervalMs,
    retryTimeoutMs: span(wish.retryTimeoutMs, words.retryTimeoutMs, fields),
    minRequestAmount: least(wish.minRequestAmount, fields),
    buckets: bucketsOf(wish.buckets, statIntervalMs, fields),
    maxAllowedRtMs: slowLimit(wish, fields),
    threshold: thresholdOf(wish, fields),
    probes: probesOf(wish, fields),
  }
}

function span(ms: number | undefined, name: string, fields: Fields): number {
  if (ms !== undefined && ms > 0) return ms
  const said = ms === undefined ? 'nothing was said' : '0 is no time'
  fields.note('default', name, `${said}: ${TEMPLATE_MS / 1000} s`)
  return TEMPLATE_MS
}

function least(calls: number | undefined, fields: Fields): number {
  if (calls === undefined) fields.note('default', 'minRequestAmount', `nothing was said: ${TEMPLATE_MIN}`)
  else if (calls === 0) fields.note('changed', 'minRequestAmount', '0 is 1: the first call alone can open it')
  return Math.max(1, calls ?? TEMPLATE_MIN)
}

function bucketsOf(buckets: number, intervalMs: number, fields: Fields): number {
  const name = 'statSlidingWindowBucketCount'
  if (buckets === 0) return BUCKETS
  if (buckets === 1) {
    fields.note('changed', name, `${BUCKETS}: a window of one bucket forgets everything at its end`)
    return BUCKETS
  }
  if (buckets > MOST_BUCKETS) {
    fields.note('changed', name, `${MOST_BUCKETS}, the most that a rule may have`)
    return MOST_BUCKETS
  }
  if (intervalMs % buckets !== 0)
    fields.note(
      'changed',
      name,
      `${buckets} buckets of a part of a millisecond; in Sentinel one, since it does not divide`,
    )
  return buckets
}

function slowLimit({ strategy, maxAllowedRtMs, words }: Wish, fields: Fields): number {
  if (strategy !== 'SlowRequestRatio') {
    if (maxAllowedRtMs > 0) fields.note('ignored', words.maxAllowedRtMs, `${strategy} does not look at it`)
    return 0
  }
  if (maxAllowedRtMs > 0) return maxAllowedRtMs
  fields.note('changed', words.maxAllowedRtMs, 'without a limit nearly every call is slow: 1 ms')
  return 1
}

function thresholdOf({ strategy, threshold, words }: Wish, fields: Fields): number {
  if (strategy !== 'ErrorCount') {
    if (threshold > 0) return threshold
    fields.note('changed', words.threshold, 'the first bad call opens it; in Sentinel any call does, also a good one')
    return ANY
  }
  const errors = Math.trunc(threshold)
  if (errors < 1) fields.note('changed', words.threshold, '1; in Sentinel any call opens it, also a good one')
  else if (errors < threshold) fields.note('changed', words.threshold, `${errors}: errors are whole`)
  return Math.max(1, errors)
}

function probesOf({ strategy, threshold, probes }: Wish, fields: Fields): number {
  if (strategy === 'SlowRequestRatio' && probes * threshold > 1)
    fields.note(
      'changed',
      'probeNum',
      'opens again when the share of slow probes is the threshold; in Sentinel with the first',
    )
  return Math.max(1, probes)
}

function layerOf(wish: Sensible): Layer {
  const { strategy, threshold, probes } = wish
  const options: BreakerOptions = {
    over: wish.statIntervalMs,
    buckets: wish.buckets,
    atLeast: wish.minRequestAmount,
    openFor: wish.retryTimeoutMs,
    probes,
    // One failed probe opens it again, and only all of them close it.
    probeFailureRate: 1 / probes,
    probeLapse: Math.max(LAPSE_MS, 2 * wish.maxAllowedRtMs),
  }
  if (strategy === 'ErrorRatio') return breaker({ failureRate: threshold, ...options })
  if (strategy === 'ErrorCount') return breaker({ errorCount: threshold, ...options })
  return breaker({ slowRate: threshold, slowAfter: wish.maxAllowedRtMs, ...options })
}
