// One after the other, whatever they answer.

export class RoundRobinFleet {
  callbacks = true
  #turn = -1
  #begins

  constructor({ begins }) {
    this.#begins = begins
  }

  send(done) {
    this.#turn = (this.#turn + 1) % this.#begins.length
    this.#begins[this.#turn](done)
  }
}
