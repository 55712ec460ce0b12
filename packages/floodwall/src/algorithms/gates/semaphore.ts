import * as v from 'valibot'
import { type Gate, Permit, Rejection, type Snapshot } from '../../core/gate.ts'
import { type Kind, kindOf, snapshotOf } from '../../core/layer.ts'
import { type Env, envOf } from '../../core/runtime.ts'
import { countOrZero, parse } from '../../core/schema.ts'
import { systemRuntime } from '../../core/system.ts'
import { Rooms } from './rooms.ts'

// How many may be inside at once?
//
// Source: Dijkstra's counting semaphore, as the bulkhead of Nygard, "Release It!". A slot is held until the work has really ended: work
// that a timeout has given up still burns what the slots stand for (opossum #72, modelence #363).
//
// 2 slots, 2 calls that time out at 100 ms and end at 1000 ms: a third call at 150 ms is refused, one at 1001 ms passes.
//
// Invariant: free + held = slots, after every step; permits end once, so a foreign or double release cannot raise the capacity.

const bulkheadOptions = v.strictObject({
  /** Calls inside at once; 0 closes it. */
  slots: countOrZero,
})

export type BulkheadOptions = v.InferInput<typeof bulkheadOptions>

const bulkheadSnapshot = v.strictObject({
  ...snapshotOf('bulkhead'),
  slots: v.number(),
  used: v.number(),
  /** The most that were ever inside at once. */
  most: v.number(),
  /** Waiting rooms that listen for a free slot. */
  rooms: v.number(),
})

export class Semaphore implements Gate {
  readonly kind = 'bulkhead'
  readonly path: string
  readonly holds = true
  private slots: number
  private used = 0
  private most = 0
  private readonly rooms = new Rooms()

  constructor(options: BulkheadOptions, env: Env = envOf(systemRuntime, 'bulkhead')) {
    this.path = env.path
    this.slots = parse(bulkheadOptions, options, 'bulkhead').slots
  }

  tryAcquire(): Permit | Rejection {
    if (this.used >= this.slots) return new Rejection(this, 'full', 0, this.used, this.slots, this.slots === 0)
    this.used++
    if (this.used > this.most) this.most = this.used
    return new Permit(this, 0)
  }

  settled(): void {
    this.free()
  }

  cancelled(): void {
    this.free()
  }

  private free(): void {
    this.used--
    if (this.rooms.size > 0) this.rooms.wake(this)
  }

  /** Slots not taken; below 0 while a lowered limit drains. */
  get available(): number {
    return this.slots - this.used
  }

  get limit(): number {
    return this.slots
  }

  /** More slots wake waiters at once; fewer take effect as calls end. */
  resize(slots: number): void {
    this.slots = parse(countOrZero, slots, 'bulkhead.slots')
    if (this.rooms.size > 0) this.rooms.wake(this)
  }

  onFree(wake: () => void): () => void {
    return this.rooms.listen(wake)
  }

  explain(rejection: Rejection): string {
    return `${rejection.value} of ${rejection.limit} slots are taken`
  }

  idle(): boolean {
    return this.used === 0
  }

  inspect(): Snapshot {
    const { kind, path, slots, used, most } = this
    return { kind, path, slots, used, most, rooms: this.rooms.size }
  }
}

/** At most `slots` calls inside at once. Refuses when full; put a `queue` before it to wait instead. */
export const bulkhead: Kind<BulkheadOptions> = kindOf({
  kind: 'bulkhead',
  options: bulkheadOptions,
  snapshot: bulkheadSnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof Semaphore)) return new Semaphore(settings, env)
    previous.resize(settings.slots)
    return previous
  },
})
