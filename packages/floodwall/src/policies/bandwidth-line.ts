import { ByteLine } from '../algorithms/rates/byte-line.ts'
import type { KeyLine } from '../algorithms/rates/key-lines.ts'
import type { Pace } from '../algorithms/rates/rate.ts'
import type { ByteShare, Turn } from '../algorithms/rates/turn-heap.ts'
import type { Env } from '../core/runtime.ts'
import type { ByteLimit } from './bandwidth-options.ts'

/** A line of bytes with a clock: calls those whose turn has come. It has a timer while somebody waits, and no longer. */
export class TimedLine implements KeyLine {
  readonly line: ByteLine
  private readonly env: Env
  private cancelTimer: (() => void) | null = null
  /** For whom the timer rings: as long as he is the first, and nothing else has changed, it is right. */
  private rings: Turn | undefined
  private calling = false

  constructor(limit: ByteLimit, env: Env) {
    this.env = env
    this.line = new ByteLine(limit, limit.burst, env.now())
  }

  takes(share: ByteShare, bytes: number): boolean {
    return this.line.takes(share, bytes, this.env.now())
  }

  give(share: ByteShare, bytes: number): void {
    this.line.give(share, bytes, this.env.now())
    this.arm()
  }

  enter(share: ByteShare, bytes: number, go: () => void): Turn {
    const turn = this.line.enter(share, bytes, this.env.precise(), go)
    if (this.line.first !== this.rings) this.arm()
    return turn
  }

  leave(turn: Turn): void {
    this.line.leave(turn, this.env.precise())
    if (this.line.first !== this.rings) this.arm()
  }

  reconfigure(pace: Pace, burst: number): void {
    this.line.reconfigure(pace, burst, this.env.precise())
    this.arm()
  }

  idle(now: number): boolean {
    return this.line.idle(now)
  }

  private arm(): void {
    if (this.calling) return
    this.cancelTimer?.()
    this.cancelTimer = null
    this.rings = this.line.first
    if (this.rings === undefined) return
    this.cancelTimer = this.env.after(this.line.waitMs(this.env.precise()), this.wake)
  }

  private readonly wake = (): void => {
    this.cancelTimer = null
    this.calling = true
    try {
      const now = this.env.precise()
      for (let turn = this.line.next(now); turn !== undefined; turn = this.line.next(now)) turn.go()
    } finally {
      this.calling = false
      this.arm()
    }
  }
}
