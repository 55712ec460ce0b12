import * as v from 'valibot'
import type { OverridePairs } from '../../algorithms/gates/hot-parameter-overrides.ts'
import { amountOrZero, countOrZero } from '../../core/schema.ts'
import { hotParameter } from '../../policies/hot-parameter.ts'
import type { Fields } from './findings.ts'
import { specificItem, valueOf } from './hotspot-rule.ts'
import { importLayers, type MakeLayers, noteScope, type SentinelLayers } from './imported-layers.ts'
import { milliseconds } from './rule.ts'

// Which limits per value do what these hotspot rules of Sentinel are meant to do?
//
// Go's `hotspot.Rule` and Java's `ParamFlowRule` become `hotParameter`: QPS a rate, or with throttling a pace; threads slots. What fields mean is kept;
// what the code does wrong is not: docs/from-sentinel.md has the list.
//
// { metricType: 1, threshold: 10, burstCount: 5, durationInSec: 2, paramIndex: 1 } becomes
// hotParameter({ parameter: 1, rate: 10, per: 2000, burst: 15 }).
//
// Invariant: that of all imports: a fault makes nothing, and what is not honoured as it stands has its note.

/** Tables of Sentinel: so many values for each second of the duration, and at most. */
const PER_SECOND = 4000
const MOST = 20_000
/** Java's numbers. */
const JAVA_QPS = 1
const JAVA_RATE_LIMITER = 2

/** A rule, whoever wrote it. */
interface Wish {
  readonly isQps: boolean
  readonly isPace: boolean
  readonly parameter: number | string
  readonly threshold: number
  readonly burst: number
  readonly seconds: number
  readonly maxWaitMs: number
  readonly max: number
  readonly items: readonly (readonly [value: string | number | boolean, threshold: number])[]
  /** How its author calls the threshold. */
  readonly word: string
}

const bit = (words: string) => v.picklist([0, 1] as const, words)
const index = v.custom<number>((n) => Number.isInteger(n) && Math.abs(Number(n)) < 65_536, 'a whole number')
/** A name without a separator of ours: with one it would be a way into the data, or a part of a request. */
const key = v.custom<string>(
  (name) => typeof name === 'string' && /^[^.:]{1,256}$/.test(name),
  'a name without "." and ":"',
)
const seconds = v.custom<number>((n) => Number.isInteger(n) && Number(n) >= 0 && Number(n) <= 1e9, 'whole seconds')
const anything = v.custom<unknown>(() => true)

const JAVA_ONLY = ['grade', 'count', 'paramIdx', 'paramFlowItemList'] as const
const COMMON = ['id', 'resource', 'controlBehavior', 'maxQueueingTimeMs', 'burstCount', 'durationInSec']
const GO = [...COMMON, 'metricType', 'paramIndex', 'paramKey', 'threshold', 'paramsMaxCapacity', 'specificItems']
const JAVA = [...COMMON, ...JAVA_ONLY, 'limitApp', 'clusterMode', 'clusterConfig']

/**
 * Reads hotspot rules of Sentinel, Go's or Java's: a list, or its JSON. The layers are of our own {@link hotParameter}.
 *
 * @throws ConfigError that lists every fault with path, value and expectation; then nothing has been made
 */
export function fromSentinelHotspot(rules: unknown): SentinelLayers {
  return importLayers(rules, (fields) => {
    const isJava =
      JAVA_ONLY.some((name) => fields.says(name)) && !fields.says('metricType') && !fields.says('threshold')
    const wish = isJava ? readJava(fields) : readGo(fields)
    fields.end(isJava ? JAVA : GO)
    return layersOf(wish, fields)
  })
}

function readGo(fields: Fields): Wish {
  const isQps = fields.read('metricType', bit('0 (Concurrency) or 1 (QPS)')) === 1
  const paramIndex = fields.read('paramIndex', index) ?? 0
  const paramKey =
    fields.says('paramKey') && fields.read('paramKey', v.union([v.literal(''), key], 'a name without "." and ":"'))
  if (typeof paramKey === 'string' && paramKey !== '') {
    if (paramIndex > 0) fields.fault('paramIndex', 'none beside a paramKey: Sentinel leaves such a rule out')
    fields.note(
      'changed',
      'paramKey',
      'a field of the data of a call; a call without it is not limited, and not by its first argument',
    )
  }
  return {
    isQps,
    isPace: fields.read('controlBehavior', bit('0 (Reject) or 1 (Throttling)')) === 1,
    parameter: typeof paramKey === 'string' && paramKey !== '' ? paramKey : paramIndex,
    threshold: thresholdIn(fields, 'threshold'),
    ...timesIn(fields, isQps),
    max: fields.read('paramsMaxCapacity', countOrZero) ?? 0,
    items: itemsIn(fields),
    word: 'threshold',
  }
}

