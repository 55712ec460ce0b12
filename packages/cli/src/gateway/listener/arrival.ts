import type { Socket } from 'node:net'
import type { Outcome } from 'floodwall'
import type { Intake } from 'floodwall/server'

// What does it cost to refuse who comes over a connection of his own?
//
// The first request of a connection, and the time that the gateway itself spends on it: what passes while a body comes, or in a queue, is left to the
// others. Refused by a layer, it counts for whether new connections are taken at all.

export class Arrival {
  readonly intake: Intake
  readonly socket: Socket
  private works = false
  private since = 0
  private spentMs = 0

  constructor(intake: Intake, socket: Socket) {
    this.intake = intake
    this.socket = socket
  }

  /** There is something to do for it; harmless when there was all the time. */
  goOn(): void {
    if (this.works) return
    this.works = true
    this.since = performance.now()
  }

  /** It waits for something, or is over. */
  rest(): void {
    if (!this.works) return
    this.works = false
    this.spentMs += performance.now() - this.since
  }

  /** It has its answer. `attempts`: that were sent to a server; a no after those is none that was cheap to avoid. */
  ended({ rejection }: Outcome<unknown>, attempts: number): void {
    this.rest()
    if (rejection !== undefined && attempts === 0) this.intake.refused(this.spentMs)
  }
}

/** The first request of its connection is here; undefined for every other. */
export function arrive(peer: { arrival: Arrival | undefined }): Arrival | undefined {
  const { arrival } = peer
  peer.arrival = undefined
  arrival?.goOn()
  return arrival
}
