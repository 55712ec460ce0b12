import * as v from 'valibot'

// Headers that an operator sets and removes.
//
// Values are constants from the settings, with names of the route's path in braces: `item {id}`. What a name stands for is a piece of a path
// in its normal form: percent-encoded text, in which no caller can write the end of a line, or anything else that is not visible ASCII.

const MOST_EDITS = 100
/** Lengths from here on share a bit. */
const LONGER = 31
/** What frames a message, or speaks about one connection, is the gateway's to write. In lower case. */
const OURS = /^(?:connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/

const headerName = v.pipe(
  v.string('the name of a header'),
  v.regex(/^[!#$%&'*+.^`|~\w-]{1,100}$/, 'the name of a header'),
  v.transform((name) => name.toLowerCase()),
  v.check((name) => !OURS.test(name), 'a header that is not about framing or one connection'),
)

/** Of a client's lines these never go to a server, or not as he wrote them. */
const NEVER_SENT = /_|^(?:client-cert-chain|http2-settings|x-request-id)$/

/** The name of a header that a server may get from a client, or from the gateway on his account. */
export const sentHeader = v.pipe(
  headerName,
  v.check((name) => !NEVER_SENT.test(name), 'a header that goes to the server'),
)

const headerValue = v.pipe(
  v.string('a text'),
  v.maxLength(4096, 'at most 4096 characters'),
  v.regex(/^[\t\x20-\x7e]*$/, 'visible characters of ASCII, blanks and tabs'),
)

/** `{ set: { x-tier: gold }, remove: [x-debug] }` */
export const headerEdits = v.pipe(
  v.strictObject({
    /** Takes the place of all lines of that name, or is added. */
    set: v.optional(v.record(headerName, headerValue, 'names and values'), {}),
    /** Names. */
    remove: v.optional(
      v.pipe(v.array(headerName, 'a list of names'), v.maxLength(MOST_EDITS, `at most ${MOST_EDITS}`)),
      [],
    ),
  }),
  v.transform(({ set, remove }): HeaderEdits => editsOf(Object.entries(set), remove)),
)

/** A value with names in it: texts, and between each two of them a name. */
interface Template {
  readonly header: string
  readonly texts: readonly string[]
  readonly names: readonly string[]
}

export interface HeaderEdits {
  /** Flat, lower-case names: name, value. */
  readonly set: readonly string[]
  readonly templates: readonly Template[]
  /** Lines that go: those removed, and those that are set anew. */
  readonly gone: ReadonlySet<string>
  /** A bit for each length that one of them has: most lines are let through by their length. */
  readonly lengths: number
}

export const noEdits: HeaderEdits = { set: [], templates: [], gone: new Set(), lengths: 0 }

const NAME = /\{([A-Za-z][A-Za-z0-9_]{0,31})\}/g

function editsOf(set: readonly (readonly [string, string])[], remove: readonly string[]): HeaderEdits {
  if (set.length === 0 && remove.length === 0) return noEdits
  const all = set.map(([header, value]) => templateOf(header, value))
  const constants = all.filter(({ names }) => names.length === 0).flatMap(({ header, texts }) => [header, ...texts])
  const templates = all.filter(({ names }) => names.length > 0)
  const gone = new Set([...remove, ...set.map(([name]) => name)])
  let lengths = 0
  for (const { length } of gone) lengths |= 1 << Math.min(length, LONGER)
  return { set: constants, templates, gone, lengths }
}

function templateOf(header: string, value: string): Template {
  const pieces = value.split(NAME)
  return { header, texts: pieces.filter((_, i) => i % 2 === 0), names: pieces.filter((_, i) => i % 2 === 1) }
}

/** As it was written. */
export function textOf({ texts, names }: Template): string {
  return texts.map((text, i) => text + (i < names.length ? `{${names[i]}}` : '')).join('')
}

/** Edits flat lines in place. `values`: what the names stand for. */
export function edit(
  lines: string[],
  { set, templates, gone, lengths }: HeaderEdits,
  values: ReadonlyMap<string, string>,
): void {
  if (lengths !== 0) {
    let kept = 0
    for (let i = 0; i < lines.length; i += 2) {
      const name = lines[i] as string
      if (((lengths >> Math.min(name.length, LONGER)) & 1) !== 0 && gone.has(name.toLowerCase())) continue
      if (kept !== i) {
        lines[kept] = name
        lines[kept + 1] = lines[i + 1] as string
      }
      kept += 2
    }
    if (kept !== lines.length) lines.length = kept
  }
  for (let i = 0; i < set.length; i += 2) lines.push(set[i] as string, set[i + 1] as string)
  for (const { header, texts, names } of templates) {
    let value = texts[0] as string
    for (let i = 0; i < names.length; i++) value += (values.get(names[i] as string) ?? '') + (texts[i + 1] as string)
    lines.push(header, value)
  }
}
