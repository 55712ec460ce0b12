import { Glob } from './glob.ts'
import type { Key } from './key-table.ts'

// Which limit does a key have, if some have one of their own?
//
// The one that names the key exactly; else that of the most exact pattern, which is the one with the longest part before its first star, and of
// two alike the one with more characters that are no star, and then the one that was said first. Keys are compared as texts: a document cannot say the number 1.
//
// `free:*`, `free:eu-*`, `free:eu-7`: free:eu-7 has the third, free:eu-8 the second, free:us-1 the first, and ann none of them.
//
// Invariant: the answer depends on the key alone, and the time for it on its length and the number of patterns.

export class KeyOverrides {
  private readonly exact = new Map<string, number>()
  private readonly globs: { readonly glob: Glob; readonly at: number }[] = []

  /** `names`: keys and patterns; the place of each is what `find` answers. */
  constructor(names: readonly string[]) {
    for (const [at, name] of names.entries()) {
      if (name.includes('*')) this.globs.push({ glob: new Glob(name), at })
      else this.exact.set(name, at)
    }
    this.globs.sort((a, b) => b.glob.prefix - a.glob.prefix || b.glob.literal - a.glob.literal || a.at - b.at)
  }

  /** Where among the names is the one that `key` goes by, or -1. */
  find(key: Key): number {
    if (this.exact.size === 0 && this.globs.length === 0) return -1
    const text = String(key)
    const exact = this.exact.get(text)
    if (exact !== undefined) return exact
    for (const { glob, at } of this.globs) if (glob.matches(text)) return at
    return -1
  }
}
