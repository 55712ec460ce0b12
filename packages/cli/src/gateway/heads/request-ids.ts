import { randomBytes } from 'node:crypto'

// What is a request called, from the log of the gateway to those behind it?
//
// A name per process and a counter: unique, and thirty times cheaper than a random one. A name that came with the request counts only from
// a trusted peer: strangers could make two requests share one, or write into logs what they like.

const MOST_LENGTH = 128
/** `00` to `zz`: to write a number in base 36 costs as much as the rest of a name, so that it is done once in so many. */
const ENDINGS: readonly string[] = Array.from({ length: 36 ** 2 }, (_, i) => i.toString(36).padStart(2, '0'))

export class RequestIds {
  private readonly start = `${randomBytes(6).toString('hex')}-`
  private blocks = 0
  private block = this.start
  private last = 0

  next(): string {
    if (++this.last === ENDINGS.length) this.renew()
    return this.block + ENDINGS[this.last]
  }

  private renew(): void {
    this.blocks = (this.blocks + 1) % Number.MAX_SAFE_INTEGER
    this.block = this.start + this.blocks.toString(36)
    this.last = 0
  }
}

/** Letters, digits and what separates them: nothing that a log or a shell could take for more. */
export function isRequestId(text: string): boolean {
  if (text.length === 0 || text.length > MOST_LENGTH) return false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    const fine =
      (code >= 48 && code <= 57) ||
      (code >= 65 && code <= 90) ||
      (code >= 97 && code <= 122) ||
      code === 45 ||
      code === 46 ||
      code === 95 ||
      code === 58
    if (!fine) return false
  }
  return true
}
