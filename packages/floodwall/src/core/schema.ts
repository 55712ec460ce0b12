import * as v from 'valibot'
import { type Duration, toMs } from './duration.ts'
import { ConfigError } from './errors.ts'

// The words that options are written in. Every schema says what it expected in one phrase, so that an error can name the field, the value
// and the expectation. Nothing is converted in silence: "0.5" is not 0.5.

/** A schema from what users write to what the code reads. */
export type Schema<I = unknown, O = unknown> = v.GenericSchema<I, O>

const SPAN = 'a span such as 250 (ms), "250ms" or "1.5s"'
/** A thousand years: longer is a typing error, and sums of spans stay exact. */
const LONGEST_MS = 31_536_000_000_000

function span(least: (ms: number) => boolean, expected: string): v.GenericSchema<Duration, number> {
  const valid = (input: unknown): boolean => {
    const ms = toMs(input)
    return least(ms) && ms <= LONGEST_MS
  }
  return v.pipe(
    v.custom<Duration>(valid, expected),
    v.transform((given: Duration) => toMs(given)),
  )
}

/** A span above 0, as {@link Duration}; read as milliseconds. */
export const positiveSpan: v.GenericSchema<Duration, number> = span((ms) => ms > 0, `${SPAN}, above 0`)

/** A span of 0 or more. */
export const spanOrZero: v.GenericSchema<Duration, number> = span((ms) => ms >= 0, SPAN)

function number(valid: (n: number) => boolean, expected: string): v.GenericSchema<number, number> {
  return v.custom<number>((input) => typeof input === 'number' && Number.isFinite(input) && valid(input), expected)
}

/** A share in (0, 1]. */
export const share: v.GenericSchema<number, number> = number(
  (n) => n > 0 && n <= 1,
  'a share above 0 and at most 1 (0.5 is 50 %)',
)

/** A share in [0, 1]. */
export const shareOrZero: v.GenericSchema<number, number> = number(
  (n) => n >= 0 && n <= 1,
  'a share from 0 to 1 (0.5 is 50 %)',
)

/** A whole number from 1. */
export const count: v.GenericSchema<number, number> = number(
  (n) => Number.isInteger(n) && n >= 1 && n <= 1e9,
  'a whole number from 1',
)

/** A whole number from 0. */
export const countOrZero: v.GenericSchema<number, number> = number(
  (n) => Number.isInteger(n) && n >= 0 && n <= 1e9,
  'a whole number from 0',
)

/** A finite number of 0 or more. */
export const amountOrZero: v.GenericSchema<number, number> = number((n) => n >= 0 && n <= 1e12, 'a number of 0 or more')

/** A finite number of 1 or more. */
export const factor: v.GenericSchema<number, number> = number((n) => n >= 1 && n <= 1000, 'a number from 1 to 1000')

/** One of some words. */
export function oneOf<const W extends readonly string[]>(...words: W): v.GenericSchema<W[number], W[number]> {
  return v.picklist(words, `one of ${words.map((w) => `"${w}"`).join(', ')}`)
}

/** What `schema` makes of `input`. Throws a {@link ConfigError} that lists every fault under `path`. */
export function parse<O>(schema: v.GenericSchema<unknown, O>, input: unknown, path: string): O {
  const result = v.safeParse(schema, input)
  if (result.success) return result.output
  throw new ConfigError(
    result.issues.map((issue) => ({
      path: pathOf(issue, path),
      // Of a field that should not be there, valibot reports the name.
      value: show(issue.expected === 'never' ? issue.path?.at(-1)?.value : issue.input),
      expected: expectation(issue, schema),
    })),
  )
}

function pathOf(issue: v.BaseIssue<unknown>, root: string): string {
  let path = root
  for (const step of issue.path ?? []) {
    const key = step.key
    path += typeof key === 'number' ? `[${key}]` : `${path === '' ? '' : '.'}${String(key)}`
  }
  return path
}

function expectation(issue: v.BaseIssue<unknown>, schema: object): string {
  if (issue.type === 'strict_object') {
    if (issue.expected === 'never') return `no such field${knownFields(issue, schema)}`
    if (issue.expected === 'Object') return 'an object of options'
    return 'this field (it is required)'
  }
  if (issue.kind === 'schema' && issue.message.startsWith('Invalid type')) return issue.expected ?? 'another type'
  return issue.message
}

/** The fields of the object in which the unknown one stood: down the schema, along the issue's path. */
function knownFields(issue: v.BaseIssue<unknown>, schema: object): string {
  let at: { readonly entries?: Readonly<Record<string, object>>; readonly wrapped?: object } | undefined = schema
  for (const { key } of issue.path?.slice(0, -1) ?? []) {
    at = at?.entries?.[String(key)]
    while (at?.wrapped !== undefined) at = at.wrapped
  }
  return at?.entries === undefined ? '' : `; known: ${Object.keys(at.entries).join(', ')}`
}

const LONGEST_SHOWN = 80

/** A value for an error message: short, in one line, no credentials. */
export function show(value: unknown): string {
  let text: string
  if (typeof value === 'string') text = JSON.stringify(value)
  else if (typeof value === 'function') text = 'a function'
  else if (typeof value === 'object' && value !== null) text = showObject(value)
  else text = String(value)
  text = text.replace(/(\/\/)[^/\s"]*@/g, '$1***@')
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text
}

function showObject(value: object): string {
  try {
    return JSON.stringify(value) ?? 'an object'
  } catch {
    return 'an object'
  }
}
