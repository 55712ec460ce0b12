// MurmurHash3 x86, 32 bits, of Austin Appleby (public domain), as the recordings use it.

export function murmur3(bytes: Uint8Array, seed: number): number {
  let h = seed >>> 0
  const whole = bytes.length & ~3
  for (let i = 0; i < whole; i += 4) {
    const word = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24)
    h ^= scrambled(word)
    h = (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0
  }
  let rest = 0
  for (let i = bytes.length - 1; i >= whole; i--) rest = (rest << 8) | bytes[i]!
  if (whole < bytes.length) h ^= scrambled(rest)
  h ^= bytes.length
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

function scrambled(word: number): number {
  const k = Math.imul(word, 0xcc9e2d51)
  return Math.imul((k << 15) | (k >>> 17), 0x1b873593)
}
