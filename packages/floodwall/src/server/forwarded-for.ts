import { addressIn } from './network-address.ts'

// For whom does a proxy ask? (`X-Forwarded-For`, and `Forwarded` of RFC 7239)
//
// Each proxy appends whom it was asked by, so that the list is read from the right: an entry is true if the one to the right of it is a proxy of ours, and
// whatever stands left of the first stranger may be invented. What is no address (`unknown`, `_hidden`, nothing) ends the walk at the last one that is known.
//
//   6.6.6.6, 192.0.2.7, 10.0.0.2   from 10.0.0.1, both of 10.0.0.0/8 ours: 192.0.2.7 it is
//
// Invariant: the answer is the peer, or was written by a trusted one; one pass over the list, and never more than MOST_HOPS of it.

export type ForwardingHeader = 'x-forwarded-for' | 'forwarded'

/** Nobody has more proxies of his own one behind the other. */
const MOST_HOPS = 32
/** An element with its host and scheme is shorter; a longer one is none. */
const MOST_ELEMENT = 512

/** The client of `peer`, which is trusted and has sent `list`. */
export function clientIn(
  list: string,
  header: ForwardingHeader,
  peer: string,
  trusts: (address: string) => boolean,
): string {
  let client = peer
  let end = list.length
  for (let hops = 0; hops < MOST_HOPS && end > 0; hops++) {
    const start = header === 'forwarded' ? startOf(list, end) : list.lastIndexOf(',', end - 1) + 1
    const element = end - start > MOST_ELEMENT ? '' : list.slice(start, end).trim()
    const address = header === 'forwarded' ? forIn(element) : addressIn(element)
    if (address === undefined) break
    client = address
    if (!trusts(address)) break
    end = start - 1
  }
  return client
}

/** Where the element before `end` begins: commas in quotes are none. From the right as well, so that what a stranger has opened is not closed by us. */
function startOf(list: string, end: number): number {
  let quoted = false
  for (let i = end - 1; i >= 0; i--) {
    const char = list[i]
    if (char === '"' && !isEscaped(list, i)) quoted = !quoted
    else if (char === ',' && !quoted) return i + 1
  }
  return 0
}

function isEscaped(list: string, at: number): boolean {
  let slashes = 0
  while (list[at - 1 - slashes] === '\\') slashes++
  return slashes % 2 === 1
}

const PAIR = /[ \t]*([!#$%&'*+\-.^_`|~\w]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*))[ \t]*(?:;|$)/y

/** The address in the `for` of an element; undefined where there is none, or two. What a stranger put into another pair, a host, stands in quotes. */
function forIn(element: string): string | undefined {
  let node: string | undefined
  PAIR.lastIndex = 0
  for (let at = 0; at < element.length; at = PAIR.lastIndex) {
    const pair = PAIR.exec(element)
    if (pair === null) return undefined
    if (pair[1]?.toLowerCase() !== 'for') continue
    if (node !== undefined) return undefined
    node = pair[2] ?? pair[3]
  }
  return node === undefined ? undefined : addressIn(node)
}
