import type { Outcome } from '../core/outcome.ts'

// Why has it failed, and what is to be done about it? One table for all targets.
//
// Source: "Site Reliability Engineering", ch. 21 and 22: overload of one server is worth a try elsewhere, a quota that is used up is used up
// everywhere.

/** Why an attempt has failed. */
export type Cause =
  /** It broke, or no connection could be made. */
  | 'failure'
  /** It was too slow. */
  | 'timeout'
  /** The target has too much to do. */
  | 'overload'
  /** This caller asks too much: the target may be idle. */
  | 'quota'

/** What is done about it. */
export type Action =
  /** The first retry without a wait, the others as `backoff`. */
  | 'atOnce'
  | 'backoff'
  /** Only if the target has named a time. */
  | 'asked'
  | 'never'

export const actions = ['atOnce', 'backoff', 'asked', 'never'] as const satisfies readonly Action[]

/** What is done unless the options say otherwise. */
export const usualActions = {
  failure: 'backoff',
  timeout: 'backoff',
  overload: 'backoff',
  // Waiting helps when the quota is renewed, which only the target knows; another endpoint has the same one.
  quota: 'asked',
} as const satisfies Readonly<Record<Cause, Action>>

/** The cause of a bad end; undefined for what no retry can better: a success, a refusal by a gate of ours, a caller who has left. */
export function causeOf(outcome: Outcome<unknown>): Cause | undefined {
  const { verdict, rejection } = outcome
  if (rejection !== undefined || verdict === 'success' || verdict === 'ignored') return undefined
  return verdict === 'overload' && isQuota(outcome) ? 'quota' : verdict
}

/** 429 in the words of fetch, undici and most clients, or a rate limit of ours further on: it asks too often, not at a bad moment. */
function isQuota({ ok, value, error }: Outcome<unknown>): boolean {
  const told: unknown = ok ? (error ?? value) : error
  if (typeof told !== 'object' || told === null) return false
  // A stranger's: a getter that throws must not become an error of ours.
  try {
    const { status, statusCode, code } = told as Readonly<Record<'status' | 'statusCode' | 'code', unknown>>
    return status === 429 || statusCode === 429 || code === 'rate'
  } catch {
    return false
  }
}
