import { isTimeout, type Outcome, type Reason, type Verdict } from 'floodwall'
import { names, saidOf } from 'floodwall/wire'
import type { FirstByte } from './first-byte.ts'
import { Problem, type Why } from './problem.ts'

// From what happened to what is said about it: undici's errors to causes that we count, causes and outcomes to what the caller is told.

/** Why an upstream gave no answer, or not all of it: closed, so fit for a label. */
export const causes = [
  'refused',
  'unresolved',
  'unreachable',
  'no-descriptors',
  'connect-timeout',
  'tls',
  'reset',
  'invalid',
  'idle',
  'timeout',
  'bad-request',
  'given-up',
  'other',
] as const
export type Cause = (typeof causes)[number]

const causeByCode: ReadonlyMap<string, Cause> = new Map<string, Cause>([
  ['ECONNREFUSED', 'refused'],
  ['ENOTFOUND', 'unresolved'],
  ['EAI_AGAIN', 'unresolved'],
  ['EHOSTUNREACH', 'unreachable'],
  ['ENETUNREACH', 'unreachable'],
  ['EADDRNOTAVAIL', 'unreachable'],
  ['EMFILE', 'no-descriptors'],
  ['ENFILE', 'no-descriptors'],
  ['ETIMEDOUT', 'connect-timeout'],
  ['UND_ERR_CONNECT_TIMEOUT', 'connect-timeout'],
  ['ECONNRESET', 'reset'],
  ['EPIPE', 'reset'],
  ['UND_ERR_SOCKET', 'reset'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'invalid'],
  ['UND_ERR_HEADERS_OVERFLOW', 'invalid'],
  ['ERR_INVALID_CHAR', 'invalid'],
  ['ERR_HTTP_INVALID_HEADER_VALUE', 'invalid'],
  ['ERR_HTTP_INVALID_STATUS_CODE', 'invalid'],
  ['ERR_INVALID_HTTP_TOKEN', 'invalid'],
  ['UND_ERR_HEADERS_TIMEOUT', 'idle'],
  ['UND_ERR_BODY_TIMEOUT', 'idle'],
  // The body of the request was taken away: by us, since its client has left or nobody wants the answer.
  ['UND_ERR_ABORTED', 'given-up'],
  ['UND_ERR_INVALID_ARG', 'bad-request'],
  ['UND_ERR_NOT_SUPPORTED', 'bad-request'],
  ['UND_ERR_REQ_CONTENT_LENGTH_MISMATCH', 'bad-request'],
])

/** Nobody wants the answer any more. Says nothing about the upstream. */
export class GivenUp extends Error {}

/** An answer that cannot be passed on, since two readers of it might disagree. */
export class BadAnswer extends Error {}

/** What kind of failure an error of undici, of a socket or of our own time limits is. */
export function causeOf(error: unknown): Cause {
  if (isTimeout(error)) return 'timeout'
  if (error instanceof GivenUp) return 'given-up'
  if (error instanceof BadAnswer) return 'invalid'
  const { code, name, message } = (error ?? {}) as { code?: unknown; name?: unknown; message?: unknown }
  // It has a code only for some faults.
  if (name === 'HTTPParserError') return 'invalid'
  // An answer that nobody has asked for ("bad response", "bad upgrade") has the code of a broken connection.
  if (code === 'UND_ERR_SOCKET' && String(message).startsWith('bad ')) return 'invalid'
  if (typeof code !== 'string') return 'other'
  return causeByCode.get(code) ?? (isAboutTls(code) ? 'tls' : 'other')
}

/** No connection that both sides would trust: OpenSSL has a code for each thing that can be wrong with a certificate. */
function isAboutTls(code: string): boolean {
  return /^(?:ERR_SSL_|ERR_TLS_|EPROTO$|CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|INVALID_|HOSTNAME_|PATH_LENGTH_)/.test(
    code,
  )
}

/** What a cause says about the upstream. */
export function verdictOfCause(cause: Cause): Verdict {
  // Of a lack of our own the server knows nothing.
  if (cause === 'bad-request' || cause === 'given-up' || cause === 'no-descriptors') return 'ignored'
  return cause === 'idle' || cause === 'timeout' ? 'timeout' : 'failure'
}

