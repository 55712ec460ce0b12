import type { Endpoint } from '../../core/init.ts'
import type { BreakerState } from '../gates/breaker-settings.ts'
import type { Member } from './member.ts'

// Who belongs to the cluster, and who of them is in choice?
//
// Three lists that move in constant time, since a pick among ten thousand must not look at ten thousand: in choice, on probation, out. Those
// who left discovery while isolated are remembered for a while, so that leaving and joining again is no way out of isolation.
//
// Invariant: each member is in exactly one of the lists; `nextProbeAt` is no later than the first end of an isolation.

/** Departed endpoints that are remembered, and how long. */
const MOST_DEPARTED = 1000
const REMEMBERED_MS = 600_000

/** Prefer our own zone while at least this share of its endpoints is in choice. */
const ZONE_SHARE = 0.5

export class Roster {
  /** All members, in the order of discovery. */
  all: readonly Member[] = []
  readonly choice: Member[] = []
  readonly probation: Member[] = []
  /** When the first isolated member may be probed; Infinity when none is isolated. */
  nextProbeAt: number = Number.POSITIVE_INFINITY
  /** The heaviest weight of all members. */
  maxWeight = 1
  /** Counts the changes of the lists. */
  version = 0
  private readonly near: Member[] = []
  private nearTotal = 0
  private readonly out = new Set<Member>()
  private readonly byId = new Map<string, Member>()
  private readonly departed = new Map<string, { readonly member: Member; readonly at: number }>()
  private readonly zone: string | undefined
  private readonly enlist: (endpoint: Endpoint) => Member

  constructor(zone: string | undefined, enlist: (endpoint: Endpoint) => Member) {
    this.zone = zone
    this.enlist = enlist
  }

  get(id: string): Member | undefined {
    return this.byId.get(id)
  }

  /** Members of our zone while enough of them are in choice, else all in choice. */
  preferred(): readonly Member[] {
    return this.near.length > 0 && this.near.length >= ZONE_SHARE * this.nearTotal ? this.near : this.choice
  }

  update(endpoints: readonly Endpoint[], now: number): void {
    const wanted = new Map(endpoints.map((e) => [e.id, e]))
    for (const member of this.all) if (!isThere(member, wanted.get(member.endpoint.id))) this.drop(member, now)
    for (const endpoint of wanted.values()) {
      const known = this.byId.get(endpoint.id)
      if (known === undefined) this.join(endpoint, now)
      else known.weight = endpoint.weight ?? 1
    }
    this.all = [...wanted.keys()].map((id) => this.byId.get(id) as Member)
    this.maxWeight = this.all.reduce((most, m) => Math.max(most, m.weight), 0)
    this.nearTotal = this.all.filter((m) => this.isNear(m)).length
    this.lookAhead(now)
  }

  private join(endpoint: Endpoint, now: number): void {
    const back = this.departed.get(endpoint.id)
    this.departed.delete(endpoint.id)
    const known = back !== undefined && now - back.at < REMEMBERED_MS && isThere(back.member, endpoint)
    const member = known ? back.member : this.enlist(endpoint)
    member.weight = endpoint.weight ?? 1
    // The first endpoints of a cluster have nobody to warm up beside.
    member.since = this.all.length === 0 ? Number.NEGATIVE_INFINITY : now
    this.byId.set(endpoint.id, member)
    // Not its state(), which reads as half-open once the time is over: its breaker has to go there first, or it would get no probe ever.
    this.place(member, member.isolated ? 'open' : member.breaker.state(now))
  }

  private drop(member: Member, now: number): void {
    const { id } = member.endpoint
    this.byId.delete(id)
    this.displace(member)
    if (!member.isolated) return
    if (this.departed.size >= MOST_DEPARTED) this.departed.delete(this.departed.keys().next().value as string)
    this.departed.set(id, { member, at: now })
  }

  /** A member's breaker entered another state. */
  moved(member: Member, to: BreakerState, now: number): void {
    if (this.byId.get(member.endpoint.id) !== member) return
    if (to === 'closed') member.returned(now)
    this.displace(member)
    this.place(member, to)
    this.lookAhead(now)
  }

  /** Members whose isolation is over go on probation. */
  probeDue(now: number): void {
    for (const member of [...this.out]) if (member.breaker.until <= now) member.breaker.probeNow(now)
    this.lookAhead(now)
  }

  /** Sees when somebody is next to be asked. Who only waits for its checks is not: they will say when it has passed. */
  lookAhead(now: number): void {
    this.nextProbeAt = Number.POSITIVE_INFINITY
    for (const { breaker } of this.out) {
      if (breaker.until < this.nextProbeAt && !breaker.waitsForLeave(now)) this.nextProbeAt = breaker.until
    }
  }

  private place(member: Member, state: BreakerState): void {
    this.version++
    if (state === 'halfOpen') this.probation.push(member)
    else if (state === 'open' || state === 'forcedOpen') this.out.add(member)
    else {
      member.index = this.choice.length
      this.choice.push(member)
      if (this.isNear(member)) this.near.push(member)
    }
  }

  private displace(member: Member): void {
    this.version++
    this.out.delete(member)
    remove(this.probation, member)
    if (member.index < 0) return
    // The last one takes its place: the order in choice has no meaning.
    const last = this.choice.pop() as Member
    if (last !== member) {
      this.choice[member.index] = last
      last.index = member.index
    }
    member.index = -1
    remove(this.near, member)
  }

  private isNear(member: Member): boolean {
    return this.zone !== undefined && member.endpoint.zone === this.zone
  }
}

/** The same id at another address, or in another zone, is another endpoint: what was learnt of the one says nothing about the other. */
function isThere({ endpoint }: Member, wanted: Endpoint | undefined): boolean {
  return wanted !== undefined && wanted.address === endpoint.address && wanted.zone === endpoint.zone
}

function remove(list: Member[], member: Member): void {
  const at = list.indexOf(member)
  if (at >= 0) list.splice(at, 1)
}
