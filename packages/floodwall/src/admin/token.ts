import { createHash, timingSafeEqual } from 'node:crypto'

// Who may come in? Who knows the token.
//
// Compared by digest, in the same time whatever was given: neither length nor a common start can be measured. Wrong ones are counted: after
// ten in a second they are answered 429, which says in the figures and the log that somebody is guessing. The right one is always taken:
// else a guesser could lock out the operators.

const MOST_FAILURES = 10
const WINDOW_MS = 1000

export type TokenVerdict = 'ok' | 'none' | 'wrong' | 'too-many'

/** Shorter can be guessed by asking. */
const SHORTEST = 16
const VISIBLE = /^[\x21-\x7e]+$/

/** What a token is, in words. */
export const tokenForm = `a token of at least ${SHORTEST} visible characters`

export function isToken(text: unknown): text is string {
  return typeof text === 'string' && text.length >= SHORTEST && VISIBLE.test(text)
}

/** What is kept of a token: SHA-256. */
export function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

export class Token {
  /** Wrong ones, ever. */
  failures = 0
  /** Undefined: everybody may. */
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
  check(authorization: string | undefined, now: number): TokenVerdict {
    if (this.digest === undefined) return 'ok'
    if (authorization === undefined) return 'none'
    if (timingSafeEqual(digestOf(tokenIn(authorization)), this.digest)) return 'ok'
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
