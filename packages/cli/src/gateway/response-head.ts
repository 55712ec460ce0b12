import { CONNECTION, LENGTH, namedBy, PASS, RETRY_AFTER, removeNamed, responseNames } from './header-names.ts'

// What the caller gets of the upstream's head. The same rules as for requests: what speaks about the connection between the gateway and the
// upstream ends here, the rest passes line by line.

/** Whose body has no length of its own: a Content-Length there would be taken for one. */
const NO_CONTENT = 204

export class ResponseHead {
  readonly status: number
  /** Flat: name, value, name, value. */
  readonly lines: string[]
  /** The upstream has said how long the body is. */
  readonly hasLength: boolean

  constructor(status: number, raw: readonly Buffer[]) {
    const lines: string[] = []
    let hasLength = false
    let named: Set<string> | null = null
    for (let i = 0; i < raw.length; i += 2) {
      // Latin-1 is what both sides mean by a byte of a header.
      const name = (raw[i] as Buffer).toString('latin1')
      const value = (raw[i + 1] as Buffer).toString('latin1')
      switch (responseNames.role(name)) {
        case PASS:
        case RETRY_AFTER:
          lines.push(name, value)
          break
        case LENGTH:
          if (status === NO_CONTENT) break
          lines.push(name, value)
          hasLength = true
          break
        case CONNECTION:
          named = namedBy(value, named)
          break
        default:
          break
      }
    }
    if (named !== null) removeNamed(lines, named)
    this.status = status
    this.lines = lines
    this.hasLength = hasLength
  }
}

/** Longest pause that an upstream may ask for: a hostile or mistaken one must not silence a caller for ever. */
const LONGEST_PAUSE_S = 300

/** What `Retry-After` asks for, in milliseconds; 0 when it does not ask, or in a way that is not a whole number of seconds. */
export function retryAfterMs(raw: readonly Buffer[]): number {
  for (let i = 0; i < raw.length; i += 2) {
    if (responseNames.role((raw[i] as Buffer).toString('latin1')) !== RETRY_AFTER) continue
    const value = (raw[i + 1] as Buffer).toString('latin1').trim()
    return /^\d{1,9}$/.test(value) ? Math.min(Number(value), LONGEST_PAUSE_S) * 1000 : 0
  }
  return 0
}
