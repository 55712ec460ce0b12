import { connect } from 'node:net'

// The side without floodwall: a plain load balancer, as many have. Servers are asked in turn, and a check connects to each from time to
// time: who refuses is left out. It sees who is dead; it does not see who is slow, or answers nonsense.

const CHECK_EVERY_MS = 1_000
const CHECK_WITHIN_MS = 500
/** Failed checks in a row that leave a server out; one that is good brings it back. */
const FALL = 2

export class Balancer {
  private readonly origins: readonly string[]
  /** Failed checks in a row. */
  private readonly failed: number[]
  private turn = 0

  constructor(origins: readonly string[], checkEveryMs: number = CHECK_EVERY_MS) {
    this.origins = origins
    this.failed = origins.map(() => 0)
    // A single one, as the gateway is for its clients, has no other beside it.
    if (origins.length > 1) setInterval(() => this.check(), checkEveryMs).unref()
  }

  /** In turn those that are not left out; when all are, all: somebody may be back. */
  next(): string {
    const { length } = this.origins
    for (let i = 0; i < length; i++) {
      this.turn = (this.turn + 1) % length
      if (!this.isLeftOut(this.turn)) return this.origins[this.turn] ?? ''
    }
    this.turn = (this.turn + 1) % length
    return this.origins[this.turn] ?? ''
  }

  get leftOut(): boolean[] {
    return this.origins.map((_, i) => this.isLeftOut(i))
  }

  private isLeftOut(index: number): boolean {
    return (this.failed[index] ?? 0) >= FALL
  }

  private check(): void {
    this.origins.forEach((origin, i) => {
      const { hostname, port } = new URL(origin)
      const socket = connect(Number(port), hostname)
      const end = (failed: number): void => {
        this.failed[i] = failed
        socket.destroy()
      }
      socket.once('connect', () => end(0))
      socket.once('error', () => end((this.failed[i] ?? 0) + 1))
      socket.setTimeout(CHECK_WITHIN_MS, () => end((this.failed[i] ?? 0) + 1))
    })
  }
}