const refused = new Problem('upstream-refused', 'No connection to the server behind this gateway could be made.')
const reset = new Problem('upstream-reset', 'The server behind this gateway broke off before it had answered.')
const invalid = new Problem('upstream-invalid', 'The server behind this gateway sent an answer that is not valid HTTP.')
const slow = new Problem('upstream-timeout', 'The server behind this gateway did not answer in time.')
const late = new Problem('deadline', 'The time for this request was over before there was an answer.')
const crowded = new Problem('rejected', 'The gateway has no connection to give at the moment.', {
  code: 'no-descriptors',
})
const bad = new Problem('bad-request', 'The request cannot be passed on as it is.')

const problemByCause: Readonly<Record<Cause, Problem>> = {
  refused,
  unresolved: refused,
  unreachable: refused,
  'no-descriptors': crowded,
  'connect-timeout': slow,
  tls: refused,
  reset,
  invalid,
  idle: slow,
  timeout: slow,
  'bad-request': bad,
  'given-up': reset,
  other: reset,
}

/** The head of the answer arrived, and then it broke before anything was passed on. */
export const broken: Problem = reset
export const notValid: Problem = invalid
export const internal: Problem = new Problem('internal', 'The gateway met an error of its own.', { closing: true })
export const stalled: Problem = new Problem('upload-stalled', 'The rest of the request did not arrive in time.', {
  closing: true,
})

/** For those who would try again themselves. */
const exhausted: Problem = new Problem(
  'rejected',
  'The server behind this gateway was asked as often as it may be: do not retry.',
  { code: 'overloaded_do_not_retry', lines: [names.retry, 'no'] },
)
/** The same, for who is refused where too much is tried again already. */
const flooded: Problem = new Problem('rejected', 'Much of what comes was tried before: do not retry.', {
  code: 'overloaded_do_not_retry',
  lines: [names.retry, 'no'],
})
export const malformed: Problem = new Problem('bad-request', 'The request is not valid HTTP.', { closing: true })
export const tooLong: Problem = new Problem('body-too-large', 'The body of the request is larger than it may be.', {
  closing: true,
})

/** No time helps. */
const never: Problem = new Problem('rejected', 'This request costs more than its limit will ever allow.', {
  code: 'rate',
  status: 429,
})

const rejected = new Map<string, Problem>()

/** What the caller is told when there is no answer to pass on. `spent`: it shall not try again. */
export function problemOf(outcome: Outcome<unknown>, spent: boolean): Problem {
  const { rejection, error } = outcome
  if (spent) return rejection === undefined || outcome.noRetry ? exhausted : flooded
  if (rejection !== undefined)
    return rejection.never && rejection.reason === 'rate' ? never : problemOfReason(rejection.reason)
  if (isTimeout(error)) return error.code === 'deadline' ? late : slow
  return problemByCause[causeOf(error)]
}

/** The same for those who are trusted: which layer, and why; of a time that nobody has asked for, that too. */
export function whyOf({ rejection, error }: Outcome<unknown>, firstByte: FirstByte): Why {
  if (rejection !== undefined) return { layer: rejection.gate.path, why: rejection.why }
  if (isTimeout(error)) {
    const { code, path, afterMs } = error
    const why =
      (code === 'timeout' ? firstByte.excuse(afterMs) : undefined) ?? `no answer within ${Math.round(afterMs)} ms`
    return { layer: path, why }
  }
  return { why: causeOf(error) }
}

/** The reason as a code, and nothing of which layer said so or why: that is for the admin page. */
function problemOfReason(reason: Reason): Problem {
  if (reason === 'deadline') return late
  let problem = rejected.get(reason)
  if (problem === undefined) {
    const { http: status } = saidOf(reason)
    problem = new Problem('rejected', 'The server behind this gateway is not asked at the moment.', {
      code: reason,
      status,
    })
    rejected.set(reason, problem)
  }
  return problem
}

/** `Retry-After` is in whole seconds, at least one; none where asking again is in vain. */
export function retryAfterOf(outcome: Outcome<unknown>, spent: boolean): string | undefined {
  const { rejection } = outcome
  if (spent || rejection === undefined || rejection.never || rejection.reason === 'deadline') return undefined
  return String(Math.max(1, Math.ceil(outcome.retryAfterMs / 1000)))
}

/** The same in milliseconds, for who came too often: when his own limit lets him in again is known, where other times are guesses. 0: none. */
export function finerOf(outcome: Outcome<unknown> | undefined): number {
  const { rejection, retryAfterMs = 0 } = outcome ?? {}
  return rejection?.reason === 'rate' ? retryAfterMs : 0
}

/** The lines of an answer that is passed on say so, where the server has not said it itself. */
export function forbidRetry(lines: string[]): void {
  if (!lines.includes(names.retry)) lines.push(names.retry, 'no')
}
