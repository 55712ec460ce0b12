// Which network does an address belong to, as one text?
//
// Whoever has an address of IPv6 has 2^64 of them at least (RFC 6177: a site gets a /64 to a /48), and a limit for each would be none. So addresses are cut
// to a prefix, and written in one form, since the same one may be written in many: `2001:DB8::1` and `2001:db8:0:0::1`. An address of IPv4 in IPv6
// clothes (`::ffff:192.0.2.7`, as a socket for both says it) is one of IPv4. The hosts of a link (fe80::/10) all have one prefix, and are told apart.
//
//   192.0.2.7 -> 192.0.2.7 · [2001:db8:1:2:3::9]:443 -> 2001:db8:1:2::/64
//
// Read by hand, once a request, where `isIP` of node:net would cost a microsecond.

/** How many bits of an address count. */
export interface Prefixes {
  readonly v4Prefix: number
  readonly v6Prefix: number
}

/** Longer than any address with its brackets, zone and port. */
const MOST_CHARS = 80

/** The network of `text`, which may have a port, brackets or a zone; undefined where it is no address. */
export function networkOf(text: string, prefixes: Prefixes): string | undefined {
  const bare = bareOf(text)
  if (bare === undefined) return undefined
  const four = fourOf(bare)
  if (four !== undefined) return networkOfFour(four, prefixes.v4Prefix)
  const groups = groupsOf(bare)
  if (groups === undefined) return undefined
  const inside = mappedIn(groups)
  if (inside !== undefined) return networkOfFour(inside, prefixes.v4Prefix)
  const isOfLink = ((groups[0] as number) & 0xffc0) === 0xfe80
  return networkOfSix(groups, isOfLink ? 128 : prefixes.v6Prefix)
}

/** The address alone, as others understand it; undefined where it is none. */
export function addressIn(text: string): string | undefined {
  const bare = bareOf(text)
  if (bare === undefined) return undefined
  if (fourOf(bare) !== undefined) return bare
  const groups = groupsOf(bare)
  if (groups === undefined) return undefined
  const inside = mappedIn(groups)
  return inside === undefined ? bare : fourText(inside)
}

/** Without brackets, port and zone. */
function bareOf(text: string): string | undefined {
  if (text.length > MOST_CHARS) return undefined
  let bare = text
  if (text.startsWith('[')) {
    const end = text.indexOf(']')
    if (end < 0 || !isPort(text.slice(end + 1))) return undefined
    bare = text.slice(1, end)
  } else {
    const colon = text.indexOf(':')
    // One colon: IPv4 with a port. More: IPv6, which has a port behind brackets only.
    if (colon >= 0 && text.indexOf(':', colon + 1) < 0) {
      if (!isPort(text.slice(colon))) return undefined
      bare = text.slice(0, colon)
    }
  }
  const zone = bare.indexOf('%')
  return zone < 0 ? bare : bare.slice(0, zone)
}

/** '' or `:443`; some write a name there (RFC 7239: `:_port`). */
function isPort(text: string): boolean {
  return text === '' || /^:[\w.-]{1,32}$/.test(text)
}

/** 32 bits without a sign. Strict: four decimal parts without zeros in front, which some readers take for octal. */
function fourOf(text: string): number | undefined {
  if (text.length < 7 || text.length > 15) return undefined
  let number = 0
  let part = -1
  let dots = 0
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48
    if (digit >= 0 && digit <= 9) {
      if (part === 0) return undefined
      part = part < 0 ? digit : part * 10 + digit
      if (part > 255) return undefined
    } else {
      if (digit !== -2 || part < 0 || dots === 3) return undefined
      number = number * 256 + part
      part = -1
      dots++
    }
  }
  return dots === 3 && part >= 0 ? number * 256 + part : undefined
}

/** Eight groups of 16 bits. */
function groupsOf(text: string): number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const front = partsOf(halves[0] as string, halves.length === 1)
  if (front === undefined) return undefined
  if (halves.length === 1) return front.length === 8 ? front : undefined
  const back = partsOf(halves[1] as string, true)
  if (back === undefined || front.length + back.length > 7) return undefined
  return [...front, ...new Array<number>(8 - front.length - back.length).fill(0), ...back]
}

/** `last`: the end of the address, where four decimal parts may stand for two groups. */
function partsOf(text: string, last: boolean): number[] | undefined {
  if (text === '') return []
  const parts = text.split(':')
  const groups: number[] = []
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] as string
    if (last && i === parts.length - 1 && part.includes('.')) {
      const four = fourOf(part)
      if (four === undefined) return undefined
      groups.push(Math.floor(four / 65_536), four % 65_536)
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined
      groups.push(Number.parseInt(part, 16))
    }
    if (groups.length > 8) return undefined
  }
  return groups
}

/** The address of IPv4 in ::ffff:0:0/96. */
function mappedIn(groups: readonly number[]): number | undefined {
  const [a, b, c, d, e, f, high, low] = groups as [number, number, number, number, number, number, number, number]
  return (a | b | c | d | e) === 0 && f === 0xffff ? high * 65_536 + low : undefined
}

/** Made anew, also where it was such a text: that is a part of a list which strangers sent, and a key that is kept would keep all of it. */
function fourText(four: number): string {
  return `${four >>> 24}.${(four >>> 16) & 255}.${(four >>> 8) & 255}.${four & 255}`
}

function networkOfFour(four: number, prefix: number): string {
  if (prefix === 32) return fourText(four)
  const mask = prefix === 0 ? 0 : -1 << (32 - prefix)
  return `${fourText((four & mask) >>> 0)}/${prefix}`
}

/** The groups of the prefix, and no others. */
function networkOfSix(groups: readonly number[], prefix: number): string {
  let text = ''
  for (let i = 0; i * 16 < prefix; i++) {
    const bits = Math.min(16, prefix - i * 16)
    text += `${i === 0 ? '' : ':'}${((groups[i] as number) & (0xffff << (16 - bits)) & 0xffff).toString(16)}`
  }
  return prefix === 128 ? text : `${text}${prefix > 112 ? '' : '::'}/${prefix}`
}
