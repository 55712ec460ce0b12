// Whose calls they are. The texts are made before, and the order in which they come is drawn before: the same for all.

/** Short enough that V8 makes one flat text of it, as an address or an account is. */
const LENGTH = 12
/** Draws for each key at least: of 10^5 nine in ten come. No more, since the list of draws takes room in the caches. */
const TURNS = 2
/** Ranks are scattered over the keys: else the hot ones would be neighbours in memory. Prime, so it meets each of 10^n keys once. */
const SCATTER = 7_368_787

const textOf = (i) => `user-${String(i).padStart(LENGTH - 5, '0')}`

/** `count` keys, other ones for another `from`. */
export const texts = (count, from = 0) => Array.from({ length: count }, (_, i) => textOf(from + i))

/** One long text to cut keys from: each cut is a new flat text without a hash, as what a parser of headers hands out. */
export const roll = (keys) => ({ text: keys.join(''), length: LENGTH })

const orders = {
  'in turn': (count) => (i) => i % count,
  uniform: (count, random) => () => Math.floor(random() * count),
  zipf,
}

/** Which key comes when: one after the other, `uniform`, or `zipf` with exponent 1. A power of two, so that a loop can go around it. */
export function draws(count, order, random) {
  const draw = orders[order](count, random)
  let length = 1
  while (length < TURNS * count) length *= 2
  return Int32Array.from({ length }, (_, i) => draw(i))
}

function zipf(count, random) {
  const sums = new Float64Array(count)
  let sum = 0
  for (let rank = 0; rank < count; rank++) sums[rank] = sum += 1 / (rank + 1)
  return () => {
    const wanted = random() * sum
    let low = 0
    let high = count - 1
    while (low < high) {
      const half = (low + high) >> 1
      if (sums[half] <= wanted) low = half + 1
      else high = half
    }
    return (low * SCATTER) % count
  }
}
