import { DOT_SEGMENT, normalPath } from '../heads/target.ts'

// Under which path does the server know what was asked for?
//
// A template with the names of the route's path in braces: `/v2/{id}`, `/{rest}`. What a name stood for is a part of a path already, checked
// and normalised, so that putting it elsewhere in a path needs no encoding; the query stays as it came.

const PART = /\{([A-Za-z][A-Za-z0-9_]*)\}|([\w.~!$&'()*+,;=:@%/-]+)/y

export const rewriteForm = 'a path with names in braces, such as /v2/{id} or /{rest}'

export class Rewrite {
  readonly text: string
  readonly names: readonly string[]
  private readonly parts: readonly (string | { readonly name: string })[]

  private constructor(text: string, parts: readonly (string | { readonly name: string })[]) {
    this.text = text
    this.parts = parts
    this.names = parts.flatMap((part) => (typeof part === 'string' ? [] : [part.name]))
  }

  /** Undefined when `text` is no template. */
  static of(text: string): Rewrite | undefined {
    if (!text.startsWith('/') || normalPath(text) === undefined) return undefined
    // What stands for `rest` may be nothing.
    if (DOT_SEGMENT.test(text) || DOT_SEGMENT.test(text.replaceAll('{rest}', ''))) return undefined
    const parts: (string | { readonly name: string })[] = []
    PART.lastIndex = 0
    while (PART.lastIndex < text.length) {
      const found = PART.exec(text)
      if (found === null) return undefined
      parts.push(found[1] === undefined ? (found[2] as string) : { name: found[1] })
    }
    return new Rewrite(text, parts)
  }

  /** The path for these values; a name that is not there is nothing. */
  path(values: ReadonlyMap<string, string>): string {
    let path = ''
    for (const part of this.parts) path += typeof part === 'string' ? part : (values.get(part.name) ?? '')
    return path
  }
}
