import * as v from 'valibot'
import { type Classify, verdictByDefault } from '../../core/outcome.ts'
import { parse } from '../../core/schema.ts'

// What counts as a failure, as resilience4j would say?
//
// What is ignored is ignored, even if it is recorded too. Of other errors those that a class of `recordExceptions` or the predicate names are
// failures, all if nobody names any; the rest, errors though they are, count as successes. A value is a success unless `recordResult` says no.

const classes = v.custom<readonly (abstract new (...args: never) => unknown)[]>(
  (given) => Array.isArray(given) && given.every((one) => typeof one === 'function'),
  'a list of classes',
)
const predicate = v.custom<(valueOrError: unknown) => boolean>((given) => typeof given === 'function', 'a predicate')

const classifyOptions = v.strictObject({
  recordExceptions: v.optional(classes, []),
  recordException: v.optional(predicate),
  ignoreExceptions: v.optional(classes, []),
  ignoreException: v.optional(predicate),
  recordResult: v.optional(predicate),
})

export type Resilience4jClassifyOptions = v.InferInput<typeof classifyOptions>

/**
 * A classifier for a pipeline, from resilience4j's options of the same names. Callers who left are ignored, and timeouts that are recorded are
 * timeouts, whatever the options say. Throws ConfigError.
 */
export function resilience4jClassify(options: Resilience4jClassifyOptions = {}): Classify {
  const settings = parse(classifyOptions, options, 'resilience4jClassify')
  const { recordExceptions, recordException, ignoreExceptions, ignoreException, recordResult } = settings
  const recordsAll = recordExceptions.length === 0 && recordException === undefined
  return (ok, valueOrError, call) => {
    if (ok) return recordResult?.(valueOrError) === true ? 'failure' : 'success'
    const verdict = verdictByDefault(ok, valueOrError, call)
    if (verdict === 'ignored' || named(valueOrError, ignoreExceptions, ignoreException)) return 'ignored'
    return recordsAll || named(valueOrError, recordExceptions, recordException) ? verdict : 'success'
  }
}

function named(
  error: unknown,
  kinds: readonly (abstract new (...args: never) => unknown)[],
  also: ((error: unknown) => boolean) | undefined,
): boolean {
  return kinds.some((kind) => error instanceof kind) || also?.(error) === true
}
