import { createHash, timingSafeEqual } from 'node:crypto'

// Who may read the admin pages? Who knows the token.
//
// Compared by digest, in the same time whatever was given: neither length nor a common start can be measured. Wrong ones are counted: after
// ten in a second they are answered 429, which says in the figures and the log that somebody is guessing. The right one is always taken:
// else a guesser could lock out the operators.

const MOST_FAILURES = 10
const WINDOW_MS = 1000

export type Verdict = 'ok' | 'none' | 'wrong' | 'too-many'

export class Token {
  /** Wrong ones, ever. */
  failures = 0
  /** SHA-256; undefined: everybody may. */
  private digest: Buffer | undefined
  private since = Number.NEGATIVE_INFINITY
  private lately = 0

  constructor(digest: Buffer | undefined) {
    this.digest = digest
  }

  change(digest: Buffer | undefined): void {
    this.digest = digest
  }

  /** `authorization`: the header's value. */
  check(authorization: string | undefined, now: number): Verdict {
    if (this.digest === undefined) return 'ok'
    if (authorization === undefined) return 'none'
    const given = createHash('sha256').update(tokenIn(authorization)).digest()
    if (timingSafeEqual(given, this.digest)) return 'ok'
    this.failures++
    if (now - this.since >= WINDOW_MS) {
      this.since = now
      this.lately = 0
    }
    this.lately++
    return this.lately > MOST_FAILURES ? 'too-many' : 'wrong'
  }

  /** True once for each window in which somebody guesses. */
  get alarming(): boolean {
    return this.lately === MOST_FAILURES + 1
  }
}

/** RFC 6750: the scheme in any case, then the token. No scheme: no token either. */
function tokenIn(authorization: string): string {
  return /^bearer +/i.test(authorization) ? authorization.replace(/^bearer +/i, '').trim() : ''
}
