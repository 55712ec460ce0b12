// The same with cockatiel's breaker that opens after failures in a row.
import { BrokenCircuitError, CircuitState, ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel'
import { REFUSED } from '../fate.mjs'

export class CockatielFleet {
  #turn = -1
  #breakers

  constructor({ begins, isolated }, { failures, halfOpenAfter }) {
    this.#breakers = begins.map((begin, endpoint) => {
      const policy = circuitBreaker(handleAll, { halfOpenAfter, breaker: new ConsecutiveBreaker(failures) })
      policy.onBreak(() => isolated(endpoint))
      const work = () =>
        new Promise((resolve, reject) => {
          begin((fate) => (fate.ok ? resolve(fate) : reject(fate)))
        })
      return { policy, work }
    })
  }

  send(done) {
    this.#ask(this.#breakers.length, done)
  }

  /** Whether the open time is over only shows when it is asked: who is refused asks the next. */
  #ask(left, done) {
    if (left === 0) return done(REFUSED)
    this.#turn = (this.#turn + 1) % this.#breakers.length
    const { policy, work } = this.#breakers[this.#turn]
    // Half-open, it would let the call wait for the end of the probe.
    if (policy.state === CircuitState.HalfOpen) return this.#ask(left - 1, done)
    policy.execute(work).then(done, (error) => {
      if (error instanceof BrokenCircuitError) this.#ask(left - 1, done)
      else done(error)
    })
  }
}
