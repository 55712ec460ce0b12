import type { SentinelBreaker, SentinelRule, SentinelState } from '../../../src/compat/sentinel/index.ts'
import { Vectors } from '../../support/vectors.ts'

// The recordings of Sentinel's circuit breaker: 55 of one breaker, driven directly, and 16 of a resource with its rules.

export type State = 'Closed' | 'HalfOpen' | 'Open'
export type Transition = { from: State; to: State; snapshot?: number; next_retry_ms?: number }

type TryPass = readonly [atMs: number, op: 'try_pass', id: number, passed: boolean, state: State, Transition[]?]
type Complete = readonly [
  atMs: number,
  op: 'complete',
  id: number,
  rtMs: number,
  failed: boolean,
  state: State,
  total: number,
  bad: number,
  goodProbes: number,
  transitions?: Transition[],
]
type BlockedExit = readonly [atMs: number, op: 'blocked_exit', id: number, state: State, Transition[]?]
export type Step = TryPass | Complete | BlockedExit

type Seen = readonly (readonly [id: string, state: State, total?: number, bad?: number])[]
type Told = readonly ({ rule: string } & Omit<Transition, 'next_retry_ms'>)[]
type At = { readonly t_ms: number; readonly breakers: Seen; readonly events?: Told }
export type EntryStep = At &
  (
    | { op: 'enter'; id: number; pass: boolean; blocked_by?: string }
    | { op: 'exit'; id: number; rt_ms: number; error: boolean }
    | { op: 'load_rules' | 'load_rules_of_resource'; rules: SentinelRule[]; changed: boolean }
  )

export interface BreakerCase {
  readonly name: string
  readonly description: string
  readonly level: 'breaker'
  readonly created_ms: number
  readonly rule: SentinelRule
  readonly config: undefined
  readonly steps: readonly Step[]
}

export interface EntryCase {
  readonly name: string
  readonly description: string
  readonly level: 'entry'
  readonly config: undefined
  readonly steps: readonly EntryStep[]
}

export const vectors = new Vectors<undefined, Step | EntryStep>('sentinel-circuit-breaker.json')
const cases = vectors.cases as unknown as readonly (BreakerCase | EntryCase)[]
export const breakerCases = cases.filter((c): c is BreakerCase => c.level === 'breaker')
export const entryCases = cases.filter((c): c is EntryCase => c.level === 'entry')

export function breakerCase(name: string): BreakerCase {
  return found(breakerCases, name)
}

export function entryCase(name: string): EntryCase {
  return found(entryCases, name)
}

function found<C extends { readonly name: string }>(among: readonly C[], name: string): C {
  const one = among.find((c) => c.name === name)
  if (one === undefined) throw new Error(`there is no case "${name}"`)
  return one
}

const STATES = { closed: 'Closed', open: 'Open', halfOpen: 'HalfOpen' } as const

/** A state by Sentinel's name. */
export const named = (state: string): State => STATES[state as SentinelState]

/** What a change looked like in the recording; `breaker` is in its new state. */
export function transition(breaker: SentinelBreaker, from: SentinelState): Transition {
  const change = { from: named(from), to: named(breaker.state) }
  return breaker.state === 'open'
    ? { ...change, snapshot: breaker.openedBy, next_retry_ms: breaker.nextRetryMs }
    : change
}
