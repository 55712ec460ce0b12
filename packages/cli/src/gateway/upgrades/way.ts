import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Flow } from 'floodwall'
import { type AnswerGiver, AnswerHold } from '../exchange/answer-hold.ts'
import { reset } from '../listener/reset.ts'
import { type Frames, goodbye } from './frames.ts'

/**
 * One direction of a tunnel: what comes out of `from` goes into `to`, no faster than that takes it, nor than its route passes it. What may not pass yet waits here, and
 * no more is read. A frame may pass in parts, as it may come: counted is what passes, so that a goodbye stands between two.
 */
export class Way implements AnswerGiver {
  /** Passed so far. */
  bytes = 0
  /** The sender has closed its side. */
  ended = false
  /** Told that {@link closed} is true. */
  onClosed: (() => void) | null = null
  readonly chosen = { unblock: (): void => this.goOn() }
  private readonly from: Socket
  private readonly to: Socket
  /** None: what passes is no WebSocket. */
  private readonly frames: Frames | null
  /** Who speaks this way is a client, and masks. */
  private readonly masks: boolean
  private readonly hold: AnswerHold | null
  private full = false
  private parting = false
  private parted = false
  /** The sender has closed both sides. */
  private gone = false

  constructor(from: Socket, to: Socket, frames: Frames | null, masks: boolean, flow?: Flow) {
    this.from = from
    this.to = to
    this.frames = frames
    this.masks = masks
    this.hold = flow === undefined ? null : new AnswerHold(flow, this)
    to.on('drain', () => (this.hold === null ? this.goOn() : this.hold.drained()))
    to.on('close', () => this.hold?.close())
  }

  open(): void {
    const { from } = this
    from.on('data', (piece: Buffer) => this.pass(piece))
    // Half-closed is not closed: the other direction goes on.
    from.on('end', () => {
      this.ended = true
      this.sayEnd()
    })
    if (!this.full) from.resume()
  }

  /** It is held back by its route. */
  get paying(): boolean {
    return this.hold?.waits === true
  }

  private goOn(): void {
    this.full = false
    this.from.resume()
  }

  pass(piece: Buffer): void {
    // Nobody gets it.
    if (this.parted) return void this.count(piece)
    this.full = !(this.hold ?? this).write(piece)
    if (this.full) this.from.pause()
  }

  /** What may pass now. False when the receiver is slower. */
  write(piece: Buffer): boolean {
    const { to } = this
    const end = this.count(piece, this.parting)
    if (!to.writable) return true
    if (!this.parting || end < 0) return to.write(piece)
    to.write(piece.subarray(0, end))
    this.part(piece.subarray(end))
    return true
  }

  /** All has passed that was said. */
  end(): void {
    if (this.gone) this.to.destroySoon()
    else this.to.end()
  }

  private count(piece: Buffer, one = false): number {
    const end = this.frames === null ? -1 : this.frames.count(piece, one)
    this.bytes += one && end >= 0 ? end : piece.length
    if (this.closed) this.onClosed?.()
    return end
  }

  /** Behind what is held back. */
  private sayEnd(): void {
    if (this.hold === null) this.end()
    else this.hold.end(null, null)
  }

  /** The sender is gone. Lost is lost on both sides; what was said before an end is still delivered. */
  finish(lost: boolean): void {
    this.gone = true
    if (lost) reset(this.to)
    else this.sayEnd()
  }

  /** The sender has said, in a Close frame, that he sends no more. */
  get closed(): boolean {
    return this.frames?.closed === true
  }

  /** Says goodbye to the receiver, where that may be said; what comes after it goes nowhere. */
  leave(): void {
    this.parting = true
    if (this.frames?.between !== false) this.part()
  }

  /** `rest`: came behind the frame, and goes nowhere. */
  private part(rest: Buffer = Buffer.alloc(0)): void {
    const { frames, to, hold } = this
    this.parted = true
    if (frames === null) this.sayEnd()
    else {
      if (to.writable && !frames.closed) to.write(goodbye(this.masks ? randomBytes(4) : null))
      for (const piece of [rest, ...(hold?.close() ?? [])]) this.count(piece)
    }
    // It may have been told to wait; his goodbye is still to be heard.
    this.goOn()
  }
}
