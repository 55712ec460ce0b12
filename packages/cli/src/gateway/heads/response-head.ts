import type { IncomingHttpHeaders } from 'node:http'
import { CONNECTION, LENGTH, namedBy, PASS, RETRY_AFTER, removeNamed, responseNames } from './header-names.ts'

// What the caller gets of the upstream's head. The same rules as for requests: what speaks about the connection between the gateway and the
// upstream ends here, the rest passes line by line.
//
// From undici's parsed headers: it has made them anyway, and reading the raw bytes a second time would cost a microsecond. So names come in
// lower case, which they may (RFC 9110, 5.1), and repeated lines stand together.

/** Whose body has no length of its own: a Content-Length there would be taken for one. */
const NO_CONTENT = 204

export class ResponseHead {
  readonly status: number
  /** Flat: name, value, name, value. */
  readonly lines: string[]
  /** The upstream has said how long the body is. */
  readonly hasLength: boolean

  constructor(status: number, headers: IncomingHttpHeaders) {
    const lines: string[] = []
    let hasLength = false
    let named: Set<string> | null = null
    for (const name in headers) {
      const value = headers[name] as string | string[]
      switch (responseNames.role(name)) {
        case PASS:
        case RETRY_AFTER:
          if (typeof value === 'string') lines.push(name, value)
          else for (const each of value) lines.push(name, each)
          break
        case LENGTH:
          if (status === NO_CONTENT) break
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
    this.status = status
    this.lines = lines
    this.hasLength = hasLength
  }
}

/** What may follow a body: the same rules again. */
export function trailersOf(trailers: IncomingHttpHeaders): [name: string, value: string][] {
  const { lines } = new ResponseHead(200, trailers)
  const pairs: [string, string][] = []
  for (let i = 0; i < lines.length; i += 2) pairs.push([lines[i] as string, lines[i + 1] as string])
  return pairs
}

/** Longest pause that an upstream may ask for: a hostile or mistaken one must not silence a caller for ever. */
const LONGEST_PAUSE_S = 300

/** What `Retry-After` asks for, in milliseconds; 0 when it does not ask, or in a way that is not a whole number of seconds. */
export function retryAfterMs({ 'retry-after': value }: IncomingHttpHeaders): number {
  return value !== undefined && /^\d{1,9}$/.test(value) ? Math.min(Number(value), LONGEST_PAUSE_S) * 1000 : 0
}
