// Whose door did the request knock on?
//
// Hosts are compared without case, port and the final dot that says the same (RFC 9110, 4.2.3; RFC 1034, 3.1). `*.example.com` stands for
// every host below example.com, at any depth, and not for itself.

const NAME = /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/
const SIX = /^\[[0-9a-f:.]+\]$/

export const hostForm = 'a host such as example.com, *.example.com or [::1], without a port'

export class HostPattern {
  readonly text: string
  private readonly below: boolean
  private readonly host: string

  private constructor(text: string) {
    this.text = text
    this.below = text.startsWith('*.')
    this.host = this.below ? text.slice(1) : text
  }

  /** Undefined when `text` is no host. */
  static of(text: string): HostPattern | undefined {
    const lower = text.toLowerCase().replace(/\.$/, '')
    return lower.length <= 253 && (NAME.test(lower) || SIX.test(lower)) ? new HostPattern(lower) : undefined
  }

  /** `host` is as {@link hostOf} says it. */
  matches(host: string): boolean {
    return this.below ? host.length > this.host.length && host.endsWith(this.host) : host === this.host
  }
}

/** The host of an authority: without port and final dot, in lower case. */
export function hostOf(authority: string): string {
  const colon = authority.lastIndexOf(':')
  const bare = colon > authority.lastIndexOf(']') ? authority.slice(0, colon) : authority
  return (bare.endsWith('.') ? bare.slice(0, -1) : bare).toLowerCase()
}
