// What is asked for, and would every reader of the request say the same?
//
// A path is written in many ways, and the servers behind a gateway differ in what they undo before they look: percent-encodings, once or
// twice, dot segments, doubled slashes, backslashes, parameters behind a semicolon. A guard at /admin is worth nothing if /%61dmin or
// /public/..;/admin passes by it. So there is one form, in which a path both chooses its route and goes to the server (RFC 3986, 6.2.2):
// dot segments are gone, encodings of what needs none are decoded, the others are in upper case. And where other readers would still read
// something else, `readings` lists what: a path that two readers would route differently is refused.
//
//   /a/./b/%7Ex%2fy  is  /a/b/~x%2Fy, and may be read as /a/b/~x/y
//
// Invariant: a normal form is its own normal form, has no dot segment, and comes out of any reading without one, or not at all. The query is
// nobody's to touch.

const BAD = 1
const SLASH = 2
const DOT = 3
const QUERY = 4
/** Read differently by different readers, or by way of an encoding. */
const TWIST = 5

/** By character code; 0: nothing special. Backslash and the like are in no URL, and sent by some browsers all the same. */
const kinds = new Uint8Array(128)
kinds.fill(BAD, 0, 0x21)
kinds[0x7f] = BAD
// A fragment is never sent (RFC 9110, 7.1); who cuts it off, and who does not, read two paths.
kinds['#'.charCodeAt(0)] = BAD
kinds['/'.charCodeAt(0)] = SLASH
kinds['.'.charCodeAt(0)] = DOT
kinds['?'.charCodeAt(0)] = QUERY
for (const twist of '%\\;') kinds[twist.charCodeAt(0)] = TWIST

const ABSOLUTE = /^http(s?):\/\/([^/?#]*)/i
const slash = 47

export class Target {
  /** Of an absolute target, as it came; undefined where the Host line says it. */
  readonly authority: string | undefined
  /** An absolute target that begins with `https`. */
  readonly secure: boolean
  /** Normalised, with the query. */
  readonly path: string
  /** Normalised, without the query. */
  readonly pathname: string
  /** With its question mark, byte for byte; '' where there is none. */
  readonly query: string
  /** Every reader reads the path as it stands. */
  readonly plain: boolean

  private constructor(
    authority: string | undefined,
    secure: boolean,
    path: string,
    pathname: string,
    query: string,
    plain: boolean,
  ) {
    this.authority = authority
    this.secure = secure
    this.path = path
    this.pathname = pathname
    this.query = query
    this.plain = plain
  }

  /** Undefined when `text` is not a path, or an http address, that can be passed on. */
  static of(text: string): Target | undefined {
    if (text.charCodeAt(0) === slash) return Target.from(text, undefined, false)
    const absolute = ABSOLUTE.exec(text)
    if (absolute === null) return undefined
    const rest = text.slice(absolute[0].length)
    return Target.from(rest.charCodeAt(0) === slash ? rest : `/${rest}`, absolute[2], absolute[1] !== '')
  }

  private static from(text: string, authority: string | undefined, secure: boolean): Target | undefined {
    const { length } = text
    let mark = -1
    let plain = true
    let before = 0
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i)
      // Node's parser refuses them, too: they are encoded in every URL.
      if (code > 127) return undefined
      const kind = kinds[code] as number
      if (kind === BAD) return undefined
      if (mark >= 0) continue
      if (kind === QUERY) mark = i
      else if (kind === TWIST || (before === SLASH && (kind === SLASH || kind === DOT))) plain = false
      before = kind
    }
    const raw = mark < 0 ? text : text.slice(0, mark)
    const query = mark < 0 ? '' : text.slice(mark)
    if (plain) return new Target(authority, secure, text, raw, query, true)
    const pathname = normalPath(raw)
    return pathname === undefined ? undefined : new Target(authority, secure, pathname + query, pathname, query, false)
  }

  /** What else the path may be taken for; undefined when for something that nobody honest asks for. */
  readings(): Iterable<string> | undefined {
    return this.plain ? none : readingsOf(this.pathname)
  }
}

const none: readonly string[] = []

export const DOT_SEGMENT: RegExp = /\/\.\.?(?:\/|$)/

/** The form in which paths are compared; undefined when `path` has none. */
export function normalPath(path: string): string | undefined {
  const decoded = path.includes('%') ? decodeUnreserved(path) : path
  return decoded?.includes('/.') ? withoutDots(decoded) : decoded
}

const ENCODED = /%([0-9A-Fa-f]{2})?/g
const UNRESERVED = /^[\w.~-]$/

function decodeUnreserved(path: string): string | undefined {
  let valid = true
  const decoded = path.replace(ENCODED, (written: string, digits = '00') => {
    // Half an encoding is none, and a NUL ends the path for everything that is written in C.
    if (digits === '00') valid = false
    const character = String.fromCharCode(Number.parseInt(digits, 16))
    return UNRESERVED.test(character) ? character : written.toUpperCase()
  })
  return valid ? decoded : undefined
}

/** RFC 3986, 5.2.4; undefined when it leads above the root. */
function withoutDots(path: string): string | undefined {
  const kept: string[] = []
  const segments = path.split('/')
  for (let i = 1; i < segments.length; i++) {
    const segment = segments[i] as string
    const dots = segment === '.' || segment === '..'
    if (segment === '..' && kept.pop() === undefined) return undefined
    if (!dots) kept.push(segment)
    // "/a/.." is the folder "/".
    else if (i === segments.length - 1) kept.push('')
  }
  return `/${kept.join('/')}`
}

const ENCODED_ASCII = /%([0-7][0-9A-Fa-f])/g

/** What readers undo, each of them in an order of its own. */
const undone: readonly ((path: string) => string)[] = [
  (path) => path.replace(ENCODED_ASCII, (_all, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
  // Parameters of a segment: /admin;jsessionid=1
  (path) => path.replace(/;[^/]*/g, ''),
  (path) => path.replace(/\\/g, '/'),
  (path) => path.replace(/\/{2,}/g, '/'),
  // What was an encoded question mark, and begins a query now.
  (path) => path.replace(/[?#].*$/s, ''),
]

/** Nothing honest can be read in more ways. */
const MOST_READINGS = 32
/** Of all readings together: their number must not multiply the price of a long path. */
const MOST_CHARACTERS = 128 * 1024

/**
 * Whatever can be had by undoing one thing after another. All orders, and not only all at once: a path may be turned twice, so that who
 * undoes everything is led back to where it began, and only who undoes one thing is led astray.
 */
function readingsOf(path: string): Set<string> | undefined {
  const found = new Set([path])
  let characters = 0
  for (const reading of found) {
    characters += reading.length
    // Our own dot segments are gone. What is one only for some readers has been hidden from the others.
    if (DOT_SEGMENT.test(reading) || reading.includes('\0')) return undefined
    if (found.size > MOST_READINGS || characters > MOST_CHARACTERS) return undefined
    for (const undo of undone) found.add(undo(reading))
  }
  found.delete(path)
  return found
}
