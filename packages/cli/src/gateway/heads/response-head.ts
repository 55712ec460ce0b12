import type { IncomingHttpHeaders } from 'node:http'
import { CONNECTION, CONTROL, LENGTH, namedBy, PASS, RETRY_AFTER, removeNamed, responseNames } from './header-names.ts'

// What the caller gets of the upstream's head. The same rules as for requests: what speaks about the connection between the gateway and the
// upstream ends here, the rest passes line by line.
//
// From undici's parsed headers: it has made them anyway, and reading the raw bytes a second time would cost a microsecond. So names come in
// lower case, which they may (RFC 9110, 5.1), and repeated lines stand together.

/** Whose body has no length of its own: a Content-Length there, or in a change of the protocol (RFC 9110, 8.6), would be taken for one. */
const NO_CONTENT = 204

export class ResponseHead {
  readonly status: number
  /** Flat: name, value, name, value. */
  readonly lines: string[]
  /** The upstream has said how long the body is. */
  readonly hasLength: boolean

  /** `trusted`: what steers its reader is told, too. */
  constructor(status: number, headers: IncomingHttpHeaders, trusted: boolean) {
    const lines: string[] = []
    let hasLength = false
    let named: Set<string> | null = null
    for (const name in headers) {
      const value = headers[name] as string | string[]
      switch (responseNames.role(name)) {
        case PASS:
        case RETRY_AFTER:
          push(lines, name, value)
          break
        case CONTROL:
          if (trusted) push(lines, name, value)
          break
        case LENGTH:
          if (status === NO_CONTENT || status < 200) break
          lines.push(name, String(value))
          hasLength = true
          break
        case CONNECTION:
          named = namedBy(String(value), named)
          break
        default:
          break
      }
    }
    if (named !== null) removeNamed(lines, named)
    lines.push('via', '1.1 floodwall')
    this.status = status
    this.lines = lines
    this.hasLength = hasLength
  }
}

function push(lines: string[], name: string, value: string | string[]): void {
  if (typeof value === 'string') lines.push(name, value)
  else for (const each of value) lines.push(name, each)
}

/**
 * Whether it is certain where the body ends, and how to read it. undici takes other codings than `chunked` for no coding at all, and two
 * times chunked for once.
 */
export function isFramed(headers: IncomingHttpHeaders): boolean {
  const coding = headers['transfer-encoding'] as string | string[] | undefined
  return coding === undefined || coding === 'chunked' || String(coding).toLowerCase() === 'chunked'
}

/** Nothing but the end of its connection tells the end of the body. */
export function endsWithConnection(headers: IncomingHttpHeaders): boolean {
  return headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
}

/** These have no body, and a length is about another answer. */
export const bodiless = (status: number): boolean => status === 204 || status === 304

/** How many lines undici has seen. */
export function linesIn(raw: unknown): number {
  return Array.isArray(raw) ? raw.length / 2 : 0
}

/** More than this is no trailer section. */
const MOST_TRAILERS = 100

/**
 * Frames, routes, authenticates, or says how to read what was read already: meaningless behind a body, or an attempt to change the head after
 * it was judged (RFC 9110, 6.5.1).
 */
const neverTrailers: ReadonlySet<string> = new Set([
  ...['age', 'authorization', 'cache-control', 'content-encoding', 'content-length', 'content-range', 'content-type'],
  ...['date', 'expires', 'host', 'location', 'max-forwards', 'pragma', 'range', 'retry-after', 'set-cookie', 'vary'],
  ...['via', 'warning', 'www-authenticate'],
])

/** What may follow a body: pairs of name and value. */
export function trailersOf(trailers: IncomingHttpHeaders, trusted: boolean): [name: string, value: string][] {
  const lines: string[] = []
  for (const name in trailers) {
    const role = responseNames.role(name)
    if ((role === PASS || (role === CONTROL && trusted)) && !neverTrailers.has(name)) {
      push(lines, name, trailers[name] as string | string[])
    }
  }
  if (lines.length > 2 * MOST_TRAILERS) return []
  const pairs: [string, string][] = []
  for (let i = 0; i < lines.length; i += 2) pairs.push([lines[i] as string, lines[i + 1] as string])
  return pairs
}
