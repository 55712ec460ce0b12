// An address of IPv4 as a number. Asked for each address in a list that a trusted peer sends, where node:net's regular expression costs a
// microsecond.

/** No address; those are numbers of 32 bits. */
const NONE: number = Number.MAX_SAFE_INTEGER

export function isNone(number: number): boolean {
  return number === NONE
}

/** 32 bits with a sign. Strict: four decimal parts without zeros in front, as `node:net` reads them; {@link isNone} says so of all else. */
export function numberOfFour(text: string): number {
  const { length } = text
  if (length < 7 || length > 15) return NONE
  let number = 0
  let part = -1
  let dots = 0
  for (let i = 0; i < length; i++) {
    const digit = text.charCodeAt(i) - 48
    if (digit >= 0 && digit <= 9) {
      // A zero in front: some readers take it for octal.
      if (part === 0) return NONE
      part = part < 0 ? digit : part * 10 + digit
      if (part > 255) return NONE
    } else {
      if (digit !== -2 || part < 0 || dots === 3) return NONE
      number = (number << 8) | part
      part = -1
      dots++
    }
  }
  return dots === 3 && part >= 0 ? (number << 8) | part : NONE
}
