import { isTimeout } from '../core/errors.ts'
import type { Reason } from '../core/gate.ts'
import type { Outcome, Verdict } from '../core/outcome.ts'

// What does a caller over HTTP or gRPC hear of what happened here?
//
// One table for servers, gateway and clients. A refusal is never 500: nothing ran, and the caller may go elsewhere. 429 is for who asks too
// often, 503 for who asks at a bad moment, 504 for time that is over.

/** Why there is no proper answer: a layer's reason, or what became of the work. */
export type Code =
  | Reason
  /** An attempt took too long. */
  | 'timeout'
  /** Retries were made here already, or would do harm: nobody further out should retry. */
  | 'overloaded_do_not_retry'
  | 'internal'

/** The names of gRPC status codes that are used here, with their numbers. */
export const grpcCodes = {
  CANCELLED: 1,
  DEADLINE_EXCEEDED: 4,
  RESOURCE_EXHAUSTED: 8,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const
export type GrpcStatus = keyof typeof grpcCodes

interface Said {
  readonly http: number
  readonly grpc: GrpcStatus
  readonly title: string
}

const busy: Said = { http: 503, grpc: 'UNAVAILABLE', title: 'Not now' }
const late: Said = { http: 504, grpc: 'DEADLINE_EXCEEDED', title: 'The time is over' }

const table: Readonly<Partial<Record<Code, Said>>> = {
  rate: { http: 429, grpc: 'RESOURCE_EXHAUSTED', title: 'Too many requests' },
  overloaded: { http: 503, grpc: 'RESOURCE_EXHAUSTED', title: 'Overloaded' },
  full: { http: 503, grpc: 'RESOURCE_EXHAUSTED', title: 'Busy' },
  'queue-full': { http: 503, grpc: 'RESOURCE_EXHAUSTED', title: 'Busy' },
  'queue-timeout': { http: 503, grpc: 'RESOURCE_EXHAUSTED', title: 'Busy' },
  deadline: late,
  timeout: late,
  overloaded_do_not_retry: { http: 503, grpc: 'UNAVAILABLE', title: 'Overloaded; do not retry' },
  internal: { http: 500, grpc: 'INTERNAL', title: 'Internal error' },
}

/** What is said of `code`; reasons that have no line of their own are "not now". */
export function saidOf(code: Code): Said {
  return table[code] ?? busy
}

/** The code of an outcome that has no answer to pass on; undefined for a work's own error, which is its own business. */
export function codeOf(outcome: Outcome<unknown>): Code | undefined {
  if (outcome.rejection !== undefined) return outcome.rejection.reason
  if (isTimeout(outcome.error)) return outcome.error.code
  return undefined
}

/**
 * What a status says about the server that answered: 429, and 503 that asks for a pause or says not to retry, are overload; 500, 502, 503 and
 * 504 mean that it broke; all else is an answer, since a 404 is the right one to a wrong question.
 */
export function verdictOfStatus(status: number, asksForPause: boolean): Verdict {
  if (status < 429) return 'success'
  if (status === 429 || (status === 503 && asksForPause)) return 'overload'
  return status === 500 || status === 502 || status === 503 || status === 504 ? 'failure' : 'success'
}
