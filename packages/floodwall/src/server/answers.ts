import type { ServerResponse } from 'node:http'
import type { Call } from '../core/call.ts'
import { isRejected, isTimeout } from '../core/errors.ts'
import { forgetMadeGood, isExhausted } from '../core/exhausted.ts'
import { failed, type Outcome } from '../core/outcome.ts'
import { type Code, codeOf } from '../wire/codes.ts'
import { type ErrorAnswer, type ErrorFormat, writeError } from '../wire/error-body.ts'

// What does a caller hear when there is no proper answer?
//
// The code, when to ask again and whether to; not which layer said no, nor what stands behind: that is for the operator, who reads `inspect()`.

const sentences: Readonly<Partial<Record<Code, string>>> = {
  rate: 'Requests come too often.',
  closed: 'The server is going away; another one may answer.',
  deadline: 'The time that this request was given is over.',
  timeout: 'The request took too long.',
  overloaded_do_not_retry: 'The server is overloaded; a retry would make it worse.',
  internal: 'The request failed.',
}

/** So many answers are kept; times of another try differ without end. With two digits of each, those from a second to two minutes are 183. */
const MOST_KEPT = 512

/** Answers in the format of one API, written once each: under a flood the same few are said again and again. */
export class Answers {
  private readonly format: ErrorFormat
  private readonly kept = new Map<string, ErrorAnswer>()

  constructor(format: ErrorFormat) {
    this.format = format
  }

  of(code: Code, retryAfterMs: number, noRetry: boolean): ErrorAnswer {
    const said = noRetry ? 'overloaded_do_not_retry' : code
    const ms = noRetry ? 0 : twoDigits(retryAfterMs)
    const key = `${said} ${ms}`
    const known = this.kept.get(key)
    if (known !== undefined) return known
    const detail = sentences[said] ?? 'The request cannot be taken now.'
    const answer = writeError(this.format, { code: said, detail, retryAfterMs: ms, noRetry })
    if (this.kept.size >= MOST_KEPT) this.kept.clear()
    this.kept.set(key, answer)
    return answer
  }

  /** It costs more than its limit can ever save up: to try again would be in vain. */
  private neverByRate(): ErrorAnswer {
    const detail = 'This request costs more than its limit will ever allow.'
    return writeError(this.format, { code: 'rate', detail, retryAfterMs: 0, noRetry: true })
  }

  /** The answer to an outcome without one. */
  ofOutcome(call: Call | null, outcome: Outcome<unknown>): ErrorAnswer {
    const { noRetry, retryAfterMs, error, rejection } = outcome
    if (rejection !== undefined && rejection.never && rejection.reason === 'rate') return this.neverByRate()
    const code = codeOf(outcome) ?? codeOfError(error) ?? 'internal'
    return this.of(code, retryAfterMs || pauseOf(error), noRetry || (call !== null && isExhausted(call, outcome)))
  }

  /**
   * The answer to an error that a handler let go: to a refusal, to an end of time, and to what retries were given up with. Undefined for
   * everybody else's errors, which are the framework's to answer.
   */
  ofError(call: Call | undefined, error: unknown): ErrorAnswer | undefined {
    const code = codeOfError(error)
    if (call !== undefined) forgetMadeGood(call, error)
    const noRetry = wantsNoRetry(error) || (call !== undefined && isExhausted(call, failed(error)))
    return code === undefined && !noRetry ? undefined : this.of(code ?? 'internal', pauseOf(error), noRetry)
  }
}

/**
 * Whole milliseconds with two digits that say something, rounded up: 1234 is 1300. These times are estimates and are spread at random, so that exact
 * ones would make every refusal one of its own.
 */
function twoDigits(ms: number): number {
  let step = 1
  while (ms > step * 100) step *= 10
  return Math.ceil(ms / step) * step
}

/** `answer`, after which the connection is closed: HTTP/1.1 alone knows the header. */
export function closing({ status, headers, body }: ErrorAnswer): ErrorAnswer {
  return { status, headers: { ...headers, connection: 'close' }, body }
}

function codeOfError(error: unknown): Code | undefined {
  return isRejected(error) || isTimeout(error) ? error.code : undefined
}

function pauseOf(error: unknown): number {
  return isRejected(error) ? error.retryAfterMs : 0
}

function wantsNoRetry(error: unknown): boolean {
  // A stranger's: a getter that throws must not become an error of ours.
  try {
    return typeof error === 'object' && error !== null && (error as { noRetry?: unknown }).noRetry === true
  } catch {
    return false
  }
}

/** What a handler said of an answer that it did not get to write; what else it has set (CORS, a request's id) stays. */
const OF_THE_BODY = [
  ...['content-encoding', 'content-language', 'content-range', 'content-disposition', 'transfer-encoding', 'trailer'],
  ...['etag', 'last-modified', 'expires', 'accept-ranges'],
]

/** Writes `answer`; nothing may have been written before. */
export function writeAnswer(response: ServerResponse, { status, headers, body }: ErrorAnswer): void {
  // Somebody has begun another answer: a second head would throw, in the middle of who is woken by whom.
  if (response.headersSent) return void response.destroy()
  // A refusal has none yet, and asking costs less than removing.
  if (response.getHeaderNames().length > 0) for (const name of OF_THE_BODY) response.removeHeader(name)
  // HTTP/2 has none, and warns of who looks at it.
  if (response.req.httpVersionMajor < 2 && response.statusMessage) response.statusMessage = ''
  response.writeHead(status, headers)
  response.end(response.req.method === 'HEAD' ? undefined : body)
}
