import { names } from './names.ts'
import { pauseOfRateLimit, rateLimitNames } from './rate-limit.ts'
import { readRetryAfter } from './retry-after.ts'

// What does a server that says no wish its callers to do? Its word counts more than our backoff.
//
// Read from headers (`Retry-After`, `x-floodwall-retry: no`, `grpc-retry-pushback-ms`, `RateLimit` where nothing is left) and from error bodies
// in both forms. A RetryInfo may ride on any error, a 401 as well as a 429.

/** A server's wish. */
export interface Pushback {
  /** Milliseconds until another try makes sense; 0: it did not say. */
  readonly retryAfterMs: number
  /** Do not try again, whatever your policy says. */
  readonly noRetry: boolean
}

export const noWish: Pushback = { retryAfterMs: 0, noRetry: false }

/** Nobody may ask for more than a day. */
const LONGEST_MS = 86_400_000
/** Error bodies are short; what is longer is not read. */
const MOST_BODY = 65_536
const DURATION = /^(\d{1,9})(?:\.(\d{1,9}))?s$/
const PUSHBACK = /^-?\d{1,10}$/

/** The value of a header of an answer by its lower-case name; an array for several lines, null or undefined for none. */
type AnswerHeader = (name: string) => string | readonly string[] | null | undefined

/**
 * From the headers of an answer. `nowMs`: Unix time here, for dates of servers that do not say what time it is there. The common answer has
 * none of these headers, and costs four look-ups.
 */
export function pushbackOfHeaders(header: AnswerHeader, nowMs: number): Pushback {
  const after = header('retry-after')
  const grpc = header('grpc-retry-pushback-ms')
  const retry = header(names.retry)
  const limit = header(rateLimitNames.limit)
  if (after == null && grpc == null && retry == null && limit == null) return noWish
  const wait = grpc == null ? 0 : pauseMs(grpc)
  const noRetry = retry === 'no' || wait < 0
  // It counts where `Retry-After` is missing, and only there (draft-ietf-httpapi-ratelimit-headers-11, 7).
  const pause = after == null ? spentMs(limit) : readRetryAfter(one(after), nowMs, one(header('date')))
  const longer = Math.max(pause, wait)
  return longer === 0 && !noRetry ? noWish : { retryAfterMs: longer, noRetry }
}

/** Two lines of a header say nothing. */
function one(value: string | readonly string[] | null | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Of `RateLimit` several lines are one list. */
function spentMs(limit: string | readonly string[] | null | undefined): number {
  if (limit == null) return 0
  return Math.min(pauseOfRateLimit(typeof limit === 'string' ? limit : limit.join(',')), LONGEST_MS)
}

/** gRPC A6: negative, or not to be read, means "do not retry": -1 here. */
function pauseMs(value: string | readonly string[]): number {
  const ms = typeof value === 'string' && PUSHBACK.test(value) ? Number(value) : -1
  return ms < 0 ? -1 : Math.min(ms, LONGEST_MS)
}

/** From the body of an error, in either form; no wish when it is neither. Never throws. */
export function pushbackOfBody(text: string): Pushback {
  if (text.length > MOST_BODY) return noWish
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return noWish
  }
  if (!isObject(value)) return noWish
  return isObject(value['error']) ? ofGoogle(value['error']) : ofProblem(value)
}

/** The wish of both: the longer wait, and "no" from either. */
export function both(a: Pushback, b: Pushback): Pushback {
  return { retryAfterMs: Math.max(a.retryAfterMs, b.retryAfterMs), noRetry: a.noRetry || b.noRetry }
}

/** The wish of a whole answer. Its header has whole seconds: a body that names a time within the last of them is what was meant. */
export function pushbackOfBoth(headers: Pushback, body: Pushback): Pushback {
  const rounded = headers.retryAfterMs - body.retryAfterMs
  const meant = body.retryAfterMs > 0 && rounded > 0 && rounded < 1000
  return both(meant ? { ...headers, retryAfterMs: 0 } : headers, body)
}

function ofProblem({ retryAfterMs, retry, code }: Readonly<Record<string, unknown>>): Pushback {
  const noRetry = retry === 'no' || code === 'overloaded_do_not_retry'
  const wait = typeof retryAfterMs === 'number' && retryAfterMs > 0 ? Math.min(retryAfterMs, LONGEST_MS) : 0
  return { retryAfterMs: wait, noRetry }
}

function ofGoogle({ details }: Readonly<Record<string, unknown>>): Pushback {
  if (!Array.isArray(details)) return noWish
  let wish = noWish
  for (const detail of details.slice(0, 32) as unknown[]) {
    if (!isObject(detail)) continue
    const type = detail['@type']
    if (type === 'type.googleapis.com/google.rpc.RetryInfo') {
      wish = both(wish, { retryAfterMs: durationMs(detail['retryDelay']), noRetry: false })
    } else if (type === 'type.googleapis.com/google.rpc.ErrorInfo' && detail['domain'] === 'floodwall') {
      const { metadata, reason } = detail
      const no = (isObject(metadata) && metadata['retry'] === 'no') || reason === 'OVERLOADED_DO_NOT_RETRY'
      wish = both(wish, { retryAfterMs: 0, noRetry: no })
    }
  }
  return wish
}

function durationMs(value: unknown): number {
  const parts = typeof value === 'string' ? DURATION.exec(value) : null
  return parts === null ? 0 : Math.min(Number(`${parts[1]}.${parts[2] ?? '0'}`) * 1000, LONGEST_MS)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
