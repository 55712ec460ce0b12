// What a server can carry: a fixed number of workers, each busy for a while with one request, and a line before them.
//
// A worker does not see that the client has left in the meantime, as in most servers: what was given up in the line is worked on all the
// same, and takes the place of what is still wanted. That is why a server that is flooded may be of no use to anybody.
//
// 6 workers, 60 ms: 100 requests a second. At 200 a second the line has 100 after a second, and who comes then waits for a second.

const WORKERS = 6
const WORK_MS = 60
/** A line that nobody has thought about, like most: two seconds of work. */
const LINE = 200

/** Requests a second that one server can carry. */
export const CAPACITY: number = (WORKERS * 1000) / WORK_MS

export class Workers {
  private readonly line: (() => void)[] = []
  private readonly busy = new Set<NodeJS.Timeout>()

  /** False when the line is full. `done` is called when the work is. */
  take(done: () => void): boolean {
    if (this.busy.size < WORKERS) this.work(done)
    else if (this.line.length < LINE) this.line.push(done)
    else return false
    return true
  }

  private work(done: () => void): void {
    const timer = setTimeout(
      () => {
        this.busy.delete(timer)
        const next = this.line.shift()
        if (next !== undefined) this.work(next)
        done()
      },
      WORK_MS * (0.8 + 0.4 * Math.random()),
    )
    this.busy.add(timer)
  }

  /** All that was begun is lost. */
  die(): void {
    this.line.length = 0
    for (const timer of this.busy) clearTimeout(timer)
    this.busy.clear()
  }
}
