import * as v from 'valibot'
import { countOrZero } from '../../core/schema.ts'
import { milliseconds } from './rule.ts'

// How much may each value of a parameter have, as Sentinel would say? The fields of a hotspot rule of alibaba/sentinel-golang (commit f7a7f957).

/** A value that has a limit of its own. `valKind`: 0 int, 1 string, 2 bool, 3 float64. */
export const specificItem = v.strictObject({
  valKind: v.optional(v.picklist([0, 1, 2, 3], '0 (int), 1 (string), 2 (bool) or 3 (float64)'), 0),
  valStr: v.string(),
  threshold: v.optional(countOrZero, 0),
})

const index = v.custom<number>((n) => Number.isInteger(n) && Math.abs(Number(n)) < 65_536, 'a whole number')

/** A hotspot rule; what is not said is 0, as in Go. */
export const sentinelHotspotRule = v.strictObject({
  id: v.optional(v.string(), ''),
  resource: v.string(),
  metricType: v.optional(v.picklist([0, 1], '0 (Concurrency) or 1 (QPS)'), 0),
  controlBehavior: v.optional(v.picklist([0, 1], '0 (Reject) or 1 (Throttling)'), 0),
  /** Below 0 it counts from the end. */
  paramIndex: v.optional(index, 0),
  /** Of the attachments. A call without it falls back to the index. */
  paramKey: v.optional(v.string(), ''),
  threshold: v.optional(countOrZero, 0),
  maxQueueingTimeMs: v.optional(milliseconds, 0),
  burstCount: v.optional(countOrZero, 0),
  durationInSec: v.optional(countOrZero, 0),
  /** 0: 4000 for each second of the duration, up to 20,000. */
  paramsMaxCapacity: v.optional(countOrZero, 0),
  specificItems: v.optional(v.array(specificItem), () => []),
})

/** What users write: Sentinel's own JSON. */
export type SentinelHotspotRule = v.InferInput<typeof sentinelHotspotRule>
export type SentinelHotspotValues = v.InferOutput<typeof sentinelHotspotRule>

/** Digits that a float keeps there. */
const DIGITS = 5

/** The value that an item is about; undefined where the text is none of its kind. */
export function valueOf(kind: number, text: string): string | number | boolean | undefined {
  if (kind === 1) return text
  if (kind === 2) return text === 'true' ? true : text === 'false' ? false : undefined
  const number = text.trim() === '' ? Number.NaN : Number(text)
  if (!Number.isFinite(number) || (kind === 0 && !Number.isInteger(number))) return undefined
  return kind === 0 ? number : Number(number.toFixed(DIGITS))
}

/** What Sentinel loads. */
export function isValidHotspot(rule: SentinelHotspotValues): boolean {
  if (rule.resource === '' || (rule.metricType === 1 && rule.durationInSec === 0)) return false
  return rule.paramIndex <= 0 || rule.paramKey === ''
}

/** What must be equal for a rule to stay as it is: all but the id, and but what its behaviour does not look at. */
export function meaningOf(rule: SentinelHotspotValues): string {
  const { controlBehavior, burstCount, maxQueueingTimeMs } = rule
  const looksAt = controlBehavior === 0 ? { burstCount, maxQueueingTimeMs: 0 } : { burstCount: 0, maxQueueingTimeMs }
  return JSON.stringify({ ...rule, ...looksAt, id: '' })
}

/** The counters of `a` may count on for `b`. */
export function sameCounters(a: SentinelHotspotValues, b: SentinelHotspotValues): boolean {
  return (
    a.resource === b.resource &&
    a.metricType === b.metricType &&
    a.controlBehavior === b.controlBehavior &&
    a.paramsMaxCapacity === b.paramsMaxCapacity &&
    a.durationInSec === b.durationInSec
  )
}
