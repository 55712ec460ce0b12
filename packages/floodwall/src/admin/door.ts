import type { IncomingHttpHeaders } from 'node:http'
import { hostname } from 'node:os'
import { Token } from './token.ts'

// Is it an operator who asks, and does he mean to ask us?
//
// A web page elsewhere can make a browser ask 127.0.0.1, under a name of its own that it points there (DNS rebinding), but not with
// `Host: 127.0.0.1`: so we answer to our own names only. Who asks is known by his token, or by being able to connect at all; never by a header
// that names an address.

/** Where it is asked: an end of a connection, or where a server listens. */
export interface Place {
  readonly address: string
  readonly port: number
}

/** What a question says of who asks. */
export interface Asking {
  readonly host?: string | undefined
  readonly authorization?: string | undefined
}

/** Why nobody is let in. */
export interface Refused {
  readonly status: 401 | 403 | 429
  readonly why: string
  readonly headers: Readonly<Record<string, string>>
}

export interface DoorOptions {
  /** SHA-256 of the token; undefined: none is asked for. */
  readonly token: Buffer | undefined
  /** Hosts that it answers to besides its own, in lower case. */
  readonly hosts: readonly string[]
}

/** The window in which wrong tokens are counted, in seconds. */
const GUESSER_WAITS_S = '1'

export class Door {
  readonly token: Token
  private hosts: readonly string[]

  constructor({ token, hosts }: DoorOptions) {
    this.token = new Token(token)
    this.hosts = hosts
  }

  change({ token, hosts }: DoorOptions): void {
    this.token.change(token)
    this.hosts = hosts
  }

  /** Why who asks at `place` is not let in; undefined: he is. A socket in the file system is no place: it has no port. */
  refusal({ host, authorization }: Asking, place: Place | undefined, now: number): Refused | undefined {
    if (!this.isOurs(host, place))
      return { status: 403, why: 'Ask for this page by one of its own names.', headers: {} }
    switch (this.token.check(authorization, now)) {
      case 'ok':
        return undefined
      case 'none':
        return unknown('This page needs a token: "Authorization: Bearer ...".')
      case 'wrong':
        return unknown('This is not the token.')
      case 'too-many':
        return { status: 429, why: 'Too many wrong tokens.', headers: { 'retry-after': GUESSER_WAITS_S } }
    }
  }

  private isOurs(host: string | undefined, place: Place | undefined): boolean {
    if (host === undefined) return false
    const asked = host.toLowerCase()
    if (this.hosts.includes(asked)) return true
    // Callers of a socket in the file system write what they like.
    if (place === undefined) return loopback.some((name) => asked === name)
    const ports = place.port === 80 ? ['', ':80'] : [`:${place.port}`]
    return ports.some((port) => [...loopback, nameOf(place.address)].some((name) => asked === name + port))
  }
}

function unknown(why: string): Refused {
  return { status: 401, why, headers: { 'www-authenticate': 'Bearer' } }
}

const loopback = ['127.0.0.1', '[::1]', 'localhost']

/** An address that was chosen is a name, too; "all of them" is none, but the machine has one. */
function nameOf(address: string): string {
  if (address === '0.0.0.0' || address === '::') return hostname().toLowerCase()
  return address.includes(':') ? `[${address}]` : address
}

/**
 * True when a browser asks for a page of another site, even one that is of the same machine. It says so itself: in `Sec-Fetch-Site`, and in `Origin` for
 * whatever is no plain reading. `host`: by what name we are asked.
 */
export function isCrossSite(headers: IncomingHttpHeaders, host: string | undefined): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  const own = host?.toLowerCase()
  return origin !== undefined && origin.toLowerCase() !== `http://${own}` && origin.toLowerCase() !== `https://${own}`
}

const byProxies = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via']

/** True when a proxy says that it asks for somebody else. One that says nothing is not known by anything. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  return byProxies.some((name) => headers[name] !== undefined)
}
