import { type ServerResponse, STATUS_CODES } from 'node:http'
import { type ConfigIssue, isConfigError } from '../core/errors.ts'
import { messageOf } from '../core/event.ts'
import type { Refused } from './door.ts'

// What do operators hear? JSON, without anything that a browser could keep, run or put in a frame, and without credentials: what a source says
// when it cannot be reached is shown, and its address may have a password in it.

export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

const guarded = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** Writes `answer`; to `HEAD` its head alone. */
export function sendAnswer(response: ServerResponse, { status, type, body, headers }: Answer, head: boolean): void {
  response.writeHead(status, {
    ...{ 'content-type': type, 'content-length': Buffer.byteLength(body) },
    ...guarded,
    ...headers,
  })
  response.end(head ? undefined : body)
}

/** Up to the last `@` before the path: a password may have one, too. What follows `//` has no slash, so that each character is looked at twice at most. */
const USERINFO = /\/\/[^\s/]+@/g
const masked = (_: string, value: unknown): unknown =>
  typeof value === 'string' ? value.replace(USERINFO, '//***@') : value

export function jsonAnswer(status: number, value: object, type = 'application/json'): Answer {
  return { status, type, body: `${JSON.stringify(value, masked, 2)}\n` }
}

/** A no, as RFC 9457 writes it. */
export class Refusal extends Error {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** What else there is to say, in fields. */
  readonly facts: object

  constructor(status: number, why: string, headers: Readonly<Record<string, string>> = {}, facts: object = {}) {
    super(why)
    this.status = status
    this.headers = headers
    this.facts = facts
  }
}

/** An array of a thousand wrong keys is not told a thousand times. */
const MOST_ISSUES = 10

/** The answer that tells of `error`. */
export function answerOf(error: unknown): Answer {
  if (error instanceof Refusal) return problem(error.status, error.message, error.headers, error.facts)
  if (isConfigError(error))
    return problem(400, sentenceOf(error.issues), {}, { issues: error.issues.slice(0, MOST_ISSUES) })
  return problem(500, messageOf(error))
}

export function refusedAnswer({ status, why, headers }: Refused): Answer {
  return problem(status, why, headers)
}

function problem(status: number, detail: string, headers: Answer['headers'] = {}, facts: object = {}): Answer {
  const answer = jsonAnswer(
    status,
    { title: STATUS_CODES[status], status, detail, ...facts },
    'application/problem+json',
  )
  return { ...answer, headers }
}

function sentenceOf(issues: readonly ConfigIssue[]): string {
  const told = issues
    .slice(0, MOST_ISSUES)
    .map(({ path, value, expected }) => `${path}: expected ${expected}, got ${value}`)
  const left = issues.length - told.length
  return left > 0 ? `${told.join('; ')}; and ${left} more` : told.join('; ')
}
