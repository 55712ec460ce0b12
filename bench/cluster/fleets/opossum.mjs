// A breaker for each endpoint, and the next one that would let a call through: what one builds around a breaker
// library.
import CircuitBreaker from 'opossum'
import { REFUSED } from '../fate.mjs'

export class OpossumFleet {
  #turn = -1
  #breakers

  constructor({ begins, isolated, returned }, options = {}) {
    this.#breakers = begins.map((begin, endpoint) => {
      const action = () =>
        new Promise((resolve, reject) => {
          begin((fate) => (fate.ok ? resolve(fate) : reject(fate)))
        })
      // Percentiles and snapshots are for dashboards: they decide nothing, and cost more than all the rest.
      const quiet = { rollingPercentilesEnabled: false, enableSnapshots: false }
      const breaker = new CircuitBreaker(action, { ...quiet, ...options })
      breaker.on('open', () => isolated(endpoint))
      breaker.on('close', () => returned(endpoint))
      return breaker
    })
  }

  async send(done) {
    done(await this.#fate())
  }

  async #fate() {
    const breaker = this.#next()
    if (breaker === undefined) return REFUSED
    try {
      return await breaker.fire()
    } catch (error) {
      // Its own timeout and refusals are errors of another kind.
      return 'ok' in error ? error : REFUSED
    }
  }

  #next() {
    for (let i = 0; i < this.#breakers.length; i++) {
      this.#turn = (this.#turn + 1) % this.#breakers.length
      const breaker = this.#breakers[this.#turn]
      // Half-open it takes one call, and says so by `pendingClose`.
      if (breaker.closed || breaker.pendingClose) return breaker
    }
    return undefined
  }
}
