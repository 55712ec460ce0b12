import { DOT_SEGMENT, normalPath } from '../heads/target.ts'

// Which paths does a route stand for?
//
//   /health            exactly this one
//   /items/{id}        one segment, whatever it is; it must not be empty
//   /files/*.css       `*` stands for part of a segment, once in each
//   /shop/**           this and everything below: /shop, /shop/, /shop/a/b
//
// Patterns are compared with paths in their normal form, and so have one, too. What other readers would read otherwise (doubled slashes,
// parameters, encoded delimiters) is in no pattern: it would never be taken.
//
// Segment by segment, each looked at once: a pattern costs no more than the path is long, whoever writes either. Regular expressions from a
// file would be a way to stop the event loop.

type Segment =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'any'; readonly name: string }
  | { readonly kind: 'part'; readonly start: string; readonly end: string }

const MOST_SEGMENTS = 32
const LITERAL = /^[\w.~!$&'()+,=:@%-]*$/
/** Encodings of ASCII that are still there in a normal form stand for delimiters; and a segment is empty only at the end. */
const AMBIGUOUS = /%[0-7]|\/\//
const NAME = /^\{([A-Za-z][A-Za-z0-9_]{0,31})\}$/

export const patternForm =
  'a path such as /items, /items/{id}, /files/*.css or /shop/** (a name or one "*" per segment, "**" at the end)'

export class PathPattern {
  readonly text: string
  private readonly segments: readonly Segment[]
  /** Ends in `**`. */
  private readonly open: boolean
  /** All paths that match begin so: the literal segments at the front. */
  private readonly start: string

  private constructor(text: string, segments: readonly Segment[], open: boolean) {
    this.text = text
    this.segments = segments
    this.open = open
    const other = segments.findIndex(({ kind }) => kind !== 'literal')
    const literal = segments.slice(0, other < 0 ? segments.length : other) as { readonly text: string }[]
    this.start = literal.map(({ text: segment }) => `/${segment}`).join('')
  }

  /** Undefined when `text` is no pattern. */
  static of(text: string): PathPattern | undefined {
    if (!text.startsWith('/') || DOT_SEGMENT.test(text)) return undefined
    const normal = normalPath(text)
    if (normal === undefined || AMBIGUOUS.test(normal)) return undefined
    const parts = normal.slice(1).split('/')
    const open = parts.at(-1) === '**'
    if (open) parts.pop()
    if (parts.length > MOST_SEGMENTS) return undefined
    const segments: Segment[] = []
    for (const part of parts) {
      const segment = segmentOf(part)
      if (segment === undefined) return undefined
      segments.push(segment)
    }
    const names = segments.flatMap((segment) => (segment.kind === 'any' ? [segment.name] : []))
    return new Set(names).size === names.length ? new PathPattern(text, segments, open) : undefined
  }

  /** The names in braces, and `rest` where it ends in `**`. */
  get names(): string[] {
    const names = this.segments.flatMap((segment) => (segment.kind === 'any' ? [segment.name] : []))
    return this.open ? [...names, 'rest'] : names
  }

  /** `path` begins with "/" and has no query. */
  matches(path: string): boolean {
    if (!path.startsWith(this.start)) return false
    let at = 1
    for (const segment of this.segments) {
      // Behind the last segment there is none.
      if (at > path.length) return false
      const end = endOf(path, at)
      if (!fits(segment, path, at, end)) return false
      at = end + 1
    }
    return this.open || at > path.length
  }

  /** What the names stand for in `path`, which matches. */
  valuesIn(path: string): Map<string, string> {
    const values = new Map<string, string>()
    let at = 1
    for (const segment of this.segments) {
      const end = endOf(path, at)
      if (segment.kind === 'any') values.set(segment.name, path.slice(at, end))
      at = end + 1
    }
    if (this.open) values.set('rest', path.slice(at))
    return values
  }
}

function segmentOf(text: string): Segment | undefined {
  const name = NAME.exec(text)?.[1]
  if (name !== undefined) return { kind: 'any', name }
  const [start = '', end, ...more] = text.split('*')
  if (more.length > 0 || !LITERAL.test(start) || !LITERAL.test(end ?? '')) return undefined
  return end === undefined ? { kind: 'literal', text } : { kind: 'part', start, end }
}

function endOf(path: string, at: number): number {
  const end = path.indexOf('/', at)
  return end < 0 ? path.length : end
}

function fits(segment: Segment, path: string, at: number, end: number): boolean {
  switch (segment.kind) {
    case 'any':
      return end > at
    case 'literal':
      return end - at === segment.text.length && path.startsWith(segment.text, at)
    case 'part': {
      const { start, end: tail } = segment
      return (
        end - at >= start.length + tail.length && path.startsWith(start, at) && path.startsWith(tail, end - tail.length)
      )
    }
  }
}
