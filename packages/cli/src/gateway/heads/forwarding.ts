import { isIP } from 'node:net'
import {
  FORWARDED,
  FORWARDED_FOR,
  FORWARDED_HOST,
  FORWARDED_PROTO,
  FORWARDED_STANDARD,
  requestNames,
} from './header-names.ts'
import { isNone, numberOfFour } from './ip-address.ts'

// For whom, and by which way, did a request come?
//
// What a stranger says about that is replaced; what a trusted peer says is kept and continued: its list of addresses grows by its own, and
// its word about host, scheme and port stands. From that list `X-Real-IP` is ours to say: the address next to the last trusted one, since
// whatever is left of it may be invented (a proxy appends to what its client sent).
//
//   X-Forwarded-For: 6.6.6.6, 192.0.2.7   from 10.0.0.1, which is trusted:  192.0.2.7 it is

/** Who sent it, as the connection knows him. */
export interface Sender {
  readonly address: string
  /** The connection speaks TLS. */
  readonly secure: boolean
  readonly trusted: boolean
  /** Trusted, and may name the highest class. */
  readonly criticalPlus: boolean
  /** What it has proved about itself, as RFC 9440 writes it; '' for nothing. */
  readonly certificate: string
  /** True for an address that is trusted. */
  readonly trusts: (address: string) => boolean
}

/** What a trusted peer says about those before it. */
export class Claims {
  addresses = ''
  proto = ''
  host = ''
  /** The lines of `Forwarded` (RFC 7239), as one list. */
  standard = ''
  /** Other lines of this family, as they came. */
  readonly others: string[] = []

  add(name: string, value: string, role: number = requestNames.role(name)): void {
    switch (role) {
      case FORWARDED_FOR:
        this.addresses = joined(this.addresses, value)
        break
      // Of several lines the last was written by the proxy next to us.
      case FORWARDED_PROTO:
        this.proto = value
        break
      case FORWARDED_HOST:
        this.host = value
        break
      case FORWARDED_STANDARD:
        this.standard = joined(this.standard, value)
        break
      case FORWARDED:
        this.others.push(name, value)
        break
    }
  }
}

function joined(list: string, more: string): string {
  return list === '' ? more : `${list}, ${more}`
}

/** Adds our lines; `standard` asks for `Forwarded`, too. Answers with the address of the client that all this is about. */
export function forward(
  lines: string[],
  sender: Sender,
  host: string,
  claims: Claims | null,
  standard: boolean,
): string {
  const { address, secure } = sender
  const proto = secure ? 'https' : 'http'
  if (claims === null) {
    lines.push('x-forwarded-for', address, 'x-forwarded-proto', proto)
    if (host !== '') lines.push('x-forwarded-host', host)
    lines.push('x-real-ip', address)
    if (standard) lines.push('forwarded', elementOf(address, proto, host))
    return address
  }
  const client = clientIn(claims.addresses, sender)
  lines.push('x-forwarded-for', joined(claims.addresses, address), 'x-forwarded-proto', claims.proto || proto)
  const asked = claims.host || host
  if (asked !== '') lines.push('x-forwarded-host', asked)
  if (claims.others.length > 0) lines.push(...claims.others)
  lines.push('x-real-ip', client)
  if (standard) lines.push('forwarded', joined(claims.standard, elementOf(address, proto, host)))
  else if (claims.standard !== '') lines.push('forwarded', claims.standard)
  return client
}

/** One element of RFC 7239: what is not a token stands in quotes. */
function elementOf(address: string, proto: string, host: string): string {
  const node = address.includes(':') ? `"[${address}]"` : address
  const asked = host === '' ? '' : `;host=${host.includes(':') || host.includes('[') ? `"${host}"` : host}`
  return `for=${node};proto=${proto}${asked}`
}

/** The address next to the last trusted one. */
function clientIn(addresses: string, { address, trusts }: Sender): string {
  let client = address
  let end = addresses.length
  // The sender was looked up when he connected.
  while (end > 0 && (client === address || trusts(client))) {
    const comma = addresses.lastIndexOf(',', end - 1)
    const next = bareAddress(addresses.slice(comma + 1, end).trim())
    // "unknown", or nothing that anybody could know.
    if (next === '') break
    client = next
    end = comma
  }
  return client
}

const FOUR = /^(\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?$/
const SIX = /^\[?([0-9A-Fa-f:.]{2,45})\]?(?::\d{1,5})?$/

/** Without port and brackets, which some proxies write; '' for what is no address. */
function bareAddress(text: string): string {
  if (!isNone(numberOfFour(text))) return text
  const found = FOUR.exec(text)?.[1] ?? SIX.exec(text)?.[1] ?? ''
  const address = found.toLowerCase().startsWith('::ffff:') && found.includes('.') ? found.slice(7) : found
  return isIP(address) === 0 ? '' : address
}
