import type { Criticality } from '../core/init.ts'
import { readAttempt, readAttempts } from './attempts.ts'
import { readBaggage } from './baggage.ts'
import { COHORT_KEY, readCohort, readStandsFor } from './cohort.ts'
import { readCriticality } from './criticalities.ts'
import { names } from './names.ts'
import { type HeaderReader, readTimeout } from './timeouts.ts'

// What does a caller say about its call, and how much of it is believed?
//
// A stranger who may write these headers jumps the queue, has work done that nobody waits for, or switches retries off. So an edge believes
// them from whom it is told to trust, and from nobody else; and of those nothing that is not by the grammar.

/** What came with a request. */
export interface Inbound {
  /** Milliseconds that the caller still waits; undefined when it did not say. */
  readonly within: number | undefined
  readonly criticality: Criticality | undefined
  /** Where it stands in its class, 0 to below 128. */
  readonly cohort: number | undefined
  /** So many calls it stands for. */
  readonly standsFor: number
  /** 0: the first try. */
  readonly attempt: number
  /** First tries, second tries ... of the caller's last seconds; empty when it did not say. */
  readonly attempts: readonly number[]
  /** Headers whose value makes no sense, for a counter: what they should have said is as if it were not there. */
  readonly malformed: readonly string[]
}

export interface InboundOptions {
  /** The peer is believed. */
  readonly trusted: boolean
  /** A caller waits at most so long, whatever it says; milliseconds. */
  readonly mostMs: number
  /** The peer may call its calls `CRITICAL_PLUS`; otherwise they are `CRITICAL`. */
  readonly criticalPlus: boolean
}

/** The key of the criticality in W3C Baggage. */
export const CRITICALITY_KEY = 'floodwall.criticality'

const none: readonly never[] = []
const stranger: Inbound = {
  within: undefined,
  criticality: undefined,
  cohort: undefined,
  standsFor: 1,
  attempt: 0,
  attempts: none,
  malformed: none,
}

export function readInbound(header: HeaderReader, { trusted, mostMs, criticalPlus }: InboundOptions): Inbound {
  if (!trusted) return stranger
  const timeout = readTimeout(header, mostMs)
  const malformed: string[] = [...timeout.malformed]
  const criticality = criticalityOf(header, malformed)
  return {
    within: timeout.ms,
    criticality: criticality === 'criticalPlus' && !criticalPlus ? 'critical' : criticality,
    cohort: one(header, names.cohort, readCohort, malformed) ?? inBaggage(header, COHORT_KEY, readCohort),
    standsFor: one(header, names.standsFor, readStandsFor, malformed) ?? 1,
    attempt: one(header, names.attempt, readAttempt, malformed) ?? 0,
    attempts: one(header, names.attempts, readAttempts, malformed) ?? none,
    malformed,
  }
}

function criticalityOf(header: HeaderReader, malformed: string[]): Criticality | undefined {
  const said = one(header, names.criticality, readCriticality, malformed)
  return said ?? inBaggage(header, CRITICALITY_KEY, readCriticality)
}

/** Others write there, too: what makes no sense is not counted. */
function inBaggage<T>(header: HeaderReader, key: string, read: (text: string) => T | undefined): T | undefined {
  const baggage = header(names.baggage)
  if (typeof baggage !== 'string') return undefined
  const text = readBaggage(baggage, key)
  return text === undefined ? undefined : read(text)
}

function one<T>(
  header: HeaderReader,
  name: string,
  read: (text: string) => T | undefined,
  malformed: string[],
): T | undefined {
  const value = header(name)
  if (value === undefined) return undefined
  const found = typeof value === 'string' ? read(value) : undefined
  if (found === undefined) malformed.push(name)
  return found
}
