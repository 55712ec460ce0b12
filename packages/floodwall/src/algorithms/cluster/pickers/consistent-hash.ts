import type { Member } from '../member.ts'
import type { Choice, Picker } from '../picker.ts'

// The same key to the same endpoint, but never too much to one.
//
// Source: Karger et al., "Consistent Hashing and Random Trees" (1997); Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded
// Loads" (2016). Each member owns points on a ring; a key goes to the next point whose member is in choice and has not more than `bound`
// times its share of the calls inside. When a member leaves, only its keys move.
//
// 4 members, 7 calls inside, bound 1.25: nobody gets more than ceil(1.25 · 8 / 4) = 3.
//
// Invariant: with a member count of n at most about 1/n of the keys move when one joins or leaves; no member holds more than its bound.

const POINTS_PER_WEIGHT = 64
const MOST_POINTS = 640
const DEFAULT_BOUND = 1.25

export class ConsistentHash implements Picker {
  readonly kind = 'consistentHash'
  private readonly bound: number
  private hashes: Uint32Array = new Uint32Array(0)
  private owners: Member[] = []

  /** @param bound how many times its even share a member may hold; default 1.25 */
  constructor(bound: number = DEFAULT_BOUND) {
    this.bound = bound
  }

  changed(all: readonly Member[]): void {
    const points: { readonly hash: number; readonly member: Member }[] = []
    for (const member of all) {
      const count = Math.min(MOST_POINTS, Math.ceil(POINTS_PER_WEIGHT * member.weight))
      for (let i = 0; i < count; i++) points.push({ hash: hashOf(`${member.endpoint.id}#${i}`), member })
    }
    points.sort((a, b) => a.hash - b.hash || (a.member.endpoint.id < b.member.endpoint.id ? -1 : 1))
    this.hashes = Uint32Array.from(points, (p) => p.hash)
    this.owners = points.map((p) => p.member)
  }

  pick(choice: Choice): Member | undefined {
    const { owners } = this
    if (owners.length === 0) return undefined
    const start = this.after(hashOf(String(choice.ask.key)))
    const { inside, weight } = totals(choice.members)
    let fallback: Member | undefined
    let last: Member | undefined
    for (let i = 0; i < owners.length; i++) {
      const member = owners[(start + i) % owners.length] as Member
      // Neighbouring points often share an owner; one look is enough.
      if (member === last || member.index < 0) continue
      last = member
      const most = Math.ceil((this.bound * (inside + 1) * member.weight) / weight)
      if (member.inFlight < most && !choice.tried(member)) return member
      fallback ??= member
    }
    return fallback
  }

  /** The first point at or after `hash`. */
  private after(hash: number): number {
    let low = 0
    let high = this.hashes.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.hashes[middle] as number) < hash) low = middle + 1
      else high = middle
    }
    return low === this.hashes.length ? 0 : low
  }
}

function totals(members: readonly Member[]): { inside: number; weight: number } {
  let inside = 0
  let weight = 0
  for (const member of members) {
    inside += member.inFlight
    weight += member.weight
  }
  return { inside, weight }
}

/** FNV-1a over the characters, finished as in MurmurHash3: FNV alone leaves the points of one member close together. */
function hashOf(text: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
