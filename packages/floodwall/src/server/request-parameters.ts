import type { Chain } from '../core/chain.ts'
import type { CallParameters } from '../core/init.ts'
import type { Layer } from '../core/layer.ts'
import type { Pipeline } from '../core/pipeline.ts'

// What does a request say under a name? For layers that limit a value: `hotParameter({ parameter: 'query:item' })`.
//
// `header:x-shop` is a line of the head, `path:0` the first segment of the path, `query:item` what the query says. A value is read as servers read it, decoded:
// `%34%32` is 42. What is there twice is a list, of which nobody knows which one the handler will take; it is not nothing, or to say a thing twice would be a
// way around its limit.
//
//   /items/42?shop=a&shop=b  ->  path:1 is '42', query:shop is ['a', 'b'], query:page is undefined
//
// Invariant: asked for only where a layer asks; never throws.

/** `target`: path and query as they came; `lines`: the head, flat, as in `rawHeaders`. */
export function parameterOf(name: string, target: string, lines: readonly string[]): unknown {
  const colon = name.indexOf(':')
  const what = name.slice(colon + 1)
  switch (name.slice(0, colon)) {
    case 'header':
      return oneOrAll(headersIn(lines, what.toLowerCase()))
    case 'path':
      return segmentOf(target, what)
    case 'query':
      return oneOrAll(queriesIn(target, what))
    default:
      return undefined
  }
}

function oneOrAll(values: readonly string[]): string | readonly string[] | undefined {
  return values.length > 1 ? values : values[0]
}

function headersIn(lines: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const line = lines[i] as string
    if (line.length === name.length && line.toLowerCase() === name) values.push(lines[i + 1] as string)
  }
  return values
}

/** Without the query; a target may be a whole address. */
function segmentOf(target: string, what: string): string | undefined {
  if (!/^\d{1,3}$/.test(what)) return undefined
  const path = (target.split(/[?#]/, 1)[0] as string).replace(/^[a-z]+:\/\/[^/]*/i, '')
  const segment = path.split('/')[Number(what) + 1]
  return segment === undefined || segment === '' ? undefined : decoded(segment)
}

function queriesIn(target: string, what: string): string[] {
  const mark = target.indexOf('?')
  if (mark < 0) return []
  const values: string[] = []
  for (const pair of target.slice(mark + 1).split('&')) {
    const equals = pair.indexOf('=')
    const name = equals < 0 ? pair : pair.slice(0, equals)
    if (plain(name) === what) values.push(equals < 0 ? '' : plain(pair.slice(equals + 1)))
  }
  return values
}

/** In a query a plus is a blank. */
function plain(text: string): string {
  return decoded(text.replaceAll('+', ' '))
}

/** What cannot be decoded is what it is. */
function decoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Parameters for the pipeline of an edge, where one of its layers asks for any. */
export class RequestParameters {
  private readonly pipeline: Pipeline
  /** As it was when it was looked at: a reload makes another one. */
  private chain: Chain | null = null
  private asked = false

  constructor(pipeline: Pipeline) {
    this.pipeline = pipeline
  }

  /** Those of a request; undefined: nobody asks. */
  of(request: {
    readonly url?: string | undefined
    readonly rawHeaders: readonly string[]
  }): CallParameters | undefined {
    const { chain } = this.pipeline
    if (chain !== this.chain) {
      this.chain = chain
      this.asked = chain.layers.some(({ layer }) => asks(layer))
    }
    return this.asked ? (name) => parameterOf(name, request.url ?? '/', request.rawHeaders) : undefined
  }
}

function asks({ kind, options }: Layer): boolean {
  if (kind === 'hotParameter') return true
  const { of } = options as { readonly of?: Layer }
  return of !== undefined && typeof of === 'object' && 'kind' in of && asks(of)
}
