import { randomBytes } from 'node:crypto'

// What is a request called, from the log of the gateway to those behind it?
//
// A name per process and a counter: unique, and thirty times cheaper than a random one. A name that came with the request counts only from
// a trusted peer: strangers could make two requests share one, or write into logs what they like.

const MOST_LENGTH = 128

export class RequestIds {
  private readonly start = `${randomBytes(6).toString('hex')}-`
  private last = 0

  next(): string {
    this.last = (this.last + 1) % Number.MAX_SAFE_INTEGER
    return this.start + this.last.toString(36)
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
