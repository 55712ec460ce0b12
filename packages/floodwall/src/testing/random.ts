/**
 * Uniform numbers in [0, 1) from a seed: Weyl sequence through a 32-bit finaliser (the constants are those of MurmurHash3). Integer
 * arithmetic only, so that the same seed gives the same numbers on every Node version.
 */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let z = state
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b)
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35)
    return ((z ^ (z >>> 16)) >>> 0) / 4_294_967_296
  }
}
