// An endpoint that can carry so many calls a second and no more: workers, and a queue before them. Who waits
// longer than the client's patience has gone when his turn comes, but the work is done all the same: that is how
// an overloaded server stays overloaded. A full queue fails at once.
import { ANSWERED, FAILED, TIMED_OUT, TIMEOUT_MS, UNREACHABLE } from './fate.mjs'

const WORKERS = 2
/** Twice of what a client waits for: a queue that nobody has thought about. */
const QUEUE_MS = 2 * TIMEOUT_MS

export class Server {
  calls = 0
  down = false
  #world
  #random
  #workMs
  #most
  #queue = []
  #busy = 0
  /** Calls of before it went down are not answered. */
  #life = 0

  constructor(world, random, perSecond) {
    this.#world = world
    this.#random = random
    this.#workMs = (WORKERS * 1000) / perSecond
    this.#most = Math.round((QUEUE_MS * perSecond) / 1000)
  }

  crash() {
    this.down = true
    this.#life++
    this.#queue = []
    this.#busy = 0
  }

  rise() {
    this.down = false
  }

  begin(answer) {
    this.calls++
    if (this.down) return this.#world.after(0.2, () => answer(UNREACHABLE))
    if (this.#queue.length >= this.#most) return this.#world.after(1, () => answer(FAILED))
    let waits = true
    const once = (fate) => {
      if (waits) answer(fate)
      waits = false
    }
    this.#world.after(TIMEOUT_MS, () => once(TIMED_OUT))
    this.#queue.push(once)
    this.#work()
  }

  #work() {
    if (this.#busy >= WORKERS || this.#queue.length === 0) return
    const once = this.#queue.shift()
    const life = this.#life
    this.#busy++
    // Between half and one and a half of the mean.
    this.#world.after(this.#workMs * (0.5 + this.#random()), () => {
      if (life !== this.#life) return once(FAILED)
      this.#busy--
      once(ANSWERED)
      this.#work()
    })
  }
}
