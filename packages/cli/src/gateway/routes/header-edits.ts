import * as v from 'valibot'

// Headers that an operator sets and removes.
//
// Values are constants from the configuration, or pieces of the path by name; nothing that a caller wrote can end a line, since what he
// wrote is checked, and the line is written as one.

const MOST_EDITS = 100
/** What frames a message, or speaks about one connection, is the gateway's to write. */
const OURS = /^(?:connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/i

const headerName = v.pipe(
  v.string('the name of a header'),
  v.regex(/^[!#$%&'*+.^`|~\w-]{1,100}$/, 'the name of a header'),
  v.check((name) => !OURS.test(name), 'a header that is not about framing or one connection'),
  v.transform((name) => name.toLowerCase()),
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

export interface HeaderEdits {
  /** Flat, lower-case names: name, value. */
  readonly set: readonly string[]
  /** Lines that go: those removed, and those that are set anew. */
  readonly gone: ReadonlySet<string>
}

export const noEdits: HeaderEdits = { set: [], gone: new Set() }

function editsOf(set: readonly (readonly [string, string])[], remove: readonly string[]): HeaderEdits {
  if (set.length === 0 && remove.length === 0) return noEdits
  return { set: set.flat(), gone: new Set([...remove, ...set.map(([name]) => name)]) }
}

/** Edits flat lines in place. */
export function edit(lines: string[], { set, gone }: HeaderEdits): void {
  if (gone.size > 0) {
    let kept = 0
    for (let i = 0; i < lines.length; i += 2) {
      if (gone.has((lines[i] as string).toLowerCase())) continue
      lines[kept] = lines[i] as string
      lines[kept + 1] = lines[i + 1] as string
      kept += 2
    }
    lines.length = kept
  }
  for (const part of set) lines.push(part)
}
