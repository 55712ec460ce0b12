import * as v from 'valibot'
import { showMs } from '../core/duration.ts'
import type { ConfigIssue } from '../core/errors.ts'
import type { Layer } from '../core/layer.ts'
import { oneOf, positiveSpan } from '../core/schema.ts'

// How long may a timeout be, before it is a mistake?
//
// Source: a default of 100 ms and a defence against configurations such as 60 s (the mission's D3). A timeout that is far too long is none:
// slots, connections and memory wait for what is broken, and run out. Whoever means it says so by a higher limit.
//
// deadline({ within: '1h' }) under the default is refused as "expected at most 60s"; with `onExcess: 'cap'` it becomes 60 s, and is told.

export const timeLimits = v.strictObject({
  /** Longer timeouts and deadlines are an excess. Default 60 s. */
  mostTimeout: v.optional(positiveSpan, '60s'),
  /** What becomes of them: the configuration is refused, or they are cut to `mostTimeout` and somebody is warned. Default `refuse`. */
  onExcess: v.optional(oneOf('refuse', 'cap'), 'refuse'),
})

/** The longest timeout that is taken for one, and what becomes of longer ones. */
export type TimeLimits = v.InferInput<typeof timeLimits>
export type TimeLimitSettings = v.InferOutput<typeof timeLimits>

/** The field of a kind that is a limit of time. */
const fields: Readonly<Record<string, string>> = { deadline: 'within', timeout: 'after' }

/** A layer whose time is too long. */
export interface Excess {
  readonly issue: ConfigIssue
  /** Its options, cut to what is allowed. */
  readonly cut: object
}

/** What is too long in `layer`, which stands at `path` of a document or a program; undefined when nothing is. */
export function excessOf({ kind, options }: Layer, path: string, limits: TimeLimitSettings): Excess | undefined {
  const field = fields[kind]
  if (field === undefined) return undefined
  const ms = (options as Readonly<Record<string, unknown>>)[field]
  const { mostTimeout } = limits
  if (typeof ms !== 'number' || ms <= mostTimeout) return undefined
  const expected = `at most ${showMs(mostTimeout)} (the limit mostTimeout)`
  return {
    issue: { path: `${path}.${field}`, value: showMs(ms), expected },
    cut: { ...options, [field]: mostTimeout },
  }
}
