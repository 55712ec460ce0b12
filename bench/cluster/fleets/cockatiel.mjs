// The same with cockatiel's breaker that opens after failures in a row.
import { BrokenCircuitError, CircuitState, ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel'
import { REFUSED } from '../fate.mjs'

export class CockatielFleet {
  #turn = -1
  #breakers

  constructor({ begins, isolated, returned }, { failures, halfOpenAfter }) {
    this.#breakers = begins.map((begin, endpoint) => {
      const policy = circuitBreaker(handleAll, { halfOpenAfter, breaker: new ConsecutiveBreaker(failures) })
      policy.onBreak(() => isolated(endpoint))
      policy.onReset(() => returned(endpoint))
      const work = () =>
        new Promise((resolve, reject) => {
          begin((fate) => (fate.ok ? resolve(fate) : reject(fate)))
        })
      return { policy, work }
    })
  }

  async send(done) {
    done(await this.#fate())
  }

  /** Whether the open time is over only shows when it is asked: who is refused asks the next. */
  async #fate() {
    for (let i = 0; i < this.#breakers.length; i++) {
      this.#turn = (this.#turn + 1) % this.#breakers.length
      const { policy, work } = this.#breakers[this.#turn]
      // Half-open, it would let the call wait for the end of the probe.
      if (policy.state === CircuitState.HalfOpen) continue
      try {
        return await policy.execute(work)
      } catch (error) {
        if (!(error instanceof BrokenCircuitError)) return error
      }
    }
    return REFUSED
  }
}
