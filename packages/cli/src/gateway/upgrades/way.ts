import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Flow } from 'floodwall'
import { type Frames, goodbye } from './frames.ts'

/**
 * One direction of a tunnel: what comes out of `from` goes into `to`, no faster than that takes it. Where its route has a `bandwidth` a piece is passed as it came,
 * for frames are not to be torn by us, and paid before the next one is read: so it is ahead of its rate by one piece at most.
 */
export class Way {
  /** Passed so far. */
  bytes = 0
  /** The sender has closed its side. */
  ended = false
  private readonly from: Socket
  private readonly to: Socket
  /** None: what passes is no WebSocket. */
  private readonly frames: Frames | null
  /** Who speaks this way is a client, and masks. */
  private readonly masks: boolean
  private readonly flow: Flow | undefined
  /** Bytes that have passed and are not paid. */
  private owed = 0
  private full = false
  private parting = false
  private parted = false

  constructor(from: Socket, to: Socket, frames: Frames | null, masks: boolean, flow?: Flow) {
    this.from = from
    this.to = to
    this.frames = frames
    this.masks = masks
    this.flow = flow
    to.on('drain', () => {
      this.full = false
      this.goOn()
    })
    from.on('close', () => flow?.close())
  }

  open(): void {
    const { from, to } = this
    from.on('data', (piece: Buffer) => this.pass(piece))
    // Half-closed is not closed: the other direction goes on.
    from.on('end', () => {
      this.ended = true
      to.end()
    })
    this.goOn()
  }

  /** It is ahead of its rate, and nothing is read. */
  get paying(): boolean {
    return this.owed > 0
  }

  private goOn(): void {
    if (!this.full && !this.paying) this.from.resume()
  }

  pass(piece: Buffer): void {
    const { frames, from, to } = this
    this.bytes += piece.length
    const end = frames === null ? -1 : frames.count(piece)
    if (this.parted || !to.writable) return
    if (this.parting && end >= 0) {
      to.write(piece.subarray(0, end))
      return this.part()
    }
    this.full = !to.write(piece)
    if (this.full) from.pause()
    if (this.flow !== undefined) this.owe(piece.length, this.flow)
  }

  private owe(bytes: number, flow: Flow): void {
    this.owed += bytes
    if (!flow.waiting) this.pay(flow)
  }

  private pay(flow: Flow): void {
    this.owed -= flow.take(this.owed)
    if (!this.paying) return this.goOn()
    this.from.pause()
    const waits = flow.wait(this.owed, (paid) => {
      this.owed -= paid
      this.pay(flow)
    })
    // It is over.
    if (!waits) this.owed = 0
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

  private part(): void {
    const { frames, from, to } = this
    this.parted = true
    if (to.writable) {
      if (frames === null) to.end()
      else if (!frames.closed) to.write(goodbye(this.masks ? randomBytes(4) : null))
    }
    // It may have been told to wait; his goodbye is still to be heard.
    from.resume()
  }
}
