import { BlockList, isIP } from 'node:net'
import * as v from 'valibot'

// Who is believed?
//
// By the address of the peer, which is the only thing about it that it cannot write itself. Behind a proxy that is the proxy: trust it if it
// drops what strangers send.

/** Addresses and networks (`'10.0.0.0/8'`, `'::1'`), or a function of the peer's address. */
export type Trust = readonly string[] | ((address: string) => boolean)

export const trust: v.GenericSchema<Trust, Trust> = v.custom<Trust>(
  (input) =>
    typeof input === 'function' ||
    (Array.isArray(input) && input.every((entry) => typeof entry === 'string' && isNetwork(entry))),
  'addresses and networks such as "10.0.0.0/8" or "::1", or a function of the address',
)

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
}

/** `trust` as a function, which throws at nobody; an address that is not known is not trusted. */
export function trusting(trusted: Trust): (address: string | undefined) => boolean {
  if (typeof trusted === 'function') return (address) => address !== undefined && isTrustedBy(trusted, address)
  const list = new BlockList()
  for (const entry of trusted) {
    const [address = '', prefix] = entry.split('/')
    const family = familyOf(address)
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  // Also for IPv4 that arrives as IPv6 (`::ffff:10.0.0.1`), as on a socket that listens on both.
  return (address) => address !== undefined && isIP(address) !== 0 && list.check(address, familyOf(address))
}

/** By true, and by nothing else: who forgets that his function is async would trust everybody. One that throws trusts nobody. */
function isTrustedBy(trusted: (address: string) => unknown, address: string): boolean {
  try {
    return trusted(address) === true
  } catch {
    return false
  }
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6'
}
