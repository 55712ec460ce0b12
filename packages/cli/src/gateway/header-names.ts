// What is this header line to us? Asked for every line of every message, so the answer is remembered per spelling.

/** Roles are numbers: a switch over small integers is a jump. */
export const PASS = 0
/** Speaks about one connection, or is ours to write: never passed on. */
export const DROP = 1
export const HOST = 2
export const CONNECTION = 3
export const LENGTH = 4
export const CODING = 5
export const UPGRADE = 6
export const TE = 7
export const RETRY_AFTER = 8

/** Spellings that are remembered. Callers choose names, so there is an end to it; what comes later is worked out each time. */
const MOST_SPELLINGS = 1024

type Roles = ReadonlyMap<string, number>

// RFC 9110, 7.6.1, and what never was more than that in practice.
const hopByHop: readonly [string, number][] = [
  ['connection', CONNECTION],
  ['keep-alive', DROP],
  ['proxy-authenticate', DROP],
  ['proxy-authorization', DROP],
  ['proxy-authentication-info', DROP],
  ['proxy-connection', DROP],
  ['trailer', DROP],
  ['transfer-encoding', CODING],
  ['upgrade', UPGRADE],
  ['http2-settings', DROP],
]

const requestRoles: Roles = new Map([
  ...hopByHop,
  ['te', TE],
  ['host', HOST],
  ['content-length', LENGTH],
  // The listener has answered it, or will when the upstream reads the body.
  ['expect', DROP],
  ['forwarded', DROP],
  ['x-real-ip', DROP],
])

const responseRoles: Roles = new Map([
  ...hopByHop,
  ['te', DROP],
  ['content-length', LENGTH],
  ['retry-after', RETRY_AFTER],
])

/** Roles by name, whatever its case. */
export class HeaderNames {
  private readonly known = new Map<string, number>()
  private readonly classify: (lower: string) => number

  constructor(classify: (lower: string) => number, spellings: readonly string[]) {
    this.classify = classify
    for (const name of spellings) this.role(name)
  }

  role(name: string): number {
    const known = this.known.get(name)
    if (known !== undefined) return known
    const role = this.classify(name.toLowerCase())
    if (this.known.size < MOST_SPELLINGS) this.known.set(name, role)
    return role
  }
}

/** As browsers, tools and libraries write them: known from the start, so that strangers' inventions cannot crowd them out. */
const common = [
  ...[
    'Host',
    'User-Agent',
    'Accept',
    'Accept-Language',
    'Accept-Encoding',
    'Connection',
    'Cookie',
    'Referer',
    'Origin',
  ],
  ...[
    'Authorization',
    'Content-Type',
    'Content-Length',
    'Transfer-Encoding',
    'Cache-Control',
    'Pragma',
    'TE',
    'Upgrade',
  ],
  ...[
    'If-None-Match',
    'If-Modified-Since',
    'Range',
    'Via',
    'Forwarded',
    'X-Forwarded-For',
    'X-Forwarded-Proto',
    'Date',
  ],
  ...[
    'Server',
    'ETag',
    'Last-Modified',
    'Expires',
    'Vary',
    'Set-Cookie',
    'Location',
    'Content-Encoding',
    'Age',
    'Accept-Ranges',
  ],
  ...[
    'X-Powered-By',
    'X-Request-Id',
    'Traceparent',
    'Tracestate',
    'Retry-After',
    'Keep-Alive',
    'Strict-Transport-Security',
  ],
]
const spellings = [...common, ...common.map((name) => name.toLowerCase())]

/**
 * For requests. Every forwarding line is dropped: callers are strangers, and what they claim to have forwarded is ours to say. So are
 * names with an underscore, which many servers read as a hyphen: `X_Forwarded_For` must not pass for the real one.
 */
export const requestNames: HeaderNames = new HeaderNames((lower) => {
  if (lower.includes('_') || lower.startsWith('x-forwarded-')) return DROP
  return requestRoles.get(lower) ?? PASS
}, spellings)

/** For responses. */
export const responseNames: HeaderNames = new HeaderNames((lower) => responseRoles.get(lower) ?? PASS, spellings)

/** The names that a `Connection` value declares to be about this connection, added to `named`; null when there is nothing beyond the usual. */
export function namedBy(value: string, named: Set<string> | null): Set<string> | null {
  if (value === 'keep-alive' || value === 'close') return named
  const names = named ?? new Set<string>()
  for (const token of value.split(',')) names.add(token.trim().toLowerCase())
  return names
}

/**
 * Takes the named lines out, in place. Only what the sender wrote can go: it runs before the gateway adds its own lines, and what frames the
 * message is nobody's to remove.
 */
export function removeNamed(lines: string[], named: ReadonlySet<string>): void {
  let kept = 0
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i] as string
    const lower = name.toLowerCase()
    if (lower !== 'content-length' && lower !== 'te' && named.has(lower)) continue
    lines[kept] = name
    lines[kept + 1] = lines[i + 1] as string
    kept += 2
  }
  lines.length = kept
}
