import type { IncomingMessage } from 'node:http'
import { Problem } from '../exchange/problem.ts'
import { hostOf } from '../routes/host-pattern.ts'
import {
  CODING,
  CONNECTION,
  DROP,
  HOST,
  LENGTH,
  namedBy,
  PASS,
  REQUEST_ID,
  removeNamed,
  requestNames,
  TE,
  TRACE_PARENT,
  UPGRADE,
} from './header-names.ts'
import { isRequestId } from './request-ids.ts'
import { traceOf } from './trace-context.ts'

// What goes upstream, made from what came. Names and values stay in flat arrays: building header objects and taking them apart again
// would cost more than the rest of the proxy. What is ambiguous is refused: two readers of one message must not disagree.

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

const noHost = new Problem('bad-request', 'The request has no Host header.', { closing: true })
const twoHosts = new Problem('bad-request', 'The request has more than one Host header.', { closing: true })
const badHost = new Problem('bad-request', 'The Host header is not a host.', { closing: true })
const badTarget = new Problem('bad-request', 'The request target is not a path.', { closing: true })
const badFraming = new Problem('bad-request', 'HTTP/1.0 has no Transfer-Encoding.', { closing: true })
const coding = new Problem('not-implemented', 'The only transfer coding here is "chunked".', { closing: true })
const upgrade = new Problem('not-implemented', 'Connections are not upgraded here.', { closing: true })
const noAsterisk = new Problem('not-implemented', 'The target "*" is not supported.')
const tooMany = new Problem('headers-too-large', 'The request has too many header fields.', { closing: true })
export const refusedMethod: Problem = new Problem('method-not-allowed', 'This method is not passed on.', {
  closing: true,
  lines: ['Allow', METHODS],
})

/** RFC 3986 authority without userinfo: a value that is passed on as X-Forwarded-Host must not carry anything else. */
const AUTHORITY = /^[\w.~!$&'()*+,;=%:[\]-]*$/

/** Safe to repeat without harm (RFC 9110, 9.2.2). */
const traceNames: ReadonlySet<string> = new Set(['traceparent', 'tracestate'])

const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

export class RequestHead {
  readonly method: string
  /** As `hostOf` says it; '' where there is none. */
  readonly host: string
  /** The path, normalised, without the query. */
  readonly pathname: string
  /** With its question mark; '' where there is none. */
  readonly query: string
  /** What the server is asked for. */
  path: string
  /** The name that it came with; '' for none, and for one that is no name. */
  given = ''
  /** The trace it belongs to; '' for none. */
  trace = ''
  /** The lines that came, flat. */
  readonly raw: readonly string[]
  /** Flat: name, value, name, value. */
  readonly lines: string[]
  /** Infinity when only its end will tell. */
  readonly bodyBytes: number

  private constructor(
    method: string,
    host: string,
    path: string,
    raw: readonly string[],
    lines: string[],
    bodyBytes: number,
  ) {
    const mark = path.indexOf('?')
    this.method = method
    this.host = host
    this.pathname = mark < 0 ? path : path.slice(0, mark)
    this.query = mark < 0 ? '' : path.slice(mark)
    this.path = path
    this.raw = raw
    this.lines = lines
    this.bodyBytes = bodyBytes
  }

  /** A body cannot be sent a second time: it has been streamed away. */
  get repeatable(): boolean {
    return this.bodyBytes === 0 && idempotent.has(this.method)
  }

  /** `client` is the address that the connection comes from. */
  static of(request: IncomingMessage, client: string, mostLines: number): RequestHead | Problem {
    const raw = request.rawHeaders
    const verb = request.method as string
    if (verb === 'TRACE' || verb === 'CONNECT') return refusedMethod
    if (raw.length > 2 * mostLines) return tooMany
    const path = pathOf(request.url as string)
    if (path === undefined) return request.url === '*' ? noAsterisk : badTarget

    const lines: string[] = []
    let host: string | undefined
    let bodyBytes = 0
    let named: Set<string> | null = null
    let protocol: string | undefined
    let id = ''
    let trace: string | undefined
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i] as string
      const value = raw[i + 1] as string
      switch (requestNames.role(name)) {
        case PASS:
          // Many servers read an underscore as a hyphen: X_Forwarded_For must not pass for the real one.
          if (!name.includes('_')) lines.push(name, value)
          break
        case HOST:
          if (host !== undefined) return twoHosts
          host = value
          break
        case CONNECTION:
          named = namedBy(value, named)
          break
        case LENGTH:
          // The parser has made sure that it is one, a number, and alone.
          lines.push(name, value)
          bodyBytes = Number(value)
          break
        case CODING:
          if (request.httpVersionMinor === 0) return badFraming
          // The parser passes "gzip, chunked" and, at first, "xchunked".
          if (bodyBytes > 0 || value.toLowerCase() !== 'chunked') return coding
          bodyBytes = Number.POSITIVE_INFINITY
          break
        case TE:
          if (value.toLowerCase().includes('trailers')) lines.push('te', 'trailers')
          break
        case REQUEST_ID:
          id = isRequestId(value) ? value : ''
          break
        case TRACE_PARENT:
          // Two are none: who would know which?
          trace = trace === undefined ? traceOf(value) : ''
          lines.push(name, value)
          break
        case UPGRADE:
          protocol = value
          break
        case DROP:
          break
      }
    }
    // HTTP/1.0 knows no Host.
    if (host === undefined && request.httpVersionMinor !== 0) return noHost
    if (host !== undefined && !AUTHORITY.test(host)) return badHost
    if (named !== null) {
      // h2c is an offer that may be ignored (RFC 9110, 7.8); of all others the caller would wait for the new protocol.
      if (protocol !== undefined && named.has('upgrade') && protocol.toLowerCase() !== 'h2c') return upgrade
      removeNamed(lines, named)
    }
    // A server should not have to guess what it means, and a state without a parent means nothing.
    if (trace === '') removeNamed(lines, traceNames)
    lines.push('x-forwarded-for', client, 'x-forwarded-proto', 'http')
    if (host !== undefined) lines.push('x-forwarded-host', host)
    lines.push('via', request.httpVersionMinor === 0 ? '1.0 floodwall' : '1.1 floodwall')
    const head = new RequestHead(verb, host === undefined ? '' : hostOf(host), path, raw, lines, bodyBytes)
    head.given = id
    head.trace = trace ?? ''
    return head
  }
}

/**
 * The path to ask the upstream for. Where that is, is never the caller's choice: of an absolute target only the path counts, and `//evil`
 * is a path like any other, since it is not resolved against anything.
 */
function pathOf(target: string): string | undefined {
  if (target.charCodeAt(0) === 47) return target
  const absolute = /^https?:\/\/[^/?#]*/i.exec(target)
  if (absolute === null) return undefined
  const rest = target.slice(absolute[0].length)
  return rest.charCodeAt(0) === 47 ? rest : `/${rest}`
}
