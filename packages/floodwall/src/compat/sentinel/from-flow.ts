import * as v from 'valibot'
import { rateLimit } from '../../algorithms/gates/rate-limit.ts'
import { bulkhead } from '../../algorithms/gates/semaphore.ts'
import type { Layer } from '../../core/layer.ts'
import { amountOrZero, countOrZero } from '../../core/schema.ts'
import { pace } from '../../policies/pace.ts'
import { text } from './dialects.ts'
import type { Fields } from './findings.ts'
import { importLayers, type MakeLayers, noteScope, type SentinelLayers } from './imported-layers.ts'
import { milliseconds } from './rule.ts'

// Which rates, paces and slots do what these flow rules of Sentinel are meant to do?
//
// Go's `flow.Rule` and Java's `FlowRule`. Reject becomes a rate limit, throttling a pace, warm-up a rate limit that warms up, threads a bulkhead.
//
// { threshold: 10, controlBehavior: 1, maxQueueingTimeMs: 500 } becomes pace({ rate: 10, per: 1000, atMost: 500 }).
//
// Invariant: that of all imports: a fault makes nothing, and what is not honoured as it stands has its note.

/** Of a warm-up, where nothing was said: Sentinel's own. */
const COLD_FACTOR = 3
const WARM_UP_SEC = 10
const SECOND_MS = 1000

/** A rule, whoever wrote it. */
interface Wish {
  readonly isThreads: boolean
  readonly warms: boolean
  readonly waits: boolean
  readonly threshold: number
  readonly per: number
  readonly maxWaitMs: number
  readonly warmUpSec: number
  readonly coldFactor: number
  /** It is about the traffic of another resource, which no layer sees. */
  readonly isRelated: boolean
  /** How its author calls the threshold. */
  readonly word: string
}

const small = <const N extends number>(most: readonly N[], words: string) => v.picklist(most, words)
const coldFactor = v.custom<number>(
  (n) => n === 0 || (Number.isInteger(n) && Number(n) > 1 && Number(n) <= 1000),
  '0, or a whole number above 1',
)
const anything = v.custom<unknown>(() => true)

const JAVA_ONLY = ['grade', 'count', 'strategy', 'clusterMode', 'clusterConfig'] as const
const COMMON = ['id', 'resource', 'controlBehavior', 'refResource', 'warmUpPeriodSec', 'maxQueueingTimeMs']
const MEMORY = [
  'lowMemUsageThreshold',
  'highMemUsageThreshold',
  'memLowWaterMarkBytes',
  'memHighWaterMarkBytes',
] as const
const GO_ONLY = [
  'tokenCalculateStrategy',
  'threshold',
  'relationStrategy',
  'statIntervalInMs',
  'warmUpColdFactor',
  ...MEMORY,
] as const
const GO = [...COMMON, ...GO_ONLY, 'regex']
const JAVA = [...COMMON, ...JAVA_ONLY, 'limitApp', 'regex']

/**
 * Reads flow rules of Sentinel, Go's or Java's: a list, or its JSON.
 *
 * @throws ConfigError that lists every fault with path, value and expectation; then nothing has been made
 */
export function fromSentinelFlow(rules: unknown): SentinelLayers {
  return importLayers(rules, (fields) => {
    const isJava = JAVA_ONLY.some((name) => fields.says(name)) && !GO_ONLY.some((name) => fields.says(name))
    const wish = isJava ? readJava(fields) : readGo(fields)
    noteScope(fields)
    fields.read('clusterConfig', anything)
    fields.read('refResource', text)
    fields.end(isJava ? JAVA : GO)
    if (!wish.isRelated) return layersOf(wish, fields)
    const name = isJava ? 'strategy' : 'relationStrategy'
    fields.note('ignored', name, 'a layer does not see the calls of another resource: the rule is left out')
    return undefined
  })
}

function readGo(fields: Fields): Wish {
  const how =
    fields.read('tokenCalculateStrategy', small([0, 1, 2], '0 (Direct), 1 (WarmUp) or 2 (MemoryAdaptive)')) ?? 0
  const memory = Object.fromEntries(MEMORY.map((name) => [name, fields.read(name, amountOrZero)]))
  const threshold = how === 2 ? fields.read('threshold', amountOrZero) : thresholdIn(fields, 'threshold')
  if (how === 2)
    fields.note('changed', 'tokenCalculateStrategy', 'lowMemUsageThreshold, whatever the memory: see overload()')
  return {
    ...commonIn(fields),
    isThreads: false,
    warms: how === 1,
    waits: fields.read('controlBehavior', small([0, 1], '0 (Reject) or 1 (Throttling)')) === 1,
    threshold: (how === 2 ? memory['lowMemUsageThreshold'] : threshold) ?? 0,
    per: fields.read('statIntervalInMs', milliseconds) || SECOND_MS,
    coldFactor: fields.read('warmUpColdFactor', coldFactor) || COLD_FACTOR,
    isRelated: fields.read('relationStrategy', small([0, 1], '0 (CurrentResource) or 1 (AssociatedResource)')) === 1,
    word: 'threshold',
  }
}

function readJava(fields: Fields): Wish {
  const behaviour =
    fields.read('controlBehavior', small([0, 1, 2, 3], '0 to 3 (default, warm-up, rate limiter, both)')) ?? 0
  return {
    ...commonIn(fields),
    isThreads: fields.read('grade', small([0, 1], '0 (threads) or 1 (QPS)')) === 0,
    warms: behaviour === 1 || behaviour === 3,
    waits: behaviour >= 2,
    threshold: thresholdIn(fields, 'count'),
    per: SECOND_MS,
    coldFactor: COLD_FACTOR,
    isRelated: (fields.read('strategy', small([0, 1, 2], '0 (direct), 1 (relate) or 2 (chain)')) ?? 0) > 0,
    word: 'count',
  }
}

function commonIn(fields: Fields): Pick<Wish, 'maxWaitMs' | 'warmUpSec'> {
  return {
    maxWaitMs: fields.read('maxQueueingTimeMs', milliseconds) ?? 0,
    warmUpSec: fields.read('warmUpPeriodSec', countOrZero) || WARM_UP_SEC,
  }
}

function thresholdIn(fields: Fields, name: string): number {
  if (!fields.says(name)) fields.note('default', name, 'nothing was said: 0, which refuses every call')
  return fields.read(name, amountOrZero) ?? 0
}

function layersOf(wish: Wish, fields: Fields): MakeLayers {
  const { threshold: rate, per, warms, waits } = wish
  if (wish.isThreads) {
    const slots = Math.trunc(rate)
    if (slots < rate) fields.note('changed', wish.word, `${slots}: calls are whole`)
    return () => [bulkhead({ slots })]
  }
  if (warms && waits)
    fields.note(
      'changed',
      'controlBehavior',
      'two layers: what is too much while it is cold is refused, and does not wait',
    )
  return () => [
    ...(warms ? [warmUp(wish)] : []),
    ...(waits ? [paced(wish)] : []),
    ...(warms || waits ? [] : [rateLimit({ rate, per })]),
  ]
}

function warmUp({ threshold: rate, per, warmUpSec, coldFactor: factor }: Wish): Layer {
  return rateLimit({ rate, per, algorithm: 'warmUp', warmUp: { over: warmUpSec * SECOND_MS, coldFactor: factor } })
}

/** Nobody may wait: one by one, and who comes too early is refused. */
function paced({ threshold: rate, per, maxWaitMs }: Wish): Layer {
  if (maxWaitMs > 0) return pace({ rate, per, atMost: maxWaitMs })
  return rateLimit({ rate, per, burst: rate === 0 ? 0 : 1 })
}
