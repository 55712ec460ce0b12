// Is this constructor argument usable?
//
// Options are checked, with their path, before they reach an algorithm. This is the last line: an algorithm used bare
// must not start life with a width of NaN, which no later reading would ever show. Each function gives the value back,
// so that a constructor checks and assigns in one line.
//
// `new TimeRing(0, 1000, 2)` throws RangeError: buckets is 0, expected a whole number from 1 to 65536

/** A whole number from `least` to `most`. */
export function wholeNumber(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw wrong(name, value, `a whole number from ${least} to ${most}`)
}

/** A span in milliseconds above 0. At most 2^53 (285,000 years), so that sums and products of spans stay finite. */
export function milliseconds(name: string, value: number): number {
  if (typeof value === 'number' && value > 0 && value <= Number.MAX_SAFE_INTEGER) return value
  throw wrong(name, value, 'milliseconds above 0 and at most 2^53 - 1')
}

/** A weight: above 0 (at 0 nothing would ever be learnt) and at most 1. */
export function weight(name: string, value: number): number {
  if (typeof value === 'number' && value > 0 && value <= 1) return value
  throw wrong(name, value, 'a number above 0 and at most 1')
}

/** A fraction, both ends included. */
export function fraction(name: string, value: number): number {
  if (typeof value === 'number' && value >= 0 && value <= 1) return value
  throw wrong(name, value, 'a number from 0 to 1')
}

function wrong(name: string, value: unknown, expected: string): RangeError {
  // The type is the whole story for anything but a number or a text: '60' must not read like 60.
  const shown =
    typeof value === 'number' ? String(value) : typeof value === 'string' ? JSON.stringify(value) : typeof value
  return new RangeError(`${name} is ${shown}, expected ${expected}`)
}
