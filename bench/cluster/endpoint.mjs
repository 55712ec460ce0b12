// An endpoint without a queue: what it does is told from outside. For faults that have nothing to do with load.
import { ANSWERED, FAILED, TIMED_OUT, TIMEOUT_MS } from './fate.mjs'

/** 10 ms and an exponential tail of 10 ms more on average: 20 ms in the mean. */
const BASE_MS = 10
const TAIL_MS = 10

export class Endpoint {
  calls = 0
  failures = 0

  constructor(world, random) {
    this.world = world
    this.random = random
    this.fault = undefined
  }

  /** `share` of the calls fail: `slow` by the client's patience, `fast` after 1 ms, else as late as an answer. */
  break(share, speed) {
    this.fault = { share, speed }
  }

  mend() {
    this.fault = undefined
  }

  begin(answer) {
    this.calls++
    // Drawn in any case, so that all clients meet the same latencies.
    const tookMs = BASE_MS - Math.log(1 - this.random()) * TAIL_MS
    const fails = this.random() < (this.fault?.share ?? 0)
    if (!fails) return this.world.after(Math.min(tookMs, TIMEOUT_MS - 1), () => answer(ANSWERED))
    this.failures++
    const { speed } = this.fault
    if (speed === 'slow') return this.world.after(TIMEOUT_MS, () => answer(TIMED_OUT))
    return this.world.after(speed === 'fast' ? 1 : tookMs, () => answer(FAILED))
  }
}
