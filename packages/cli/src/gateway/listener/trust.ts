import { BlockList, isIP } from 'node:net'
import { isNone, numberOfFour } from '../heads/ip-address.ts'

// Whom does the gateway believe what it says about other requests than its own?
//
// Balancers and gateways in front, named by their addresses; nobody unless told. An address says who sent a packet only inside a network of
// one's own: to trust a range that strangers can send from is to trust strangers.

/** `10.0.0.0/8` in its parts. */
interface Range {
  readonly address: string
  readonly bits: number
  readonly family: 'ipv4' | 'ipv6'
}

export const rangeForm = 'an address or a range such as 10.0.0.1, 10.0.0.0/8 or fd00::/8'

/** The range that `text` says; undefined when it says none. */
export function rangeOf(text: string): Range | undefined {
  const [address = '', digits, ...more] = text.split('/')
  const version = isIP(address)
  // With a zone (fe80::1%eth0) it would be another address on each machine.
  if (version === 0 || address.includes('%') || more.length > 0) return undefined
  const most = version === 4 ? 32 : 128
  if (digits !== undefined && !/^\d{1,3}$/.test(digits)) return undefined
  const bits = digits === undefined ? most : Number(digits)
  return bits > most ? undefined : { address, bits, family: version === 4 ? 'ipv4' : 'ipv6' }
}

/** A set of addresses. */
export class Trust {
  /** As they are in effect. */
  readonly ranges: readonly string[]
  private readonly list = new BlockList()
  /** The ranges of IPv4, as numbers: asked for each request of a trusted peer, and the list takes a microsecond. */
  private readonly bases: number[] = []
  private readonly masks: number[] = []
  /** Some range of IPv6 holds addresses of IPv4 in IPv6 clothes: only the list can tell. */
  private readonly mixed: boolean

  constructor(ranges: readonly Range[]) {
    this.ranges = ranges.map(({ address, bits }) => `${address}/${bits}`)
    for (const { address, bits, family } of ranges) {
      this.list.addSubnet(address, bits, family)
      if (family !== 'ipv4') continue
      const mask = bits === 0 ? 0 : -1 << (32 - bits)
      this.bases.push(numberOfFour(address) & mask)
      this.masks.push(mask)
    }
    this.mixed = ranges.some(({ address, bits, family }) => family === 'ipv6' && beginsWithZeros(address, bits))
  }

  /** `address` as `Peer` says it: an IPv4 address that came in IPv6 clothes is an IPv4 address. */
  readonly holds = (address: string): boolean => {
    const number = numberOfFour(address)
    if (isNone(number)) return isIP(address) === 6 && this.list.check(address, 'ipv6')
    for (let i = 0; i < this.bases.length; i++) if ((number & (this.masks[i] as number)) === this.bases[i]) return true
    return this.mixed && this.list.check(address, 'ipv4')
  }
}

/** Who is believed, and how far. */
export interface Believed {
  /** Whose word about requests of others counts. */
  readonly trust: Trust
  /** Who of them may name the highest class. */
  readonly criticalPlus: Trust
}

/** Whether the first 16 bits of addresses in this range may all be 0. */
function beginsWithZeros(address: string, bits: number): boolean {
  const first = Number.parseInt(address.split(':', 1)[0] || '0', 16)
  return bits < 16 ? first >> (16 - bits) === 0 : first === 0
}