function itemsIn(fields: Fields): Wish['items'] {
  const items = fields.read('specificItems', v.array(specificItem, 'a list of { valKind, valStr, threshold }')) ?? []
  return items.flatMap(({ valKind, valStr, threshold }) => {
    const value = valueOf(valKind, valStr)
    if (value !== undefined) return [[value, threshold] as const]
    fields.fault('specificItems', 'texts that are values of their kind')
    return []
  })
}

/** Java's names of types, as far as they are not texts. */
const KINDS: Readonly<Record<string, number>> = {
  ...{ int: 0, long: 0, short: 0, byte: 0, boolean: 2, float: 3, double: 3 },
  ...{ 'java.lang.Integer': 0, 'java.lang.Long': 0, 'java.lang.Short': 0, 'java.lang.Byte': 0 },
  ...{ 'java.lang.Boolean': 2, 'java.lang.Float': 3, 'java.lang.Double': 3 },
}
const TEXT = 1

const javaItem = v.strictObject({
  object: v.union([v.string(), v.number(), v.boolean()]),
  classType: v.nullish(v.string(), ''),
  count: v.optional(countOrZero, 0),
})

function readJava(fields: Fields): Wish {
  const isQps = (fields.read('grade', bit('0 (threads) or 1 (QPS)')) ?? JAVA_QPS) === JAVA_QPS
  const behaviour = fields.read('controlBehavior', v.picklist([0, 1, 2, 3], '0, 1, 2 or 3')) ?? 0
  if (behaviour === 1 || behaviour === 3)
    fields.note('changed', 'controlBehavior', '0: parameters have no warm-up, there neither')
  noteScope(fields)
  fields.read('clusterConfig', anything)
  return {
    isQps,
    isPace: behaviour === JAVA_RATE_LIMITER,
    parameter: fields.read('paramIdx', index) ?? 0,
    threshold: thresholdIn(fields, 'count'),
    ...timesIn(fields, isQps),
    max: 0,
    items: javaItemsIn(fields),
    word: 'count',
  }
}

function javaItemsIn(fields: Fields): Wish['items'] {
  const items = fields.read('paramFlowItemList', v.array(javaItem, 'a list of { object, classType, count }')) ?? []
  return items.flatMap(({ object, classType, count }) => {
    const value = valueOf(KINDS[classType] ?? TEXT, String(object))
    if (value !== undefined) return [[value, count] as const]
    fields.fault('paramFlowItemList', 'objects that are values of their type')
    return []
  })
}

function thresholdIn(fields: Fields, name: string): number {
  if (!fields.says(name))
    fields.note('default', name, 'nothing was said: 0, which refuses every call with the parameter')
  return fields.read(name, amountOrZero) ?? 0
}

function timesIn(fields: Fields, isQps: boolean): Pick<Wish, 'burst' | 'seconds' | 'maxWaitMs'> {
  const isSilent = !fields.says('durationInSec')
  const said = fields.read('durationInSec', seconds)
  if (isQps && (isSilent || said === 0))
    fields.note('default', 'durationInSec', `${isSilent ? 'nothing was said' : '0 is no time'}: 1 s`)
  return {
    burst: fields.read('burstCount', countOrZero) ?? 0,
    seconds: Math.max(1, said ?? 1),
    maxWaitMs: fields.read('maxQueueingTimeMs', milliseconds) ?? 0,
  }
}

function layersOf(wish: Wish, fields: Fields): MakeLayers {
  const { isQps, isPace, parameter, items, seconds: span, burst } = wish
  const max = wish.max > 0 ? wish.max : isQps ? Math.min(MOST, PER_SECOND * span) : PER_SECOND
  if (!isQps) {
    if (isPace) fields.note('ignored', 'controlBehavior', 'calls at once do not wait, there neither')
    if (burst > 0) fields.note('ignored', 'burstCount', 'only rates look at it')
    const slots = Math.trunc(wish.threshold)
    if (slots < wish.threshold) fields.note('changed', wish.word, `${slots}: calls are whole`)
    if (slots === 0) fields.note('changed', wish.word, 'nobody passes; in Sentinel the first call of each value does')
    return () => [hotParameter({ parameter, slots, overrides: items, max })]
  }
  const per = span * 1000
  const rate = wish.threshold
  if (!isPace) {
    const overrides: OverridePairs = items.map(([value, own]) => [
      value,
      { rate: own, burst: own === 0 ? 0 : own + burst },
    ])
    return () => [
      hotParameter({ parameter, rate, per, burst: rate === 0 ? 0 : Math.max(1, rate + burst), overrides, max }),
    ]
  }
  if (burst > 0) fields.note('ignored', 'burstCount', 'throttling does not look at it, there neither')
  if (wish.maxWaitMs > 0)
    return () => [hotParameter({ parameter, rate, per, maxWait: wish.maxWaitMs, overrides: items, max })]
  fields.note('changed', 'maxQueueingTimeMs', 'nobody may wait: one by one, and who comes too early is refused')
  const single: OverridePairs = items.map(([value, own]) => [value, { rate: own, burst: own === 0 ? 0 : 1 }])
  return () => [hotParameter({ parameter, rate, per, burst: rate === 0 ? 0 : 1, overrides: single, max })]
}
