import { addAbortSignal, Transform, type TransformCallback } from 'node:stream'
import type { Flow } from './bandwidth-flow.ts'

/** Passes bytes as a flow may pass them. What the reader does not take is not asked for, so that it is not missing to others. */
export class BandwidthStream extends Transform {
  private readonly flow: Flow
  private readonly full: () => Error
  private readonly bind: (fn: () => void) => () => void
  /** Goes on when the reader wants more. */
  private more: (() => void) | null = null

  constructor(flow: Flow, full: () => Error, bind: (fn: () => void) => () => void, signal: AbortSignal | undefined) {
    super()
    this.flow = flow
    this.full = full
    this.bind = bind
    // Behind the fields: one that is aborted already destroys at once.
    if (signal !== undefined) addAbortSignal(signal, this)
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.pass(chunk, callback)
  }

  private pass(piece: Buffer, callback: TransformCallback): void {
    const taken = this.flow.take(piece.length)
    if (taken === piece.length) return callback(null, piece)
    if (taken === 0) return this.hold(piece, callback)
    this.release(piece, taken, callback)
  }

  /** `bytes` of the piece pass now; the rest when the reader has room for it. */
  private release(piece: Buffer, bytes: number, callback: TransformCallback): void {
    const rest = piece.subarray(bytes)
    const wants = this.push(piece.subarray(0, bytes))
    if (rest.length === 0) return callback()
    if (wants) this.pass(rest, callback)
    else this.more = () => this.pass(rest, callback)
  }

  private hold(piece: Buffer, callback: TransformCallback): void {
    let granted = 0
    const go = this.bind(() => this.release(piece, granted, callback))
    const waits = this.flow.wait(piece.length, (bytes) => {
      granted = bytes
      go()
    })
    if (!waits) callback(this.full())
  }

  override _read(size: number): void {
    const { more } = this
    if (more === null) return super._read(size)
    this.more = null
    more()
  }

  override _flush(callback: TransformCallback): void {
    this.flow.close()
    callback()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.flow.close()
    callback(error)
  }
}
