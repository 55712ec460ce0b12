// Is the key one of those that a pattern names, whoever has written either?
//
// `*` stands for any run of characters, also for none; everything else for itself. The parts between the stars are looked for from left to
// right, each as early as it is there, which is enough: an earlier end leaves more to the others. Each part is looked for by Knuth, Morris and
// Pratt, so that no character of the key is looked at more than twice. No regular expression is made of what stands in a file.
//
// `free:*:eu-*`: begins with "free:", and somewhere behind it is ":eu-".
//
// Invariant: time is linear in the length of the key, whatever the pattern.

export class Glob {
  readonly text: string
  /** Characters before the first star, and all that are no star: the more of them, the more exact it is. */
  readonly prefix: number
  readonly literal: number
  private readonly first: string
  private readonly last: string
  private readonly middle: readonly Part[]

  constructor(text: string) {
    const parts = text.split('*')
    this.text = text
    this.first = parts[0] as string
    this.last = parts.length === 1 ? '' : (parts.at(-1) as string)
    this.middle = parts.slice(1, -1).flatMap((part) => (part === '' ? [] : [new Part(part)]))
    this.prefix = this.first.length
    this.literal = text.length - (parts.length - 1)
  }

  matches(key: string): boolean {
    const { first, last } = this
    const end = key.length - last.length
    if (this.literal === this.text.length) return key === first
    if (end < first.length || !key.startsWith(first) || !key.endsWith(last)) return false
    let from = first.length
    for (const part of this.middle) {
      from = part.endIn(key, from, end)
      if (from < 0) return false
    }
    return true
  }
}

/** What stands between two stars. */
class Part {
  private readonly text: string
  /** How much of the part is still there when its next character is not. */
  private readonly back: Uint16Array

  constructor(text: string) {
    this.text = text
    this.back = new Uint16Array(text.length + 1)
    for (let i = 1, fit = 0; i < text.length; i++) {
      fit = this.step(fit, text.charCodeAt(i))
      this.back[i + 1] = fit
    }
  }

  /** So many characters fitted, and then comes `unit`. */
  private step(fit: number, unit: number): number {
    const { text, back } = this
    let fits = fit
    while (fits > 0 && text.charCodeAt(fits) !== unit) fits = back[fits]!
    return text.charCodeAt(fits) === unit ? fits + 1 : fits
  }

  /** Where its first occurrence in `key` between `from` and `end` ends, or -1. */
  endIn(key: string, from: number, end: number): number {
    let fit = 0
    for (let at = from; at < end; at++) {
      fit = this.step(fit, key.charCodeAt(at))
      if (fit === this.text.length) return at + 1
    }
    return -1
  }
}
