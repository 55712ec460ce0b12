// The CoDel queue of go-kratos/kratos (v1), number for number, to compare ours with. For tests and figures only: it is a trace to beat, since
// it drops one of 2500 at four times its load, and is stuck for good once callers have left it. Written from the notes of the recording.
// Times are milliseconds since it was made; the queue itself reads whole ones.

export interface KratosConfig {
  readonly targetMs: number
  readonly intervalMs: number
  /** Admitted at once; 0: the decision alone. */
  readonly maxOutstanding: number
}

/** The decision, when somebody's turn has come. */
export class KratosCodel {
  dropping = false
  count = 0
  /** When it may drop; null: below the target. */
  aboveFrom: number | null = null
  dropNext: number | null = null
  private readonly targetMs: number
  private readonly intervalMs: number

  constructor({ targetMs, intervalMs }: KratosConfig) {
    this.targetMs = targetMs
    this.intervalMs = intervalMs
  }

  /** True: dropped. */
  judge(now: number, sojournMs: number): boolean {
    const droppable = this.isDroppable(now, sojournMs)
    if (this.dropping) {
      if (!droppable) this.dropping = false
      else if (now > (this.dropNext as number)) {
        this.count++
        this.dropNext = (this.dropNext as number) + this.spacing()
        return true
      }
      return false
    }
    if (!droppable) return false
    const lately = this.dropNext !== null && now - this.dropNext < this.intervalMs
    if (!lately && now - (this.aboveFrom as number) < this.intervalMs) return false
    this.dropping = true
    this.count = lately && this.count > 2 ? this.count - 2 : 1
    this.dropNext = now + this.spacing()
    return true
  }

  private isDroppable(now: number, sojournMs: number): boolean {
    if (sojournMs < this.targetMs) {
      this.aboveFrom = null
      return false
    }
    if (this.aboveFrom !== null) return now >= this.aboveFrom
    this.aboveFrom = now + this.intervalMs
    return false
  }

  private spacing(): number {
    return Math.trunc(this.intervalMs / Math.sqrt(this.count))
  }
}

interface Entry {
  readonly at: number
  readonly decide: (drop: boolean) => void
  left: boolean
}

/** The queue around it. */
export class KratosQueue {
  outstanding = 0
  private readonly codel: KratosCodel
  private readonly most: number
  private readonly places: number
  private readonly entries: Entry[] = []
  private readonly now: () => number

  constructor(config: KratosConfig, places: number, now: () => number) {
    this.codel = new KratosCodel(config)
    this.most = config.maxOutstanding
    this.places = places
    this.now = now
  }

  /** `decide` is told whether it was dropped; the answer is the way to leave. */
  push(decide: (drop: boolean) => void): () => void {
    if (this.outstanding < this.most && this.entries.length === 0) {
      this.outstanding++
      decide(false)
      return () => {}
    }
    if (this.entries.length >= this.places) {
      decide(true)
      return () => {}
    }
    const entry: Entry = { at: Math.floor(this.now()), decide, left: false }
    this.entries.push(entry)
    return () => void (entry.left = true)
  }

  /** One that was admitted has ended. */
  pop(): void {
    this.outstanding--
    for (let entry = this.entries.shift(); entry !== undefined; entry = this.entries.shift()) {
      const now = Math.floor(this.now())
      const drop = this.codel.judge(now, now - entry.at)
      // Here is the fault: one who has left takes a slot, and nobody gives it back.
      if (!drop) this.outstanding++
      if (entry.left) continue
      entry.decide(drop)
      if (!drop) return
    }
  }
}
