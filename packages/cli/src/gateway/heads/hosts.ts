import { hostOf } from '../routes/host-pattern.ts'

// Is this a host, and which? The same few are named by nearly all requests, so that the answer is remembered per spelling.

/** What a host may look like, port included: a name or an address, and nothing that would mean something elsewhere. */
const AUTHORITY = /^(?:[a-z0-9_][\w.-]{0,253}|\[[0-9a-f:.]{2,45}\])(?::\d{0,5})?$/i

/** Callers choose them, so there is an end to it; what comes later is worked out each time. */
const MOST_SPELLINGS = 512

export class Hosts {
  private readonly spellings = new Map<string, string>()

  /** The host of an authority as `hostOf` says it; undefined when it is none. */
  of(authority: string): string | undefined {
    const known = this.spellings.get(authority)
    if (known !== undefined) return known
    if (!AUTHORITY.test(authority)) return undefined
    const host = hostOf(authority)
    if (this.spellings.size < MOST_SPELLINGS) this.spellings.set(authority, host)
    return host
  }
}
