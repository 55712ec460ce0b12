import { envOf, gate, type Layer, queue, Semaphore, systemRuntime } from 'floodwall'

// How do files not take the places of everything else?
//
// Many small files are asked for at once, and large ones run for long to slow readers. All static routes together have so many slots in
// flight, and wait for one a second at most; so of the connections to a server there is always a part that they cannot take. With 128 slots
// and 256 connections: half.

const MOST_WAITING = 1000

export class StaticLane {
  /** Outermost in every static route. */
  readonly layers: readonly Layer[]
  private readonly slots: Semaphore

  constructor(slots: number) {
    this.slots = new Semaphore({ slots }, envOf(systemRuntime, 'static'))
    this.layers = [queue({ size: MOST_WAITING, atMost: '1s' }), gate(this.slots)]
  }

  resize(slots: number): void {
    this.slots.resize(slots)
  }
}
