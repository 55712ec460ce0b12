import { type Call, type Refuser, Rejection, showMs } from 'floodwall'

// Is there time enough to ask a server?
//
// It is told what is left, less what the way back costs. With less than a millisecond to tell it would work for nobody, so it is not asked.
//
//   12 ms left: the server is told 7        5 ms left: a refusal, with the reason `deadline`

/** Taken off what is left: the server's answer has to come back. */
export const MARGIN_MS = 5
/** The least that can be told. */
const LEAST_MS = 1

const way: Refuser = {
  kind: 'wire',
  path: 'wire',
  explain: ({ value }) => `${showMs(value)} left, less ${showMs(MARGIN_MS)} for the way back: too late to send it`,
}

/** Undefined: in time. */
export function tooLate({ deadline, remainingMs }: Call): Rejection | undefined {
  if (deadline === Number.POSITIVE_INFINITY || remainingMs - MARGIN_MS >= LEAST_MS) return undefined
  return new Rejection(way, 'deadline', 0, remainingMs, MARGIN_MS + LEAST_MS, true)
}
