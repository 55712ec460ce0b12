// One seed of one study: a virtual world that all libraries take for the real one.
import { replaceClock } from './clock.mjs'
import { flow } from './traffic.mjs'

/** A clock that begins at 0 looks like "never" to some. */
const START_MS = 1_000_000

export class Run {
  #seeded
  #seed
  #restore

  constructor({ VirtualRuntime, seeded }, seed) {
    this.world = new VirtualRuntime({ seed, startAt: START_MS })
    this.#restore = replaceClock(this.world)
    this.#seeded = seeded
    this.#seed = seed
  }

  /** Numbers of a stream of its own: every contender meets the same calls, and what it draws itself shifts nothing. */
  random(stream) {
    return this.#seeded(this.#seed * 104_729 + stream * 1_299_709)
  }

  /** Milliseconds since the beginning. */
  get now() {
    return this.world.now() - START_MS
  }

  /** What a fleet is made of, see contenders. A probe that fails is no new isolation: `isolated` hears of each once. */
  scene(endpoints, isolated = (_endpoint) => {}) {
    const out = new Set()
    return {
      world: this.world,
      begins: endpoints.map((e) => (answer) => e.begin(answer)),
      isolated(endpoint) {
        if (!out.has(endpoint)) isolated(endpoint)
        out.add(endpoint)
      },
      returned: (endpoint) => void out.delete(endpoint),
      up: (endpoint) => endpoints[endpoint].down !== true,
    }
  }

  flow(perSecond, untilMs, call) {
    flow(this.world, this.random(1000), { perSecond, until: START_MS + untilMs }, call)
  }

  /** Fleets on promises need all their reactions between two timers; for callbacks that would only be slow. */
  async until(ms, fleet) {
    if (fleet.callbacks) this.world.advance(ms - this.now)
    else await this.world.advanceAsync(ms - this.now)
  }

  end() {
    this.#restore()
  }
}
