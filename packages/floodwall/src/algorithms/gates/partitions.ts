import { type Ask, type Gate, Permit, Rejection, type Snapshot } from '../../core/gate.ts'
import { type Kind, kindOf } from '../../core/layer.ts'
import type { Verdict } from '../../core/outcome.ts'
import { type Env, envOf } from '../../core/runtime.ts'
import { divide, Partition } from './partition.ts'
import {
  type PartitionOf,
  type PartitionsOptions,
  type PartitionsSettings,
  partitionsOptions,
  partitionsSnapshot,
  type SlotGate,
} from './partitions-settings.ts'

// How do several share one limit, so that each is sure of its share and none of it lies idle?
//
// Source: the partitioned limiters of Netflix's concurrency-limits. There, a partition below its share is let in although the limit is reached,
// so that all of them together may go far above it. Here the limit holds: slots of others may be borrowed, but not those that their
// owner has wanted lately; and who wants his own and finds them lent, gets the next ones that come free.
//
// 10 slots, 0.6 for a and 0.3 for b. Only b calls: it has all 10. Then a calls, and is refused: from now on no free slot is lent to b until a
// has what it wants, or 6. When all of b's calls have ended once, a has its 6. a stops: after a second b has 10 again.
//
// Invariant: the slots used are those that the gate inside has lent, whatever the shares; who uses less than its own is refused only where
// none is free; slots are lent only beyond what is kept for all others.

const OTHER = 'other'
const BY: Readonly<Record<'criticality' | 'key' | 'method', PartitionOf>> = {
  criticality: (ask) => ask.criticality,
  key: (ask) => ask.key,
  method: (ask) => ask.method ?? OTHER,
}

export class Partitions implements Gate {
  readonly kind = 'partitions'
  readonly path: string
  readonly holds = true
  timed: boolean
  private inner: SlotGate
  private by: PartitionOf
  private keepForMs: number
  private readonly byName = new Map<string, Partition>()
  private parts: readonly Partition[] = []
  private other: Partition
  /** What {@link divide} has seen last. */
  private divided = -1
  private used = 0
  /** Permits that are out, by their tag: whose each is, and that of the gate inside. */
  private readonly owners: Partition[] = []
  private readonly lent: (Permit | null)[] = []
  private readonly spare: number[] = []

  constructor(inner: SlotGate, { by, shares, keepFor }: Omit<PartitionsSettings, 'of'>, path = 'partitions') {
    this.inner = inner
    this.timed = inner.timed === true
    this.path = path
    this.by = typeof by === 'function' ? by : BY[by]
    this.keepForMs = keepFor
    this.other = new Partition(OTHER, 0, keepFor)
    this.allot(shares)
  }

  private allot(shares: Readonly<Record<string, number>>): void {
    const names = Object.keys(shares).filter((name) => name !== OTHER)
    const rest = 1 - names.reduce((sum, name) => sum + (shares[name] as number), 0)
    for (const name of this.byName.keys()) if (!names.includes(name)) this.byName.delete(name)
    for (const name of names) {
      const share = shares[name] as number
      const known = this.byName.get(name)
      if (known === undefined) this.byName.set(name, new Partition(name, share, this.keepForMs))
      else known.share = share
    }
    this.other.share = shares[OTHER] ?? Math.max(0, rest)
    this.parts = [...this.byName.values(), this.other]
    this.divided = -1
  }

  tryAcquire(ask: Ask): Permit | Rejection {
    const { inner } = this
    const { now } = ask
    const { limit } = inner
    if (limit !== this.divided) this.divide(limit)
    const mine = this.partitionOf(ask)
    const free = limit - this.used
    // Where none is free the gate inside says so in its own words.
    if (mine.used >= mine.own && free > 0 && free <= this.keptFromOthers(mine, now)) {
      mine.refuse(now)
      return new Rejection(this, 'full', this.keepForMs, mine.used, mine.own)
    }
    const answer = inner.tryAcquire(ask)
    if (!answer.ok) {
      mine.refuse(now)
      return answer
    }
    mine.take(now)
    this.used++
    return this.wrap(mine, answer)
  }

  private wrap(mine: Partition, answer: Permit): Permit {
    const tag = this.spare.pop() ?? this.lent.length
    this.owners[tag] = mine
    this.lent[tag] = answer
    return new Permit(this, 0, tag)
  }

  /** A `by` that throws names nobody: the call goes with the others, and what was acquired before us is not lost. */
  private partitionOf(ask: Ask): Partition {
    try {
      return this.byName.get(String(this.by(ask))) ?? this.other
    } catch {
      return this.other
    }
  }

  private keptFromOthers(mine: Partition, now: number): number {
    let kept = 0
    for (const part of this.parts) if (part !== mine) kept += part.kept(now)
    return kept
  }

  private divide(limit: number): void {
    this.divided = limit
    divide(limit, this.parts)
  }

  settled({ tag }: Permit, verdict: Verdict, tookMs: number, now: number): void {
    this.take(tag)?.settle(verdict, tookMs, now)
  }

  cancelled({ tag }: Permit, now: number): void {
    this.take(tag)?.cancel(now)
  }

  /** The permit inside. Ours is counted as ended first: its end wakes who waits. */
  private take(tag: number): Permit | null {
    const inside = this.lent[tag] as Permit | null
    this.lent[tag] = null
    this.spare.push(tag)
    this.used--
    ;(this.owners[tag] as Partition).used--
    return inside
  }

  /** Other settings, same partitions: who is inside stays counted. */
  reconfigure(make: (previous: Gate) => Gate, { by, shares, keepFor }: Omit<PartitionsSettings, 'of'>): void {
    this.inner = make(this.inner) as SlotGate
    this.timed = this.inner.timed === true
    this.by = typeof by === 'function' ? by : BY[by]
    if (keepFor !== this.keepForMs) for (const part of this.parts) part.remember(keepFor)
    this.keepForMs = keepFor
    this.allot(shares)
  }

  onFree(wake: () => void): () => void {
    return this.inner.onFree(wake)
  }

  /** Slots that there are now. */
  get limit(): number {
    return this.inner.limit
  }

  explain({ value, limit }: Rejection): string {
    return `it has ${value} slots, ${limit} of its own, and what is free is kept for others`
  }

  idle(now: number): boolean {
    return this.used === 0 && this.inner.idle?.(now) === true && this.parts.every((part) => part.kept(now) === 0)
  }

  inspect(now: number): Snapshot {
    const { kind, path, limit, used } = this
    if (limit !== this.divided) this.divide(limit)
    const parts = this.parts.map((part) => {
      const { name, share, own, refused } = part
      return { name, share, own, used: part.used, kept: part.kept(now), refused }
    })
    return { kind, path, limit, used, parts, of: this.inner.inspect(now) }
  }
}

/** Shares of one limit: `partitions({ of: bulkhead({ slots: 64 }), shares: { critical: 0.6, sheddable: 0.1 } })`. */
export const partitions: Kind<PartitionsOptions, PartitionsSettings> = kindOf({
  kind: 'partitions',
  options: partitionsOptions,
  snapshot: partitionsSnapshot,
  build({ of, ...settings }, env, previous) {
    const inside: Env = { ...envOf(env, `${env.path}/${of.kind}`), share: env.share }
    const make = (gate?: Gate): Gate => of.build(inside, gate) as Gate
    if (!(previous instanceof Partitions)) return new Partitions(make() as SlotGate, settings, env.path)
    previous.reconfigure(make, settings)
    return previous
  },
})
