// Does what is fuzzed hold more and more? Looked at only while nobody is connected: then what it holds is its own.
import { setTimeout as pause } from 'node:timers/promises'

/** @typedef {import('./gateway.mjs').Held} Held */

/** Warm by then: code is compiled, tables and pools have their size. */
export const WARM_CONNECTIONS = 10_000
/** Between one collection of garbage and the next RSS moves by some 30 MiB. */
const MOST_MIB = 64

const LOOK_EVERY_MS = 250
const LOOKS = 40

export class Growth {
  /** @private @type {Held | undefined} */ first
  /** @private @type {Held | undefined} */ last
  /** @readonly @private */ wait

  /** @param {(ms: number) => Promise<void>} [wait] */
  constructor(wait = pause) {
    this.wait = wait
  }

  /**
   * Looks once what was closed is gone: when it does not change any more, and is no more than before.
   *
   * @param {() => Held | undefined} held
   */
  async look(held) {
    let before = held()
    for (let i = 0; i < LOOKS; i++) {
      await this.wait(LOOK_EVERY_MS)
      const now = held()
      if (now === undefined) return
      const still = now.fds === before?.fds && now.fds <= (this.first?.fds ?? now.fds)
      before = now
      if (still) break
    }
    if (this.first === undefined) this.first = before
    else this.last = before
  }

  /** In a line; '' when there was only one look, or none. */
  get summary() {
    const { first, last } = this
    if (first === undefined || last === undefined) return ''
    const [before, after] = [first, last].map(({ rssMiB }) => rssMiB.toFixed(0))
    return `at rest after ${WARM_CONNECTIONS} connections and at the end: descriptors ${first.fds} and ${last.fds}, memory ${before} and ${after} MiB`
  }

  /** @returns {readonly string[]} what is too much */
  get leaks() {
    const { first, last } = this
    if (first === undefined || last === undefined) return []
    const found = []
    if (last.fds > first.fds) found.push(`${last.fds - first.fds} descriptors more than at rest before`)
    const more = last.rssMiB - first.rssMiB
    if (more > MOST_MIB) found.push(`${more.toFixed(0)} MiB more than at rest before`)
    return found
  }
}
