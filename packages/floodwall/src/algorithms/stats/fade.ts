// How much is left after a span?
//
// e^-x, as Math.exp gives it, which in V8 is a port of fdlibm and the same on every version. Most spans here are short beside the time
// constant, and for those six terms of the series are the exponential to the last bit or two, at a fifth of its price.
//
// x 0.001: 0.9990004998...; x 1: 0.3678...
//
// Invariant: 0 <= fade(x) <= 1, 1 at 0, and not rising.

/** Below this the first term that is left out, x^6 / 720, is under 1e-15. */
const SHORT = 1 / 128

export function fade(x: number): number {
  if (x < SHORT) return 1 - x * (1 - x * (1 / 2 - x * (1 / 6 - x * (1 / 24 - x / 120))))
  return Math.exp(-x)
}
