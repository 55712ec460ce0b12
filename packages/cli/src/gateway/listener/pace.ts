import type { Exchange } from '../exchange/exchange.ts'
import type { PeerLimits } from './peer.ts'

// Does a client send its body fast enough for those who wait for it?
//
// Who sends a byte now and then is never idle, and holds a connection to a server, or a slot, for as long as he likes: a few hundred of them
// hold all. So besides the time between two bytes there is a least rate. Source: MinRate of Apache's mod_reqtimeout, whose 20 s at the start
// are ours, too: time = 20 s + bytes / rate. Who has asked first (`Expect: 100-continue`) has his body at hand, and less time to begin.
//
// Only time counts in which somebody waits for the client: a server that takes its time is not his fault.

/** Before the rate counts: so long may a slow start take. */
const START_MS = 20_000

export class Pace {
  private exchange: Exchange | null = null
  private waitedMs = 0
  private seen = 0

  /** Looked at now and then. */
  isTooSlow(exchange: Exchange, now: number, limits: PeerLimits): boolean {
    if (exchange !== this.exchange) {
      this.exchange = exchange
      this.waitedMs = 0
      this.seen = now
      return false
    }
    this.waitedMs += now - this.seen
    this.seen = now
    const bytes = exchange.body?.length ?? 0
    const asked = exchange.request.headers.expect !== undefined
    if (asked && bytes === 0) return this.waitedMs >= limits.continueMs
    const rate = exchange.route.config.limits.uploadBytes ?? limits.uploadBytes
    if (rate === 0) return false
    return this.waitedMs >= (asked ? limits.continueMs : START_MS) + (bytes / rate) * 1000
  }

  /** Nobody waits for him now. */
  rest(exchange: Exchange, now: number): void {
    if (exchange === this.exchange) this.seen = now
    else this.exchange = null
  }

  /** Nothing is on its way. */
  forget(): void {
    this.exchange = null
  }
}
