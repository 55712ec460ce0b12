import {
  IntervalFunction,
  type Resilience4jOptions,
  type Resilience4jTransition,
} from '../../../src/compat/resilience4j/index.ts'
import { type VectorCase, Vectors } from '../../support/vectors.ts'

// The recordings of resilience4j's circuit breaker: their configurations as our options, and their steps by name.

type Interval =
  | { type: 'exponentialBackoff'; initialIntervalMillis: number; multiplier: number; maxIntervalMillis?: number }
  | { type: 'table'; valuesMillis: readonly number[] }
  | { type: 'linear'; perAttemptMillis: number }
type Transition = { open?: true; openForMillis?: number; openUntil_t_ms?: number }

/** Their own names; what a recording can write down of a function is data there. */
type Config = Omit<Resilience4jOptions, 'waitIntervalFunctionInOpenState' | 'transitionOnResult'> & {
  readonly waitIntervalFunctionInOpenState?: Interval
  readonly transitionOnResult?: Readonly<Record<string, Transition>>
}
type Row = readonly [
  ...(readonly [atMs: number, op: string, arg: number | null, permitted: boolean | null, state: string]),
  ...(readonly [failureRate: number, slowCallRate: number, buffered: number, failed: number, slow: number]),
  ...(readonly [notPermitted: number, slowFailed: number, extra?: Extra]),
]
interface Extra {
  readonly events?: readonly string[]
  readonly throws?: string
}
export type Recorded = VectorCase<Config, Row> & { readonly createdAt_t_ms?: number }

export const vectors = new Vectors<Config, Row>('resilience4j-circuit-breaker.json')
export const cases = vectors.cases as readonly Recorded[]

export const isTagged = ({ tags = [] }: Recorded, ...some: readonly string[]): boolean =>
  some.some((tag) => tags.includes(tag))

export interface Step {
  readonly at: number
  readonly op: string
  readonly arg: number
  readonly permitted: boolean | null
  readonly state: string
  /** failureRate, slowCallRate, buffered, failed, slow, notPermitted, slowFailed. */
  readonly numbers: readonly number[]
  readonly events: readonly string[]
  readonly throws: string | undefined
}

/** What a breaker shows after a step. */
export type Shown = Omit<Step, 'at' | 'op' | 'arg'>

export function stepOf([at, op, arg, permitted, state, ...rest]: Row): Step {
  const numbers = rest.filter((value) => typeof value === 'number')
  const { events = [], throws } = (rest.at(7) ?? {}) as Extra
  return { at, op, arg: arg ?? 0, permitted, state, numbers: numbers.map(Math.fround), events, throws }
}

export function optionsOf({ config }: Recorded): Resilience4jOptions {
  const { waitIntervalFunctionInOpenState: interval, transitionOnResult: transitions, ...options } = config
  return {
    ...options,
    ...(interval === undefined ? {} : { waitIntervalFunctionInOpenState: intervalOf(interval) }),
    ...(transitions === undefined
      ? {}
      : { transitionOnResult: ({ result }) => transitionOf(transitions[String(result)]) }),
  }
}

function intervalOf(interval: Interval): IntervalFunction {
  if (interval.type === 'linear') return (attempt) => interval.perAttemptMillis * attempt
  if (interval.type === 'table') {
    const { valuesMillis } = interval
    return (attempt) => valuesMillis[Math.min(attempt, valuesMillis.length) - 1] as number
  }
  const { initialIntervalMillis, multiplier, maxIntervalMillis } = interval
  return IntervalFunction.ofExponentialBackoff(initialIntervalMillis, multiplier, maxIntervalMillis)
}

function transitionOf(to: Transition | undefined): Resilience4jTransition {
  if (to?.openForMillis !== undefined) return { waitMs: to.openForMillis }
  return to?.openUntil_t_ms === undefined ? to?.open : { untilMs: to.openUntil_t_ms }
}
