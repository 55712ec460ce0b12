import { type IncomingMessage, METHODS } from 'node:http'
import { Problem } from '../exchange/problem.ts'
import { Claims, forward, type Sender } from './forwarding.ts'
import {
  CODING,
  CONNECTION,
  CONTROL,
  DROP,
  FORWARDED,
  FORWARDED_FOR,
  FORWARDED_HOST,
  FORWARDED_PROTO,
  FORWARDED_STANDARD,
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
import { Hosts } from './hosts.ts'
import { isRequestId } from './request-ids.ts'
import { nothingSaid, type Said, Steering, saidIn } from './steering.ts'
import { Target } from './target.ts'
import { traceOf } from './trace-context.ts'

// What goes upstream, made from what came. Names and values stay in flat arrays: building header objects and taking them apart again
// would cost more than the rest of the proxy. What is ambiguous is refused: two readers of one message must not disagree.

const USUAL_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

const noHost = new Problem('bad-request', 'The request has no Host header.', { closing: true })
const twoHosts = new Problem('bad-request', 'The request has more than one Host header.', { closing: true })
const badHost = new Problem('bad-request', 'The Host header is not a host.', { closing: true })
const badTarget = new Problem('bad-request', 'The request target is not a path that can be passed on.', {
  closing: true,
})
const wrongScheme = new Problem('bad-request', 'The target is "https", and the connection is not.', { closing: true })
const wrongVersion = new Problem('version-not-supported', 'The gateway speaks HTTP/1.0 and HTTP/1.1.', {
  closing: true,
})
const badFraming = new Problem('bad-request', 'HTTP/1.0 has no Transfer-Encoding.', { closing: true })
const coding = new Problem('not-implemented', 'The only transfer coding here is "chunked".', { closing: true })
const noAsterisk = new Problem('not-implemented', 'The target "*" is not supported.')
const tooMany = new Problem('headers-too-large', 'The request has too many header fields.', { closing: true })
const tooLong = new Problem('body-too-large', 'The request has a length that nobody can count to.', { closing: true })
const unknownMethod = new Problem('not-implemented', 'This method is not known.', { closing: true })
export const refusedMethod: Problem = new Problem('method-not-allowed', 'This method is not passed on.', {
  closing: true,
  lines: ['Allow', USUAL_METHODS],
})

/** Those that are passed on. The parser knows more, of other protocols. */
const methods: ReadonlySet<string> = new Set(METHODS.filter((name) => !['CONNECT', 'SOURCE', 'TRACE'].includes(name)))

const hosts = new Hosts()

const traceNames: ReadonlySet<string> = new Set(['traceparent', 'tracestate'])

/** Safe to repeat without harm (RFC 9110, 9.2.2). */
const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

export class RequestHead {
  readonly method: string
  /** As `hostOf` says it; '' where there is none. */
  readonly host: string
  /** What it is about, and whether all would agree. */
  readonly target: Target
  /** Whom it is for: the sender, or who he says, if he is trusted. An address. */
  client = ''
  /** What the server is asked for. */
  path: string
  /** The client has said that it is the last one on its connection. */
  last = false
  /** What the client would change the protocol to, as it says it, in lower case; '' for nothing. */
  offer = ''
  /** The name that it came with; '' for none, and for one that is no name. */
  given = ''
  /** What a trusted peer says about its time and rank. */
  said: Said = nothingSaid
  /** The trace it belongs to; '' for none. */
  trace = ''
  /** @internal What the names of its route's path stand for, once somebody has asked. */
  values: ReadonlyMap<string, string> | null = null
  /** The lines that came, flat. */
  readonly raw: readonly string[]
  /** Flat: name, value, name, value. */
  readonly lines: string[]
  /** Infinity when only its end will tell. */
  readonly bodyBytes: number

  private constructor(
    method: string,
    host: string,
    target: Target,
    raw: readonly string[],
    lines: string[],
    bodyBytes: number,
  ) {
    this.method = method
    this.host = host
    this.target = target
    this.path = target.path
    this.raw = raw
    this.lines = lines
    this.bodyBytes = bodyBytes
  }

  /** The path, normalised, without the query. */
  get pathname(): string {
    return this.target.pathname
  }

  /** Its method does no harm when it runs twice. */
  get idempotent(): boolean {
    return idempotent.has(this.method)
  }

  /** The server gets a line of this name, in lower case: nobody who is on the way there has taken it out. */
  sends(name: string): boolean {
    return this.lines.some((text, i) => i % 2 === 0 && text.toLowerCase() === name)
  }

  /** `standard`: the way that it came is told in `Forwarded`, too. */
  static of(request: IncomingMessage, sender: Sender, mostLines: number, standard: boolean): RequestHead | Problem {
    const raw = request.rawHeaders
    const verb = request.method as string
    // The parser lets HTTP/2.0 pass, and takes `GET /x` without a version for HTTP/0.9, going on with lines that it has no names for.
    if (request.httpVersionMajor !== 1) return wrongVersion
    if (!methods.has(verb)) return verb === 'TRACE' || verb === 'CONNECT' ? refusedMethod : unknownMethod
    if (raw.length > 2 * mostLines) return tooMany
    const target = Target.of(request.url as string)
    if (target === undefined) return request.url === '*' && verb === 'OPTIONS' ? noAsterisk : badTarget

    const lines: string[] = []
    let host: string | undefined
    let bodyBytes = 0
    let named: Set<string> | null = null
    let protocol: string | undefined
    let offer = ''
    let id = ''
    let last = false
    let trace: string | undefined
    let claims: Claims | null = null
    let steering: Steering | null = null
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i] as string
      const value = raw[i + 1] as string
      const role = requestNames.role(name)
      switch (role) {
        case PASS:
          // Many servers read an underscore as a hyphen: X_Forwarded_For must not pass for the real one. (Half the price of includes().)
          if (name.indexOf('_') < 0) lines.push(name, value)
          break
        case HOST:
          if (host !== undefined) return twoHosts
          host = value
          break
        case CONNECTION:
          named = namedBy(value, named)
          last ||= value === 'close' || named?.has('close') === true
          break
        case LENGTH:
          // The parser has made sure that it is one, a number, and alone.
          lines.push(name, value)
          bodyBytes = Number(value)
          if (bodyBytes > Number.MAX_SAFE_INTEGER) return tooLong
          break
        case CODING:
          if (request.httpVersionMinor === 0) return badFraming
          // The parser passes "gzip, chunked" and, at first, "xchunked".
          if (bodyBytes > 0 || value.toLowerCase() !== 'chunked') return coding
          bodyBytes = Number.POSITIVE_INFINITY
          break
        case TE:
          if (wantsTrailers(value)) lines.push('te', 'trailers')
          break
        case FORWARDED:
        case FORWARDED_FOR:
        case FORWARDED_PROTO:
        case FORWARDED_HOST:
        case FORWARDED_STANDARD:
          if (sender.trusted) (claims ??= new Claims()).add(name, value, role)
          break
        case CONTROL:
          if (sender.trusted) {
            const passed = (steering ??= new Steering(sender.criticalPlus)).add(name, value)
            if (passed !== undefined) lines.push(name, passed)
          }
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
          protocol = protocol === undefined ? value : `${protocol},${value}`
          break
        case DROP:
          break
      }
    }
    // HTTP/1.0 knows no Host.
    if (host === undefined && request.httpVersionMinor !== 0) return noHost
    let bare = host === undefined ? '' : hosts.of(host)
    if (bare === undefined) return badHost
    if (target.authority !== undefined) {
      // What the line says does not count, then (RFC 9112, 3.2.2). It is not passed on either, so nobody can take it for the truth.
      host = target.authority
      bare = hosts.of(host)
      if (bare === undefined) return badTarget
      if (target.secure && !sender.secure && !sender.trusted) return wrongScheme
    }
    if (named !== null) {
      // In HTTP/1.0 it is no offer (RFC 9110, 7.8).
      if (protocol !== undefined && named.has('upgrade') && request.httpVersionMinor !== 0)
        offer = protocol.toLowerCase()
      removeNamed(lines, named)
    }
    // A server should not have to guess what it means, and a state without a parent means nothing.
    if (trace === '') removeNamed(lines, traceNames)
    const asked = host ?? ''
    const client = forward(lines, sender, asked, claims, standard)
    if (sender.certificate !== '') lines.push('client-cert', sender.certificate)
    lines.push('via', request.httpVersionMinor === 0 ? '1.0 floodwall' : '1.1 floodwall')
    const head = new RequestHead(verb, bare, target, raw, lines, bodyBytes)
    head.client = client
    if (steering !== null) head.said = saidIn(steering)
    head.last = last
    head.offer = offer
    head.given = id
    head.trace = trace ?? ''
    return head
  }
}

/** RFC 9110, 10.1.4: of all that may stand there, only this concerns more than one connection. */
function wantsTrailers(value: string): boolean {
  return value === 'trailers' || value.split(',').some((each) => each.trim().toLowerCase() === 'trailers')
}
