// Which bucket of a time window holds this instant?
//
// Bucket k is [k * width, (k + 1) * width): an instant on an edge belongs to the later bucket only. The edges are
// multiples of the width on the caller's clock, not offsets from the first event, so that windows which count the same
// stream agree on where they cut it.
//
// 10,000 ms with a width of 1,000 ms: bucket 10. 0.3 with a width of 0.1: bucket 2, since 3 * 0.1 is just above 0.3.
//
// Invariant: slot * width <= now < (slot + 1) * width, in the doubles the window compares with.

/** The bucket number; NaN or Infinity when `now` is. */
export function slotAt(now: number, widthMs: number): number {
  const slot = Math.floor(now / widthMs)
  // The division rounds: an instant one unit in the last place under an edge can land on it. A window that compares
  // `now` with an edge, and then asks for the bucket, must hear the same answer twice.
  if ((slot + 1) * widthMs <= now) return slot + 1
  if (slot * widthMs > now) return slot - 1
  return slot
}
