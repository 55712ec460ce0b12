import type { ByteShare, Turn } from '../algorithms/rates/turn-heap.ts'
import type { TimedLine } from './bandwidth-line.ts'

/** One line on the way of a stream, and whose share of it its bytes are. */
export interface Stage {
  readonly line: TimedLine
  readonly share: ByteShare
}

/** What a flow tells of itself to the whole it belongs to. */
export interface FlowBook {
  /** Bytes have passed; `held`: they had to wait. */
  passed(bytes: number, held: boolean): void
  /** A place to wait with `bytes`; false: there is none. */
  enters(bytes: number): boolean
  leaves(bytes: number): void
  closed(flow: Flow): void
}

/**
 * A stream on its way through its limits: its own, that of its key, that of all. It asks them one behind the other, that of all last, so that nobody waits there
 * who would have to wait elsewhere. What it was granted by one is given back when it ends before the others have.
 */
export class Flow {
  /** @internal The line that is its own, or its connection's. */
  readonly own: TimedLine | undefined
  private readonly stages: readonly Stage[]
  private readonly book: FlowBook
  private turn: Turn | null = null
  /** The stage that it waits at; those before have granted what it waits with. */
  private at = 0
  private bytes = 0
  private go: ((bytes: number) => void) | null = null
  private over = false

  constructor(stages: readonly Stage[], own: TimedLine | undefined, book: FlowBook) {
    this.own = own
    this.stages = stages
    this.book = book
  }

  get waiting(): boolean {
    return this.go !== null
  }

  /** Takes as much of `bytes` as may pass now; 0: none of it. */
  take(bytes: number): number {
    let taken = 0
    // Who waits already has not overtaken himself.
    if (!this.over && this.go === null) {
      for (let part = this.part(bytes); part > 0 && this.takes(part); part = this.part(bytes - taken)) taken += part
    }
    if (taken > 0) this.book.passed(taken, false)
    return taken
  }

  /** So much of `bytes` is asked for at once. */
  private part(bytes: number): number {
    let part = bytes
    for (const { line } of this.stages) if (line.line.quantum < part) part = line.line.quantum
    return part
  }

  private takes(bytes: number): boolean {
    const { stages } = this
    for (let i = 0; i < stages.length; i++) {
      const { line, share } = stages[i] as Stage
      if (line.takes(share, bytes)) continue
      this.giveBack(i, bytes)
      return false
    }
    return true
  }

  /** Those before `end` have granted it in vain. */
  private giveBack(end: number, bytes: number): void {
    for (const { line, share } of this.stages.slice(0, end)) line.give(share, bytes)
  }

  /**
   * Calls `go` when some of `bytes` may pass, with how many; not from here. False when there is no place to wait, or the flow is closed: then it never will.
   * One wait at a time.
   */
  wait(bytes: number, go: (bytes: number) => void): boolean {
    if (this.over || this.go !== null) return false
    const part = this.part(bytes)
    if (!this.book.enters(part)) return false
    this.bytes = part
    this.go = go
    this.at = 0
    this.enter()
    return true
  }

  private enter(): void {
    const { line, share } = this.stages[this.at] as Stage
    this.turn = line.enter(share, this.bytes, this.onTurn)
  }

  private readonly onTurn = (): void => {
    this.turn = null
    for (this.at++; this.at < this.stages.length; this.at++) {
      const { line, share } = this.stages[this.at] as Stage
      if (!line.takes(share, this.bytes)) return this.enter()
    }
    const { go, bytes } = this
    this.go = null
    this.book.leaves(bytes)
    this.book.passed(bytes, true)
    go?.(bytes)
  }

  /** It ends, wherever it waits; `go` is not called any more. The second time nothing happens. */
  close(): void {
    if (this.over) return
    this.over = true
    if (this.go !== null) {
      this.go = null
      this.book.leaves(this.bytes)
      if (this.turn !== null) (this.stages[this.at] as Stage).line.leave(this.turn)
      this.turn = null
      this.giveBack(this.at, this.bytes)
    }
    this.book.closed(this)
  }
}
