import type { Flow } from 'floodwall'
import { HeldTime } from './held-time.ts'

// What becomes of a body that comes faster than its route passes it?
//
// What has come waits here, and the client is not read meanwhile, so that his connection fills up and he waits, too. That is a piece, and what node:http had
// read already; the rest stays with him. The clocks of the request stand still: it is neither his slowness nor the server's.

/** Who gets what has passed. */
export interface UploadTaker {
  /** False when it wants no more for now; then it calls {@link UploadHold.goOn} when it does. */
  accept(piece: Buffer): boolean
  /** Something is held back: nothing is to be read, and nobody's time runs. */
  stand(): void
  /** All that was held has passed, and more is wanted. */
  drink(): void
  /** All of the body has passed. */
  finish(): void
}

export class UploadHold {
  private readonly flow: Flow
  private readonly to: UploadTaker
  private late: Buffer | null = null
  private ends = false
  private releasing = false
  private asked = false
  private readonly time: HeldTime

  constructor(flow: Flow, to: UploadTaker, time: HeldTime = new HeldTime()) {
    this.flow = flow
    this.to = to
    this.time = time
  }

  /** A piece has come. */
  take(piece: Buffer): void {
    this.late = this.late === null ? piece : Buffer.concat([this.late, piece])
    this.release()
  }

  /** The end has come; false: not for those behind, who have not got all yet. */
  end(): boolean {
    if (this.late === null) return true
    this.ends = true
    return false
  }

  /** More is wanted. False when nothing is held, which would have to come first. */
  goOn(): boolean {
    if (this.late === null) return false
    this.asked = true
    if (this.release()) this.to.drink()
    return true
  }

  /** Calls `ready` when `bytes` that are somewhere else have passed. */
  settle(bytes: number, ready: () => void): void {
    const left = bytes - this.flow.take(bytes)
    if (left === 0) return ready()
    this.flow.wait(left, (passed) => this.settle(left - passed, ready))
  }

  /** True when all that was held has passed, and more is wanted. */
  private release(): boolean {
    if (this.releasing || this.flow.waiting) return false
    this.releasing = true
    let wanted = true
    while (wanted && this.late !== null) {
      const bytes = this.flow.take(this.late.length)
      this.asked = false
      // Who takes a piece may ask for the next one before he has said that he has enough.
      wanted = bytes > 0 && (this.passOn(bytes) || this.asked)
      if (bytes === 0) this.hold(this.late.length)
    }
    this.releasing = false
    return wanted
  }

  private hold(bytes: number): void {
    if (!this.flow.wait(bytes, this.granted)) return
    this.time.begin()
    this.to.stand()
  }

  private readonly granted = (bytes: number): void => {
    this.time.end()
    if (this.passOn(bytes) && this.release()) this.to.drink()
  }

  /** False when no more is wanted, or nothing more comes. */
  private passOn(bytes: number): boolean {
    const piece = this.late as Buffer
    this.late = bytes === piece.length ? null : piece.subarray(bytes)
    const more = this.to.accept(piece.subarray(0, bytes))
    if (this.late !== null || !this.ends) return more
    this.to.finish()
    return false
  }

  /** Nothing more comes, or nobody wants it. */
  close(): void {
    this.flow.close()
  }
}
