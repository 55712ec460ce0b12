import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { ErrorFormat } from 'floodwall/wire'

// Every answer that is the gateway's own, as `application/problem+json` (RFC 9457). It says what went wrong in one word and one sentence and
// nothing about what stands behind the gateway: its readers are strangers.

/** Why, in one word: closed, so that clients may rely on it. */
export type Trouble =
  | 'bad-request'
  | 'no-route'
  | 'method-not-allowed'
  | 'body-too-large'
  | 'upload-stalled'
  | 'headers-too-large'
  | 'target-too-long'
  | 'expectation-failed'
  | 'not-implemented'
  | 'version-not-supported'
  | 'too-many-upgrades'
  | 'internal'
  | 'upstream-refused'
  | 'upstream-reset'
  | 'upstream-invalid'
  | 'upstream-timeout'
  | 'deadline'
  | 'rejected'

const troubles: Readonly<Record<Trouble, readonly [status: number, title: string]>> = {
  'bad-request': [400, 'Bad request'],
  'no-route': [404, 'Nothing here'],
  'method-not-allowed': [405, 'Method not allowed'],
  'body-too-large': [413, 'The body is too large'],
  'upload-stalled': [408, 'The request did not arrive in time'],
  'expectation-failed': [417, 'What is expected cannot be done'],
  'headers-too-large': [431, 'Too many or too large header fields'],
  'target-too-long': [414, 'The target is too long'],
  'not-implemented': [501, 'Not implemented'],
  'too-many-upgrades': [503, 'Not now'],
  'version-not-supported': [505, 'HTTP version not supported'],
  internal: [500, 'Internal error'],
  'upstream-refused': [502, 'The server could not be reached'],
  'upstream-reset': [502, 'The server broke off'],
  'upstream-invalid': [502, 'The server sent an answer that is not valid'],
  'upstream-timeout': [504, 'The server did not answer in time'],
  deadline: [504, 'The request took too long'],
  rejected: [503, 'Not now'],
}

/** What a trusted peer is told beyond that. */
export interface Why {
  /** Which layer said no. */
  readonly layer?: string
  /** Its reason, with the numbers. */
  readonly why: string
}

interface ProblemMore {
  readonly code?: string
  readonly closing?: boolean
  readonly lines?: readonly string[]
  readonly status?: number
}

const grpcByStatus: Readonly<Record<number, string>> = {
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  408: 'DEADLINE_EXCEEDED',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
  505: 'UNIMPLEMENTED',
}

const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'

/** The error model of Google's APIs, up to the id of the request. */
function googleStart(code: number, reason: string, message: string): string {
  const status = grpcByStatus[code] ?? 'INVALID_ARGUMENT'
  const type = 'type.googleapis.com/google.rpc.ErrorInfo'
  const info = { '@type': type, reason: reason.toUpperCase().replaceAll('-', '_'), domain: 'floodwall', metadata: {} }
  const text = JSON.stringify({ error: { code, message, status, details: [info] } })
  return `${text.slice(0, -'}}]}}'.length)}"requestId":"`
}

/** What the gateway itself answers. Made once per kind: the texts are constant but for the id. */
export class Problem {
  readonly trouble: Trouble
  readonly code: string
  readonly status: number
  /** The connection is not to be used again: where the message ends is in doubt, or nobody will read the rest of it. */
  readonly closing: boolean
  private readonly lines: readonly string[]
  private readonly start: string
  private readonly google: string

  /** `status`: another than that of its trouble. */
  constructor(trouble: Trouble, detail: string, more: ProblemMore = {}) {
    const [usual, title] = troubles[trouble]
    const { code = trouble, closing = false, lines = [], status = usual } = more
    this.trouble = trouble
    this.code = code
    this.status = status
    this.closing = closing
    this.lines = lines
    const text = JSON.stringify({ type: `urn:floodwall:problem:${code}`, title, status, detail, code })
    this.start = `${text.slice(0, -1)},"requestId":"`
    this.google = googleStart(status, code, detail)
  }

  /** Header lines and body. */
  answer(
    id: string,
    closing: boolean,
    form: ErrorFormat,
    retryAfter?: string,
    why?: Why,
    retryAfterMs = 0,
  ): { readonly lines: string[]; readonly body: string } {
    // Finer than the header, and only where that is.
    const ms = retryAfter === undefined ? 0 : Math.ceil(retryAfterMs)
    const body = form === 'google' ? this.googleBody(id, why, ms) : this.body(id, why, ms)
    const type = form === 'google' ? 'application/json' : 'application/problem+json'
    const lines = ['Content-Type', type, 'Content-Length', String(Buffer.byteLength(body)), 'Cache-Control', 'no-store']
    lines.push(...this.lines, 'X-Request-Id', id)
    if (retryAfter !== undefined) lines.push('Retry-After', retryAfter)
    if (closing) lines.push('Connection', 'close')
    return { lines, body }
  }

  private body(id: string, why: Why | undefined, ms: number): string {
    const more = why === undefined ? '' : `,${JSON.stringify(why).slice(1, -1)}`
    return `${this.start}${id}"${ms > 0 ? `,"retryAfterMs":${ms}` : ''}${more}}\n`
  }

  private googleBody(id: string, why: Why | undefined, ms: number): string {
    const more = why === undefined ? '' : `,${JSON.stringify(why).slice(1, -1)}`
    const retry = ms > 0 ? `,{"@type":"${RETRY_INFO}","retryDelay":"${ms / 1000}s"}` : ''
    return `${this.google}${id}"${more}}}${retry}]}}\n`
  }

  /** Where there is no exchange: the head was enough to say no. Writes the answer but for its last bytes, which it answers with. */
  begin(response: ServerResponse, id: string, closing: boolean): Buffer {
    const { lines, body } = this.answer(id, closing, 'problem')
    response.writeHead(this.status, lines)
    return Buffer.from(body)
  }

  /** The same as bytes on a connection that closes after them. */
  wire(id: string): string {
    const { lines, body } = this.answer(id, true, 'problem')
    let text = `HTTP/1.1 ${this.status} ${STATUS_CODES[this.status]}\r\nDate: ${new Date().toUTCString()}\r\n`
    for (let i = 0; i < lines.length; i += 2) text += `${lines[i]}: ${lines[i + 1]}\r\n`
    return `${text}\r\n${body}`
  }
}
