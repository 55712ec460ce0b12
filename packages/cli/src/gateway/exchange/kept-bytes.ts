// How much of all requests' bodies is kept in memory at the same time?
//
// Routes say how much is kept of one body; this bounds the sum, so that many clients cannot take more than the operator gave. When it is
// spent, bodies are streamed as they come, and nothing of them is sent a second time.
//
// Bodies that their route holds back have as much apart: a slow route takes nothing of what the bodies of the others have.

export class KeptBytes {
  /** Kept now. */
  used = 0

  /** False when that would be more than `most`: then nothing was taken. */
  take(bytes: number, most: number): boolean {
    if (this.used + bytes > most) return false
    this.used += bytes
    return true
  }

  give(bytes: number): void {
    this.used -= bytes
  }
}

/** Of all requests. */
export class AllKeptBytes extends KeptBytes {
  /** Of bodies that their routes hold back. */
  readonly held: KeptBytes = new KeptBytes()

  get inMemory(): number {
    return this.used + this.held.used
  }
}
