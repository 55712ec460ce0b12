import { type Code, saidOf } from './codes.ts'
import { names } from './names.ts'
import { writeRetryAfter } from './retry-after.ts'

// How does a server say no, so that programs understand it?
//
// Two forms, one per API: `problem` is RFC 9457; `google` is the error model of Google's APIs, with a RetryInfo. Both carry the code, the
// time of another try, and whether there should be one; headers say the same, for callers who read no bodies.

export const errorFormats = ['problem', 'google'] as const
export type ErrorFormat = (typeof errorFormats)[number]

/** What there is to say. */
export interface ErrorFacts {
  readonly code: Code
  /** One sentence for people; nothing of what stands behind. */
  readonly detail: string
  /** When asking again makes sense, in milliseconds; 0: no estimate. */
  readonly retryAfterMs: number
  /** Asking again would do harm. */
  readonly noRetry: boolean
}

/** An answer that says no: header names in lower case. */
export interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const GOOGLE = 'type.googleapis.com/google.rpc.'

export function writeError(format: ErrorFormat, facts: ErrorFacts): ErrorAnswer {
  const { http, grpc, title } = saidOf(facts.code)
  const retryAfter = facts.noRetry ? undefined : writeRetryAfter(facts.retryAfterMs)
  const body = format === 'google' ? googleBody(http, grpc, facts) : problemBody(http, title, facts)
  return {
    status: http,
    headers: {
      'content-type': format === 'google' ? 'application/json' : 'application/problem+json',
      'content-length': String(new TextEncoder().encode(body).length),
      'cache-control': 'no-store',
      ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
      ...(facts.noRetry ? { [names.retry]: 'no' } : {}),
    },
    body,
  }
}

function problemBody(status: number, title: string, { code, detail, retryAfterMs, noRetry }: ErrorFacts): string {
  return JSON.stringify({
    type: `urn:floodwall:problem:${code}`,
    title,
    status,
    detail,
    code,
    ...(retryAfterMs > 0 && !noRetry ? { retryAfterMs: Math.ceil(retryAfterMs) } : {}),
    ...(noRetry ? { retry: 'no' } : {}),
  })
}

function googleBody(code: number, status: string, facts: ErrorFacts): string {
  const reason = facts.code.toUpperCase().replaceAll('-', '_')
  const metadata = facts.noRetry ? { retry: 'no' } : {}
  const details: object[] = [{ '@type': `${GOOGLE}ErrorInfo`, reason, domain: 'floodwall', metadata }]
  if (facts.retryAfterMs > 0 && !facts.noRetry) {
    details.push({ '@type': `${GOOGLE}RetryInfo`, retryDelay: durationOf(facts.retryAfterMs) })
  }
  return JSON.stringify({ error: { code, message: facts.detail, status, details } })
}

/** A protobuf Duration as JSON: `3.5s`. */
function durationOf(ms: number): string {
  return `${Math.ceil(ms) / 1000}s`
}
