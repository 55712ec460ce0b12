import type { Socket } from 'node:net'
import { reset } from '../listener/reset.ts'
import type { TunnelFlows } from '../routes/bandwidth.ts'
import { Frames } from './frames.ts'
import { Way } from './way.ts'

// Two connections that have become one: what one side sends the other gets, and when one is gone so is the other.

/** After a goodbye the other side has so long to say its own. */
const GOODBYE_MS = 2000
/** One side has closed, and nothing comes from the other for so long: it may have gone altogether, which TCP does not tell. Or nothing of what it said before passes. */
const HALF_CLOSED_MS = 3000

export interface TunnelEnds {
  readonly client: Socket
  readonly upstream: Socket
  /** What the client has sent already. */
  readonly early: readonly Buffer[]
  /** What passes are WebSocket frames. */
  readonly framed: boolean
  /** What its route lets it pass. */
  readonly flows: TunnelFlows | undefined
}

export class Tunnel {
  private readonly client: Socket
  private readonly upstream: Socket
  private readonly up: Way
  private readonly down: Way
  private timer: NodeJS.Timeout | null = null
  private moved = -1
  private movedAt = 0
  private leaving = false

  /** `onEnd`: both are closed. */
  constructor({ client, upstream, early, framed, flows }: TunnelEnds, onEnd: () => void) {
    this.client = client
    this.upstream = upstream
    this.up = new Way(client, upstream, framed ? new Frames() : null, true, flows?.up)
    this.down = new Way(upstream, client, framed ? new Frames() : null, false, flows?.down)
    // Each end decides for itself when it has said all. The client's is so already.
    upstream.allowHalfOpen = true
    let open = 2
    const closed = (way: Way, lost: boolean): void => {
      way.finish(lost)
      if (--open > 0) return
      if (this.timer !== null) clearTimeout(this.timer)
      onEnd()
    }
    client.on('close', (lost) => closed(this.up, lost))
    upstream.on('close', (lost) => closed(this.down, lost))
    upstream.on('error', () => {})
    this.up.onClosed = () => this.farewell()
    for (const piece of early) this.up.pass(piece)
    this.up.open()
    this.down.open()
  }

  get toServer(): number {
    return this.up.bytes
  }

  get toClient(): number {
    return this.down.bytes
  }

  /** Says goodbye to both, and closes when they have answered, or have not in time. */
  leave(): void {
    if (this.leaving) return
    this.leaving = true
    this.down.leave()
    this.up.leave()
    this.farewell()
    this.timer = setTimeout(() => this.cut(), GOODBYE_MS)
  }

  /** Ends both at once. */
  cut(): void {
    this.client.destroy()
    this.upstream.destroy()
  }

  /** Leaves when nothing has moved for too long. */
  sweep(now: number, idleMs: number): void {
    const moved = this.up.bytes + this.down.bytes
    const gone = this.client.destroyed
    // Who is held back by us is not still, as long as he is there.
    if (moved !== this.moved || (!gone && (this.up.paying || this.down.paying))) {
      this.moved = moved
      this.movedAt = now
      return
    }
    const still = now - this.movedAt
    // What he had said does not keep his place for ever, and a part of it must not pass for the whole.
    if (gone && still >= HALF_CLOSED_MS) reset(this.upstream)
    else if (still >= HALF_CLOSED_MS && (this.up.ended || this.down.ended)) this.cut()
    else if (still >= idleMs) this.leave()
  }

  /** The one who was told to go has answered: the server closes first (RFC 6455, 7.1.1), and towards the client that is us. */
  private farewell(): void {
    if (this.leaving && this.up.closed) this.client.end()
  }
}
