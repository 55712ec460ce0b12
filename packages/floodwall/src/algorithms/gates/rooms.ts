// Who is told when a slot comes free?
//
// Waiting rooms of several pipelines may listen at one gate. They are woken in turns, so that a busy one cannot starve the others.
//
// Invariant: who has stopped listening is not woken, not even by the wake that is going on.

/** What has slots to give. */
interface Slots {
  /** Slots not taken; 0 or less: none. */
  readonly available: number
}

export class Rooms {
  private wakers: (() => void)[] = []
  private turn = 0

  /** Rooms that listen. */
  get size(): number {
    return this.wakers.length
  }

  /** Returns the way to stop. */
  listen(wake: () => void): () => void {
    // A wrapper of its own: who came twice leaves once by each handle.
    const waker = () => wake()
    this.wakers.push(waker)
    return () => {
      this.wakers = this.wakers.filter((other) => other !== waker)
    }
  }

  /** Each room in turn, while there are slots. */
  wake(slots: Slots): void {
    const { wakers } = this
    for (let i = 0; i < wakers.length && slots.available > 0; i++) {
      this.turn = (this.turn + 1) % wakers.length
      const waker = wakers[this.turn] as () => void
      // Who is woken may stop another, and who has stopped is not woken.
      if (this.wakers === wakers || this.wakers.includes(waker)) waker()
    }
  }
}
