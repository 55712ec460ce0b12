import * as v from 'valibot'
import { countOrZero } from '../../core/schema.ts'
import { milliseconds } from './rule.ts'

// How often may this resource be entered, as Sentinel would say? The fields of a flow rule of alibaba/sentinel-golang (commit f7a7f957).

const finite = v.custom<number>((n) => typeof n === 'number' && Number.isFinite(n), 'a number')

/** One of some names, or its number; read as the name. */
function named<const N extends string>(...names: readonly N[]): v.GenericSchema<number | string, N> {
  return v.pipe(
    v.custom<number | string>(
      (given) => names.some((name, number) => given === name || given === number),
      names.map((name, number) => `${number} (${name})`).join(' or '),
    ),
    v.transform((given) => (typeof given === 'number' ? names[given] : given) as N),
  )
}

/** A flow rule; what is not said is 0, as in Go. `MemoryAdaptive` and `regex` are not there. */
export const sentinelFlowRule = v.strictObject({
  id: v.optional(v.string(), ''),
  resource: v.string(),
  tokenCalculateStrategy: v.optional(named('Direct', 'WarmUp'), 0),
  controlBehavior: v.optional(named('Reject', 'Throttling'), 0),
  /** Passes per `statIntervalInMs`. */
  threshold: v.optional(finite, 0),
  relationStrategy: v.optional(named('CurrentResource', 'AssociatedResource'), 0),
  refResource: v.optional(v.string(), ''),
  maxQueueingTimeMs: v.optional(milliseconds, 0),
  warmUpPeriodSec: v.optional(countOrZero, 0),
  /** 0 is 3. */
  warmUpColdFactor: v.optional(countOrZero, 0),
  /** 0 is 1000. */
  statIntervalInMs: v.optional(milliseconds, 0),
})

/** What users write: Sentinel's own JSON. */
export type SentinelFlowRule = v.InferInput<typeof sentinelFlowRule>
export type SentinelFlowRuleValues = v.InferOutput<typeof sentinelFlowRule>
