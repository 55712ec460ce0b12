// A loop that no compiler can leave out: see work.mjs, which loads this file eight times.
export function spend(units) {
  let x = 0x9e3779b9
  for (let i = 0; i < units * 16; i++) {
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
  }
  return x
}
