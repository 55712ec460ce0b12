import * as v from 'valibot'
import type { Ask, Gate, Permit, Quota, Rejection, Snapshot } from '../../core/gate.ts'
import { type Kind, kindOf, type Layer, makesGate, snapshotOf } from '../../core/layer.ts'
import { type Env, envOf } from '../../core/runtime.ts'
import { count } from '../../core/schema.ts'

// How can each caller have a gate of his own, when there may be a million callers?
//
// Source: the clock (second-chance) page replacement of Corbató, "A Paging Experiment with the Multics System" (1968): a full table is
// searched a few steps from where the last search ended; a gate that was used since goes only when no other of them can, one that is not
// idle (it waits for the end of a permit, or remembers something that matters) stays. Where nothing can go, the new key shares one gate
// with all others of its kind: it is limited too, nobody is forgotten, and the memory is bounded whatever strangers send.
//
// max 2, keys a, b idle, then c: c takes a's place. With a and b busy: c goes through the shared gate.
//
// Invariant: at most max + 1 gates exist; a gate that waits for the end of a permit is never dropped. Keys are equal as in a Map: 1 and "1" are two keys.

const SEARCH_STEPS = 8

/** Which key a call belongs to. */
export type KeyOf = (ask: Ask) => string | number

const keyedOptions = v.strictObject({
  /** The gate that each key gets. */
  of: v.custom<Layer>(makesGate, 'a layer that makes a gate'),
  /** Keys that are told apart. Default 10,000. */
  max: v.optional(count, 10_000),
  /** Default: the call's `key`. */
  by: v.optional(v.custom<KeyOf>((input) => typeof input === 'function', 'a function from the call to its key')),
})

export type KeyedOptions = v.InferInput<typeof keyedOptions>
type KeyedSettings = v.InferOutput<typeof keyedOptions>

const keyedSnapshot = v.strictObject({
  ...snapshotOf('keyed'),
  keys: v.number(),
  max: v.number(),
  evicted: v.number(),
  /** Calls that went through the shared gate. */
  shared: v.number(),
  others: v.looseObject({ kind: v.string() }),
})

interface Entry {
  readonly key: string | number
  gate: Gate
  used: boolean
}

/** Makes the gate of a key; given the one that it had, takes over its state. */
type MakeGate = (previous?: Gate) => Gate

const byCallKey: KeyOf = (ask) => ask.key

export class Keyed implements Gate {
  readonly kind = 'keyed'
  readonly path: string
  holds: boolean
  timed: boolean
  private make: MakeGate
  private by: KeyOf
  private max: number
  private readonly table = new Map<string | number, Entry>()
  private readonly ring: Entry[] = []
  private hand = 0
  private others: Gate
  private evicted = 0
  private shared = 0

  constructor(make: MakeGate, max: number, by: KeyOf = byCallKey, path = 'keyed') {
    this.make = make
    this.max = max
    this.by = by
    this.path = path
    this.others = make()
    this.holds = this.others.holds === true
    this.timed = this.others.timed === true
  }

  /** The permit is the inner gate's own: its end goes there directly. */
  tryAcquire(ask: Ask): Permit | Rejection {
    return this.gateOf(ask).tryAcquire(ask)
  }

  /** A `by` that throws names nobody: the call goes with the others, and what was acquired before us is not lost. */
  private gateOf(ask: Ask): Gate {
    try {
      return this.gateFor(this.by(ask), ask.now)
    } catch {
      this.shared++
      return this.others
    }
  }

  /** Of a key's own gate. What many share is for nobody to hear: it tells strangers how much the others ask. As long as nobody has, it is as a new one. */
  quota(ask: Ask): Quota | undefined {
    let gate = this.shared === 0 ? this.others : undefined
    try {
      gate = this.table.get(this.by(ask))?.gate ?? gate
    } catch {
      // As when it was asked: it is nobody's.
    }
    return gate?.quota?.(ask)
  }

  private gateFor(key: string | number, now: number): Gate {
    const entry = this.table.get(key)
    if (entry === undefined) return this.admit(key, now)
    entry.used = true
    return entry.gate
  }

  private admit(key: string | number, now: number): Gate {
    if (this.ring.length < this.max) {
      const entry: Entry = { key, gate: this.make(), used: true }
      this.ring.push(entry)
      this.table.set(key, entry)
      return entry.gate
    }
    const at = this.search(now)
    if (at < 0) {
      this.shared++
      return this.others
    }
    this.table.delete((this.ring[at] as Entry).key)
    const entry: Entry = { key, gate: this.make(), used: true }
    this.ring[at] = entry
    this.table.set(key, entry)
    this.evicted++
    return entry.gate
  }

  /** A place whose gate nobody would miss, or -1. */
  private search(now: number): number {
    let second = -1
    for (let step = 0; step < SEARCH_STEPS; step++) {
      const at = this.hand
      this.hand = (at + 1) % this.ring.length
      const entry = this.ring[at] as Entry
      const idle = entry.gate.idle?.(now) === true
      if (idle && !entry.used) return at
      entry.used = false
      if (idle && second < 0) second = at
    }
    // Used a while ago, but idle now: rather that than a newcomer in the shared gate.
    return second
  }

  /** Other settings, same keys: each takes over the state of its gate, so that a reload opens no second set of slots and no full bucket. */
  reconfigure(make: MakeGate, max: number, by: KeyOf | undefined, now: number): void {
    this.others = make(this.others)
    for (const entry of this.ring) entry.gate = make(entry.gate)
    this.make = make
    this.max = max
    this.by = by ?? byCallKey
    this.holds = this.others.holds === true
    this.timed = this.others.timed === true
    this.shrink(now)
  }

  /** A smaller table: who is idle goes, who is not stays. */
  private shrink(now: number): void {
    const { ring } = this
    for (let at = ring.length - 1; at >= 0 && ring.length > this.max; at--) {
      const entry = ring[at] as Entry
      if (entry.gate.idle?.(now) !== true) continue
      this.table.delete(entry.key)
      ring[at] = ring[ring.length - 1] as Entry
      ring.pop()
    }
    this.hand = 0
  }

  /** Permits belong to the inner gates: these are never called. */
  settled(): void {}
  cancelled(): void {}

  idle(now: number): boolean {
    return this.ring.every(({ gate }) => gate.idle?.(now) === true) && this.others.idle?.(now) === true
  }

  inspect(now: number): Snapshot {
    const { kind, path, max, evicted, shared } = this
    return { kind, path, keys: this.ring.length, max, evicted, shared, others: this.others.inspect(now) }
  }
}

/** A gate per key: `keyed({ of: rateLimit({ rate: 10 }), max: 10_000 })`. */
export const keyed: Kind<KeyedOptions, KeyedSettings> = kindOf({
  kind: 'keyed',
  options: keyedOptions,
  snapshot: keyedSnapshot,
  build({ of, max, by }, env, previous) {
    const inner: Env = { ...envOf(env, `${env.path}/${of.kind}`), share: env.share }
    const make: MakeGate = (gate) => of.build(inner, gate) as Gate
    if (!(previous instanceof Keyed)) return new Keyed(make, max, by, env.path)
    previous.reconfigure(make, max, by, env.now())
    return previous
  },
})
