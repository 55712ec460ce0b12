// What does a list of structured fields say? (RFC 9651, 4.2.1)
//
// Members that are strings or tokens, with parameters: all that the fields about rates need. Everything else that may stand there is read by its
// grammar and kept as nothing: a comment in a parameter must not hide the member. A line that breaks the grammar says nothing at all, and lists within
// lists are of no field that we know.
//
//   "a";q=10;w=1, b;x=?1  ->  a with q 10 and w 1; b with x, which is no number and no text
//
// Invariant: one pass over at most MOST_CHARS; never throws.

/** A member of a list: its text, and its parameters. */
export interface ListMember {
  readonly text: string
  /** Numbers and texts; undefined for what is neither (true, bytes, dates). */
  readonly parameters: ReadonlyMap<string, number | string | undefined>
}

/** A field is a line among others: servers take heads of 16 KiB in all. */
const MOST_CHARS = 8192
/** Nobody has so many limits; RFC 9651 asks for 1024, of which we would use none. */
const MOST_MEMBERS = 16

const SPACES = /[ \t]*/y
const BLANKS = / */y
const KEY = /[a-z*][a-z0-9_\-.*]*/y
/** An integer of at most 15 digits, or a decimal of 12 and 3. */
const NUMBER = /-?(?:\d{1,12}\.\d{1,3}|\d{1,15})(?![\d.])/y
const STRING = /"((?:[ !#-[\]-~]|\\["\\])*)"/y
const TOKEN = /[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*/y
/** Byte sequences, booleans, dates, and strings of more than ASCII. */
const OTHERS = [/:[A-Za-z0-9+/=]*:/y, /\?[01]/y, /@-?\d{1,15}(?![\d.])/y, /%"(?:[ !#$&-~]|%[0-9a-f]{2})*"/y]

class Reader {
  private readonly text: string
  private at = 0

  constructor(text: string) {
    this.text = text
  }

  get atEnd(): boolean {
    return this.at >= this.text.length
  }

  /** Steps over what `pattern` matches here. */
  match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)
    if (found !== null) this.at = pattern.lastIndex
    return found
  }

  skip(char: string): boolean {
    if (this.text[this.at] !== char) return false
    this.at++
    return true
  }

  /** A text, a number, or undefined for another item; null for what is none. */
  item(): string | number | undefined | null {
    const string = this.match(STRING)
    if (string !== null) return (string[1] as string).replace(/\\(["\\])/g, '$1')
    const number = this.match(NUMBER)
    if (number !== null) return Number(number[0])
    const token = this.match(TOKEN)
    if (token !== null) return token[0]
    return OTHERS.some((pattern) => this.match(pattern) !== null) ? undefined : null
  }

  /** Of several with one name the last counts. Null: against the grammar. */
  parameters(): Map<string, number | string | undefined> | null {
    const parameters = new Map<string, number | string | undefined>()
    while (this.skip(';')) {
      this.match(BLANKS)
      const key = this.match(KEY)?.[0]
      if (key === undefined) return null
      const value = this.skip('=') ? this.item() : undefined
      if (value === null) return null
      parameters.set(key, value)
    }
    return parameters
  }
}

/** The members of `line`, several lines joined by commas; none where it breaks the grammar or is larger than anybody needs. */
export function readList(line: string): ListMember[] {
  if (line.length > MOST_CHARS) return []
  const reader = new Reader(line)
  const members: ListMember[] = []
  reader.match(BLANKS)
  for (let count = 0; !reader.atEnd; count++) {
    if (count === MOST_MEMBERS) return []
    const text = reader.item()
    const parameters = text === null ? null : reader.parameters()
    if (parameters === null) return []
    if (typeof text === 'string') members.push({ text, parameters })
    reader.match(SPACES)
    if (reader.atEnd) break
    if (!reader.skip(',')) return []
    reader.match(SPACES)
    // A comma promises another one.
    if (reader.atEnd) return []
  }
  return members
}

const PLAIN = /^[ !#-[\]-~]*$/

/** `text` as a string of structured fields: what is not printable ASCII is a question mark, and it ends after `most` characters. */
export function writeString(text: string, most: number): string {
  // Most names are plain, and written with every answer.
  if (text.length <= most && PLAIN.test(text)) return `"${text}"`
  const plain = text.slice(0, most).replace(/[^ -~]/g, '?')
  return `"${plain.replace(/["\\]/g, '\\$&')}"`
}
