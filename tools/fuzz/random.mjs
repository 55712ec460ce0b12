// Chance with a seed: the same seed, the same bytes, on every machine.

/** @typedef {ReturnType<typeof randomOf>} Random */

/**
 * Mulberry32: small, fast, and good enough to shake a parser.
 *
 * @param {number} seed
 */
export function randomOf(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  /** @param {number} n */
  const below = (n) => Math.floor(next() * n)
  return {
    below,
    /** @param {number} share */
    chance: (share) => next() < share,
    /**
     * @template T
     * @param {readonly T[]} list not empty
     * @returns {T}
     */
    one: (list) => /** @type {T} */ (list[below(list.length)]),
    /**
     * The list in another order, in place.
     *
     * @template T
     * @param {T[]} list
     */
    shuffle(list) {
      for (let i = list.length - 1; i > 0; i--) {
        const j = below(i + 1)
        const other = /** @type {T} */ (list[j])
        list[j] = /** @type {T} */ (list[i])
        list[i] = other
      }
    },
    /**
     * As latin1 text: one character, one byte.
     *
     * @param {number} n
     */
    bytes: (n) => String.fromCharCode(...Array.from({ length: n }, () => below(256))),
  }
}

/**
 * A seed made of a seed and a number.
 *
 * @param {number} seed
 * @param {number} number
 */
export function seedOf(seed, number) {
  return (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(number + 1, 0xc2b2ae35)) >>> 0
}
