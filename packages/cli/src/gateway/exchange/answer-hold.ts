import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Flow } from 'floodwall'
import { HeldTime } from './held-time.ts'

// What becomes of an answer that comes faster than its route passes it?
//
// What has come waits here, and the server is told to wait; it has its slot back when it has said all. A client that is slower than its route takes nothing of
// what others could have: bytes are asked for when it has taken those before. The same goes for each direction of a tunnel, which has no head.

/** Writes what has passed. */
export interface AnswerGiver {
  readonly response?: Pick<ServerResponse, 'flushHeaders'>
  /** Where it comes from, as long as it does. */
  readonly chosen: { unblock(): void } | null
  /** False when the client is slower; it calls {@link AnswerHold.drained} when it has caught up. */
  write(chunk: Buffer): boolean
  end(last: Buffer | null, trailers: IncomingHttpHeaders | null): void
}

export class AnswerHold {
  private readonly flow: Flow
  private readonly to: AnswerGiver
  private readonly time: HeldTime
  private readonly late: Buffer[] = []
  private ending: { readonly trailers: IncomingHttpHeaders | null } | null = null
  private blocked = false
  private told = false

  constructor(flow: Flow, to: AnswerGiver, time: HeldTime = new HeldTime()) {
    this.flow = flow
    this.to = to
    this.time = time
  }

  /** Some of the answer is here and may not pass yet. */
  get holds(): boolean {
    return this.late.length > 0
  }

  /** It waits for its turn, and not for who takes it. */
  get waits(): boolean {
    return this.flow.waiting
  }

  /** False when the server is to wait. */
  write(chunk: Buffer): boolean {
    this.late.push(chunk)
    return this.release() && !this.blocked
  }

  end(last: Buffer | null, trailers: IncomingHttpHeaders | null): void {
    if (this.late.length === 0) {
      const bytes = last === null ? 0 : this.flow.take(last.length)
      // As one write, where all of it may pass: most answers are small.
      if (last === null || bytes === last.length) return this.to.end(last, trailers)
      if (bytes > 0) this.blocked = !this.to.write(last.subarray(0, bytes))
      this.late.push(last.subarray(bytes))
    } else if (last !== null) this.late.push(last)
    this.ending = { trailers }
    if (this.release()) this.to.end(null, trailers)
  }

  /** The client takes more. */
  drained(): void {
    this.blocked = false
    this.goOn()
  }

  private goOn(): void {
    if (!this.release() || this.blocked) return
    if (this.ending === null) this.to.chosen?.unblock()
    else this.to.end(null, this.ending.trailers)
  }

  /** True when all has passed that was held. */
  private release(): boolean {
    const { late, flow } = this
    while (late.length > 0 && !this.blocked && !flow.waiting) {
      const { length } = late[0] as Buffer
      const bytes = flow.take(length)
      if (bytes > 0) this.passOn(bytes)
      else if (!this.hold(length)) break
    }
    return late.length === 0
  }

  /** False when it is over. */
  private hold(bytes: number): boolean {
    if (!this.flow.wait(bytes, this.granted)) return false
    this.time.begin()
    // The client need not wait for the head, too.
    if (!this.told) this.to.response?.flushHeaders()
    this.told = true
    return true
  }

  private readonly granted = (bytes: number): void => {
    this.time.end()
    this.passOn(bytes)
    this.goOn()
  }

  private passOn(bytes: number): void {
    const first = this.late[0] as Buffer
    if (bytes === first.length) this.late.shift()
    else this.late[0] = first.subarray(bytes)
    this.told = true
    this.blocked = !this.to.write(first.subarray(0, bytes))
  }

  /** Nothing more comes, or nobody wants it. Answers with what has not passed, and will not. */
  close(): Buffer[] {
    this.flow.close()
    return this.late.splice(0)
  }
}
