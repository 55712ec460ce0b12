import * as v from 'valibot'
import { shareOrZero, spanOrZero } from '../core/schema.ts'

// What is wrong with a server, from when on?
//
// A schedule is a list of conditions, each of which holds until the next one: what is written there is wrong, and nothing else.

/** Times as slow as usual; 0.5 is twice as fast. */
const pace = v.custom<number>(
  (input) => typeof input === 'number' && input > 0 && input <= 1e6,
  'a number above 0 (5: five times as slow)',
)

const wrongs = {
  /** Connections are refused, and those that were open are reset: nothing runs. */
  down: v.optional(v.literal(true, 'true')),
  /** Everything takes so many times as long. */
  slow: v.optional(pace),
  /** This share of the requests fails. */
  errors: v.optional(shareOrZero),
  /** What a request that fails takes. Default: as long as an answer. */
  errorsTake: v.optional(spanOrZero),
  /** This share is taken in and never answered; each keeps its worker, or its place, until the condition changes. */
  hangs: v.optional(shareOrZero),
  /** This share never arrives: no answer, no connection, no load. */
  blackhole: v.optional(shareOrZero),
}

/** What is not named is well. */
const wrong = v.strictObject(wrongs)

type Wrong = v.InferOutput<typeof wrong>

const SHARES = 'errors, hangs and blackhole of at most 1 together'

/** What is wrong, without a time. */
export const conditionOptions = v.pipe(
  wrong,
  v.check((given) => sharesFit(given), SHARES),
  v.transform((given) => conditionOf(given)),
)

/** @see conditionOptions */
export type ConditionOptions = v.InferInput<typeof wrong>

export const fault = v.pipe(
  v.strictObject({
    /** Counts from the beginning of the world. */
    from: spanOrZero,
    /** Nothing is wrong any more. */
    well: v.optional(v.literal(true, 'true')),
    ...wrongs,
  }),
  // A line that says nothing is a misspelling more often than a recovery.
  v.check(
    ({ from: _from, well, ...given }) => (well === true) !== saysSomething(given),
    'something wrong, or well: true',
  ),
  v.check((given) => sharesFit(given), SHARES),
  v.transform(({ from, well: _well, ...given }): Fault => ({ from, condition: conditionOf(given) })),
)

/** A schedule. */
export const faults: v.GenericSchema<readonly v.InferInput<typeof fault>[], readonly Fault[]> = v.array(
  fault,
  'a list of { from, ... }',
)

/** A line of a schedule: its condition holds until the next one's. */
export interface Fault {
  readonly from: number
  readonly condition: Condition
}

/** What is wrong, in a server's own terms. */
export interface Condition {
  readonly down: boolean
  readonly slow: number
  readonly errors: number
  readonly errorsTake: number | undefined
  readonly hangs: number
  readonly blackhole: number
}

function saysSomething(given: Wrong): boolean {
  return Object.values(given).some((value) => value !== undefined)
}

function sharesFit({ errors = 0, hangs = 0, blackhole = 0 }: Wrong): boolean {
  return errors + hangs + blackhole <= 1 + 1e-9
}

function conditionOf(given: Wrong): Condition {
  const { down = false, slow = 1, errors = 0, errorsTake, hangs = 0, blackhole = 0 } = given
  return { down, slow, errors, errorsTake, hangs, blackhole }
}

/** Nothing is wrong. */
export const WELL: Condition = conditionOf({})

/** What becomes of a request that is worked on. */
export type Fate = 'answers' | 'fails' | 'hangs'

/** Whether a request is lost on its way, by its dice. */
export function vanishesIn({ blackhole }: Condition, dice: number): boolean {
  return dice < blackhole
}

/** What becomes of one that was not, by the same dice. */
export function fateIn({ errors, hangs, blackhole }: Condition, dice: number): Fate {
  if (dice < blackhole || dice >= blackhole + hangs + errors) return 'answers'
  return dice < blackhole + hangs ? 'hangs' : 'fails'
}
