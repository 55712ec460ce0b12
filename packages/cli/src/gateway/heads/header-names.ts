import { controlNames, controlPrefixes } from './control-names.ts'

// What is this header line to us? Asked for every line of every message, so most lines are let through by their first letter and their
// length, and of the others the answer is remembered per spelling.

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
export const REQUEST_ID = 9
export const TRACE_PARENT = 10
/** About the way that a request has come. */
export const FORWARDED = 11
/** Steers those who read it: believed from trusted peers only. */
export const CONTROL = 12
/** Those of FORWARDED that are understood. */
export const FORWARDED_FOR = 13
export const FORWARDED_PROTO = 14
export const FORWARDED_HOST = 15
export const FORWARDED_STANDARD = 16

type Roles = readonly (readonly [name: string, role: number])[]

// RFC 9110, 7.6.1, and what never was more than that in practice.
const hopByHop: Roles = [
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

/** Spellings that are remembered. Callers choose names, so there is an end to it; what comes later is worked out each time. */
const MOST_SPELLINGS = 1024
/** Lengths that have a bit; a longer name is always looked up. */
const BITS = 31

/** Roles by name, whatever its case. */
export class HeaderNames {
  private readonly roles: ReadonlyMap<string, number>
  private readonly prefixes: Roles
  private readonly spellings = new Map<string, number>()
  /** By first letter (lower case, 7 bits): the lengths of names that have a role. */
  private readonly lengths = new Int32Array(128)

  /** `prefixes`: roles of all other names that begin so. */
  constructor(roles: Roles, prefixes: Roles) {
    this.roles = new Map(roles)
    this.prefixes = prefixes
    for (const [name] of roles) this.mark(name.charCodeAt(0), name.length)
    for (const [prefix] of prefixes) {
      for (let length = prefix.length; length < BITS; length++) this.mark(prefix.charCodeAt(0), length)
    }
    // The usual spellings are known from the start, so that strangers' inventions cannot crowd them out.
    for (const [name] of roles) for (const spelling of [name, capitalised(name)]) this.lookUp(spelling)
  }

  role(name: string): number {
    const { length } = name
    const lengths = this.lengths[(name.charCodeAt(0) | 32) & 127] as number
    return length < BITS && ((lengths >> length) & 1) === 0 ? PASS : this.lookUp(name)
  }

  private lookUp(name: string): number {
    const known = this.spellings.get(name)
    if (known !== undefined) return known
    const lower = name.toLowerCase()
    const role = this.roles.get(lower) ?? this.prefixes.find(([prefix]) => lower.startsWith(prefix))?.[1] ?? PASS
    if (this.spellings.size < MOST_SPELLINGS) this.spellings.set(name, role)
    return role
  }

  private mark(letter: number, length: number): void {
    if (length < BITS) this.lengths[letter] = (this.lengths[letter] as number) | (1 << length)
  }
}

function capitalised(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase())
}

const controls: Roles = controlNames.map((name) => [name, CONTROL])
const controlFamilies: Roles = controlPrefixes.map((prefix) => [prefix, CONTROL])

/** For requests. */
export const requestNames: HeaderNames = new HeaderNames(
  [
    ...hopByHop,
    ['te', TE],
    ['host', HOST],
    ['content-length', LENGTH],
    // The listener has answered it, or will when the upstream reads the body.
    ['expect', DROP],
    ['forwarded', FORWARDED_STANDARD],
    ['x-forwarded-for', FORWARDED_FOR],
    ['x-forwarded-proto', FORWARDED_PROTO],
    ['x-forwarded-host', FORWARDED_HOST],
    ['x-real-ip', DROP],
    ['x-request-id', REQUEST_ID],
    ['traceparent', TRACE_PARENT],
    // RFC 9440: who showed which certificate is ours to say.
    ['client-cert', DROP],
    ['client-cert-chain', DROP],
    ...controls,
  ],
  [['x-forwarded-', FORWARDED], ...controlFamilies],
)

/** For responses. */
export const responseNames: HeaderNames = new HeaderNames(
  [
    ...hopByHop,
    ['te', DROP],
    ['content-length', LENGTH],
    ['retry-after', RETRY_AFTER],
    ['x-request-id', DROP],
    ...controls,
  ],
  controlFamilies,
)

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
