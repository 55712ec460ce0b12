import type { Call } from '../core/call.ts'
import type { Init } from '../core/init.ts'

// Which API does a request call?
//
// Its name where the caller has given one (`route`); else the method and the path without what tells one item from another, so that what a
// server says of one item holds for its neighbours. Rather too many names than too few: what looks like a word stays one, and a pause that
// was asked for one word does not silence another.
//
//   GET /items/4711?page=2 -> GET /items/{id}

/** What a client says of its own requests: the path, where nobody has named the route. */
export interface Asked extends Init {
  readonly path?: string
}

/** What there is to say of a request about which its caller says `about`. */
export function asked(method: string, path: string, about: Init): Asked {
  return about.method === undefined ? { method, path } : {}
}

/** Deeper paths are told apart by their beginning. */
const MOST_SEGMENTS = 8
const LONGEST = 200

/** Numbers, dates and versions; UUIDs, hashes and tokens: long, and with a digit. */
const ID = /^(?:\d[\d.,:_-]*|(?=[^\d]*\d)[\w.~%-]{16,})$/

export function apiOf(call: Call): string {
  const { method = '', path } = call.init as Asked
  return path === undefined ? method : `${method} ${patternOf(path)}`
}

/** A path that begins with a slash, with `{id}` for what looks like one. */
export function patternOf(path: string): string {
  const end = path.search(/[?#]/)
  const segments = (end < 0 ? path : path.slice(0, end)).split('/', MOST_SEGMENTS + 1)
  return segments
    .map((segment) => (ID.test(segment) ? '{id}' : segment))
    .join('/')
    .slice(0, LONGEST)
}
