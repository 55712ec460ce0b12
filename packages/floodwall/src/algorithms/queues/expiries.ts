// Whose time is over first, when each has a time of his own?
//
// A binary heap of the waiters themselves; each knows his place in it, so that one who leaves (served, aborted) is taken out at once and a
// heap of 100,000 holds nobody who is gone. Where all wait for one span a list is cheaper (core/alarms.ts).
//
// Due at 30, 10 and 20: 10 is first; when it has left, 20.
//
// Invariant: nobody is due before the one above him; `spot` of each is where he stands, -1 for who is not in it.

/** Somebody whose time ends. */
export interface Expiring {
  /** When, on the clock of who asks. Not to be changed while it is in a heap. */
  dueAt: number
  /** @internal */ spot: number
}

export class Expiries<E extends Expiring> {
  private readonly heap: E[] = []

  get size(): number {
    return this.heap.length
  }

  /** When the first is due; Infinity when there is none. */
  get nextAt(): number {
    const [first] = this.heap
    return first === undefined ? Number.POSITIVE_INFINITY : first.dueAt
  }

  add(one: E): void {
    this.heap.push(one)
    this.rise(one, this.heap.length - 1)
  }

  /** False when it was not in it. */
  remove(one: E): boolean {
    const { heap } = this
    const at = one.spot
    if (at < 0) return false
    one.spot = -1
    const last = heap.pop() as E
    if (last === one) return true
    // The last one fills the gap, and finds its level from there.
    this.rise(last, at)
    this.sink(last, last.spot)
    return true
  }

  /** Takes out who is due at `now`, the first one first; undefined when nobody is. */
  take(now: number): E | undefined {
    const [first] = this.heap
    if (first === undefined || first.dueAt > now) return undefined
    this.remove(first)
    return first
  }

  private rise(one: E, from: number): void {
    const { heap } = this
    let at = from
    while (at > 0) {
      const above = (at - 1) >> 1
      const other = heap[above] as E
      if (other.dueAt <= one.dueAt) break
      this.put(other, at)
      at = above
    }
    this.put(one, at)
  }

  private sink(one: E, from: number): void {
    const { heap } = this
    let at = from
    for (let below = 2 * at + 1; below < heap.length; below = 2 * at + 1) {
      const right = heap[below + 1]
      if (right !== undefined && right.dueAt < (heap[below] as E).dueAt) below++
      const other = heap[below] as E
      if (one.dueAt <= other.dueAt) break
      this.put(other, at)
      at = below
    }
    this.put(one, at)
  }

  private put(one: E, at: number): void {
    this.heap[at] = one
    one.spot = at
  }
}
