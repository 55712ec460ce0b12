import { type Gate, Permit } from '../../core/gate.ts'

// What has a permit taken, and when, in two small numbers?
//
// V8 keeps whole numbers of 32 bits in place and makes an object for any other, which is a good part of what a permit costs. Nearly all costs are whole
// numbers below 128. Such a cost and the time fit into the two numbers of a permit: the cost and how many spans of 2048 ms there were, and the
// steps of 2^-20 ms (a nanosecond) in the last one. Of other costs the two are as they are.
//
// Cost 3 at 5000.5 ms: the tag 3 · 2^24 + 2, the generation 904.5 · 2^20.
//
// Invariant: the time that is told is not after the true one, and the same while no time has passed. It is told right within a year (2^24 spans).

const SPAN_MS = 2048
const STEPS = 0x100000
const SPAN_BITS = 24
const SPAN_MASK = 0xffffff
const MOST_COST = 127

/** The permit of `gate` for what was taken at `at`. */
export function receipt(gate: Gate, cost: number, at: number): Permit {
  if (cost >= 1 && cost <= MOST_COST && (cost | 0) === cost) {
    const span = Math.floor(at / SPAN_MS)
    return new Permit(gate, stepsIn(at, span), (cost << SPAN_BITS) | (span & SPAN_MASK))
  }
  return cost === 0 ? new Permit(gate, 0, 0) : new Permit(gate, at, -cost)
}

function stepsIn(at: number, span: number): number {
  return ((at - span * SPAN_MS) * STEPS) | 0
}

export function costOn({ tag }: Permit): number {
  return tag > 0 ? tag >>> SPAN_BITS : -tag
}

/** When it was taken, as told at `at`. */
export function timeOn({ tag, generation }: Permit, at: number): number {
  if (tag <= 0) return generation
  const span = Math.floor(at / SPAN_MS)
  const since = (span - tag) & SPAN_MASK
  // Steps are rounded down: whatever is less than one is the present.
  if (since === 0 && stepsIn(at, span) === generation) return at
  return (span - since) * SPAN_MS + generation / STEPS
}
