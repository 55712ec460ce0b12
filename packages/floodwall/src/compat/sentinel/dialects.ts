import * as v from 'valibot'
import { amountOrZero, countOrZero, shareOrZero } from '../../core/schema.ts'
import type { Fields } from './findings.ts'
import { milliseconds, type SentinelStrategy, strategies, strategy } from './rule.ts'

// What does this rule want? Sentinel has two tongues: Go's `circuitbreaker.Rule` and Java's `DegradeRule`. Both become one set of numbers;
// what was not said stays undefined, since what to take instead differs.

/** A rule, whoever wrote it. */
export interface Wish {
  readonly id: string | number | undefined
  readonly resource: string
  readonly strategy: SentinelStrategy
  readonly retryTimeoutMs: number | undefined
  readonly minRequestAmount: number | undefined
  readonly statIntervalMs: number | undefined
  readonly buckets: number
  readonly maxAllowedRtMs: number
  readonly threshold: number
  readonly probes: number
  /** How its author calls the fields. */
  readonly words: Words
}

interface Words {
  readonly retryTimeoutMs: string
  readonly maxAllowedRtMs: string
  readonly threshold: string
}

export const text: v.GenericSchema<string, string> = v.custom<string>((given) => typeof given === 'string', 'a text')
export const resourceName: v.GenericSchema<string, string> = v.pipe(text, v.maxLength(1024, 'at most 1024 characters'))
export const identity: v.GenericSchema<string | number, string | number> = v.custom<string | number>(
  (given) => typeof given === 'string' || Number.isFinite(given),
  'a text or a number',
)
const errors = v.custom<number>(
  (n) => typeof n === 'number' && n >= 0 && n <= 1e9,
  'a number of errors from 0 to 1000000000',
)
const share: v.GenericSchema<number, number> = shareOrZero
export const bool: v.GenericSchema<boolean, boolean> = v.custom<boolean>(
  (given) => typeof given === 'boolean',
  'true or false',
)

const GO_ONLY = [
  'strategy',
  'retryTimeoutMs',
  'statSlidingWindowBucketCount',
  'maxAllowedRtMs',
  'threshold',
  'probeNum',
] as const
const GO = ['id', 'resource', 'minRequestAmount', 'statIntervalMs', ...GO_ONLY]
const JAVA_ONLY = ['grade', 'count', 'timeWindow', 'slowRatioThreshold'] as const
const JAVA = ['id', 'resource', 'limitApp', 'minRequestAmount', 'statIntervalMs', ...JAVA_ONLY]

/** What the fields say; undefined when that is a fault, or when the rule is about no resource. */
export function wishOf(fields: Fields): Wish | undefined {
  const isJava = JAVA_ONLY.some((name) => fields.says(name)) && !GO_ONLY.some((name) => fields.says(name))
  const id = fields.read('id', identity)
  const resource = fields.read('resource', resourceName)
  const wish = isJava ? readJava(fields) : readGo(fields)
  fields.end(isJava ? JAVA : GO)
  if (resource !== undefined && resource !== '') return { id, resource, ...wish }
  fields.note('ignored', 'resource', 'a rule without a resource is about nothing: it is left out, as in Sentinel')
  return undefined
}

type Rest = Omit<Wish, 'id' | 'resource'>

function readGo(fields: Fields): Rest {
  const isSilent = !fields.says('strategy')
  const how = fields.read('strategy', strategy) ?? 'SlowRequestRatio'
  if (isSilent) fields.note('default', 'strategy', 'nothing was said: SlowRequestRatio, which is 0 in Sentinel')
  if (!fields.says('threshold')) fields.note('default', 'threshold', 'nothing was said: 0')
  return {
    strategy: how,
    retryTimeoutMs: fields.read('retryTimeoutMs', milliseconds),
    minRequestAmount: fields.read('minRequestAmount', countOrZero),
    statIntervalMs: fields.read('statIntervalMs', milliseconds),
    buckets: fields.read('statSlidingWindowBucketCount', countOrZero) ?? 0,
    maxAllowedRtMs: fields.read('maxAllowedRtMs', amountOrZero) ?? 0,
    threshold: fields.read('threshold', how === 'ErrorCount' ? errors : share) ?? 0,
    probes: fields.read('probeNum', countOrZero) ?? 0,
    words: { retryTimeoutMs: 'retryTimeoutMs', maxAllowedRtMs: 'maxAllowedRtMs', threshold: 'threshold' },
  }
}

const grade = v.custom<number>(
  (given) => given === 0 || given === 1 || given === 2,
  '0, 1 or 2 (RT, exception ratio, exception count)',
)
const seconds = v.custom<number>(
  (n) => Number.isInteger(n) && Number(n) >= 0 && Number(n) < 2_147_483_648,
  'whole seconds from 0 to 2147483647',
)

/** Java has defaults of its own, which its users count on. */
const JAVA_DEFAULTS = { minRequestAmount: 5, statIntervalMs: 1000 }

function readJava(fields: Fields): Rest {
  const isSilent = !fields.says('grade')
  const how = strategies[fields.read('grade', grade) ?? 0]!
  if (isSilent) fields.note('default', 'grade', 'nothing was said: 0, the response time')
  if (!fields.says('count')) fields.note('default', 'count', 'nothing was said: 0')
  const isSlow = how === 'SlowRequestRatio'
  const count = fields.read('count', isSlow ? amountOrZero : how === 'ErrorRatio' ? share : errors) ?? 0
  // Those who do not look at it write it all the same.
  const slowRatio = fields.read('slowRatioThreshold', share) ?? 1
  const timeWindow = fields.read('timeWindow', seconds)
  const callers = fields.read('limitApp', text) ?? 'default'
  if (callers !== 'default' && callers !== '') fields.note('ignored', 'limitApp', 'callers are not told apart')
  if (fields.says('regex') && fields.read('regex', bool) === true)
    fields.note('ignored', 'regex', 'the resource is taken as a name, not as a pattern')
  return {
    strategy: how,
    retryTimeoutMs: timeWindow === undefined ? undefined : timeWindow * 1000,
    minRequestAmount: javaDefault(fields, 'minRequestAmount', countOrZero),
    statIntervalMs: javaDefault(fields, 'statIntervalMs', milliseconds),
    buckets: 0,
    maxAllowedRtMs: isSlow ? count : 0,
    threshold: isSlow ? slowRatio : count,
    probes: 0,
    words: {
      retryTimeoutMs: 'timeWindow',
      maxAllowedRtMs: 'count',
      threshold: isSlow ? 'slowRatioThreshold' : 'count',
    },
  }
}

function javaDefault(
  fields: Fields,
  name: keyof typeof JAVA_DEFAULTS,
  schema: v.GenericSchema<number, number>,
): number | undefined {
  if (fields.says(name)) return fields.read(name, schema)
  fields.note('default', name, `nothing was said: ${JAVA_DEFAULTS[name]}, the default in Java`)
  return JAVA_DEFAULTS[name]
}
