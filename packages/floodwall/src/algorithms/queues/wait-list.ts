// Who waits, and who goes next?
//
// A doubly linked list of the waiters themselves: joining, leaving from anywhere (an abort, a timeout) and taking from either end cost the
// same at 10 waiters and at 100,000, and a waiter that has left is not in the line any more, so that no slot is ever handed to it
// (failsafe #393, #400: permits granted to abandoned waiters).
//
// Invariant: size is the number of waiters between head and tail; each is in the list once.

/** A place in a line. */
export class Place {
  /** @internal */ ahead: Place | null = null
  /** @internal */ behind: Place | null = null
  /** @internal */ inLine = false
}

export class WaitList<W extends Place> {
  size = 0
  private head: Place | null = null
  private tail: Place | null = null

  /** Joins at the end. */
  push(waiter: W): void {
    waiter.ahead = this.tail
    waiter.behind = null
    if (this.tail === null) this.head = waiter
    else this.tail.behind = waiter
    this.tail = waiter
    this.joined(waiter)
  }

  /** Joins at the front, behind those of whom `first` is true: one who was let out and could not go after all. */
  unshift(waiter: W, first: (other: W) => boolean = () => false): void {
    let ahead: Place | null = null
    let behind = this.head
    while (behind !== null && first(behind as W)) {
      ahead = behind
      behind = behind.behind
    }
    waiter.ahead = ahead
    waiter.behind = behind
    if (ahead === null) this.head = waiter
    else ahead.behind = waiter
    if (behind === null) this.tail = waiter
    else behind.ahead = waiter
    this.joined(waiter)
  }

  private joined(waiter: W): void {
    waiter.inLine = true
    this.size++
  }

  /** Leaves, from wherever it stands; false when it was not in the line. */
  remove(waiter: W): boolean {
    if (!waiter.inLine) return false
    const { ahead, behind } = waiter
    if (ahead === null) this.head = behind
    else ahead.behind = behind
    if (behind === null) this.tail = ahead
    else behind.ahead = ahead
    waiter.ahead = null
    waiter.behind = null
    waiter.inLine = false
    this.size--
    return true
  }

  /** The one who has waited longest, or undefined. */
  get oldest(): W | undefined {
    return (this.head as W | null) ?? undefined
  }

  /** The one who came last, or undefined. */
  get newest(): W | undefined {
    return (this.tail as W | null) ?? undefined
  }
}
