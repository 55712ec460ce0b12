// The formula of the SRE book and nothing else: requests are all that were wanted, what was dropped here included.

const BUCKETS = 10

export class PlainFormula {
  #k
  #widthMs
  #random
  #buckets = Array.from({ length: BUCKETS }, () => ({ requests: 0, accepts: 0 }))
  #slot = 0

  constructor({ k, overMs }, random) {
    this.#k = k
    this.#widthMs = overMs / BUCKETS
    this.#random = random
  }

  allow(now) {
    this.#turn(now)
    let requests = 0
    let accepts = 0
    for (const bucket of this.#buckets) {
      requests += bucket.requests
      accepts += bucket.accepts
    }
    this.#current.requests++
    return !(this.#random() < Math.max(0, (requests - this.#k * accepts) / (requests + 1)))
  }

  markSuccess(now) {
    this.#turn(now)
    this.#current.accepts++
  }

  get #current() {
    return this.#buckets[this.#slot % BUCKETS]
  }

  #turn(now) {
    const slot = Math.floor(now / this.#widthMs)
    for (let gap = Math.min(slot - this.#slot, BUCKETS); gap > 0; gap--) {
      Object.assign(this.#buckets[(slot - gap + 1) % BUCKETS], { requests: 0, accepts: 0 })
    }
    this.#slot = slot
  }
}
