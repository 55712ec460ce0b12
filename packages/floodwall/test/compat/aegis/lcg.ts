/** The dice of the recordings: 32 bits, as their notes say. */
export function lcg(seed: number): () => number {
  let x = seed
  return () => {
    x = (Math.imul(1_664_525, x) + 1_013_904_223) >>> 0
    return x / 4_294_967_296
  }
}
