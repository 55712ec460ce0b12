// Chance with a seed: the same seed, the same bytes, on every machine.

/** Mulberry32: small, fast, and good enough to shake a parser. */
export function randomOf(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  const below = (n) => Math.floor(next() * n)
  return {
    next,
    below,
    chance: (share) => next() < share,
    one: (list) => list[below(list.length)],
    bytes: (n) => Buffer.from(Array.from({ length: n }, () => below(256))),
  }
}

/** A seed made of a seed and a number. */
export function seedOf(seed, number) {
  return (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(number + 1, 0xc2b2ae35)) >>> 0
}
