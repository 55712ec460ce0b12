import type { Level } from './level.ts'

// Who is served now, and who waits?
//
// The queue of queueing theory: so many workers, one line, first come first served. An event loop is a station with one worker, through which
// a request passes once before it waits for others and once after.
//
// Invariant: nobody waits while a worker is free.

/** What a station serves. */
export interface Job {
  /** @internal The next one in the line. */
  following: Job | null
  /** Its turn has come: how long it keeps the worker, in milliseconds; Infinity until {@link Station.leave}, -1 if it is not wanted any more. */
  turn(): number
}

export class Station<J extends Job> {
  readonly workers: number
  readonly busy: Level
  readonly waiting: Level
  private readonly clock: () => number
  private readonly serve: (job: J, tookMs: number) => void
  private head: J | null = null
  private tail: J | null = null

  /** `serve` is told who has a worker now, and for how long; then somebody must call {@link leave}. */
  constructor(
    workers: number,
    levels: { readonly busy: Level; readonly waiting: Level },
    clock: () => number,
    serve: (job: J, tookMs: number) => void,
  ) {
    this.workers = workers
    this.busy = levels.busy
    this.waiting = levels.waiting
    this.clock = clock
    this.serve = serve
  }

  /** True when a worker has nothing to do. */
  get free(): boolean {
    return this.busy.value < this.workers
  }

  /** To a free worker, or to the end of the line. */
  enter(job: J): void {
    if (this.free) {
      this.begin(job)
      // It may have gone at once, and what it did may have brought others here.
      if (this.head !== null) this.fill()
      return
    }
    this.waiting.change(1, this.clock())
    job.following = null
    if (this.tail === null) this.head = job
    else this.tail.following = job
    this.tail = job
  }

  /** A worker is free again. */
  leave(): void {
    this.busy.change(-1, this.clock())
    this.fill()
  }

  /** Nobody is served and nobody waits any more. */
  clear(): void {
    const now = this.clock()
    this.head = null
    this.tail = null
    this.busy.change(-this.busy.value, now)
    this.waiting.change(-this.waiting.value, now)
  }

  private fill(): void {
    while (this.head !== null && this.free) {
      const job: J = this.head
      this.head = job.following as J | null
      // An old job would keep all later ones from the young generation's collector.
      job.following = null
      if (this.head === null) this.tail = null
      this.waiting.change(-1, this.clock())
      this.begin(job)
    }
  }

  private begin(job: J): void {
    // Taken before the job is asked: what it does may bring the next one here.
    this.busy.change(1, this.clock())
    const tookMs = job.turn()
    if (tookMs < 0) this.busy.change(-1, this.clock())
    else this.serve(job, tookMs)
  }
}
