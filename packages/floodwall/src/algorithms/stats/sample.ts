// Is this number a sample at all?
//
// A clock that stepped, a division by zero or a missing header hands an estimator -5, NaN or Infinity. One of them,
// taken as a sample, stays in an average for ever. So each statistic drops what is not a sample and counts it in
// `dropped`, which is never reset: it is a metric about the caller, not about the window.
//
// -5: dropped. 0: a sample (an answer within the clock's resolution). NaN, Infinity, 1e300: dropped.
//
// Invariant: a sum of samples is finite. That takes a largest sample: 2^53 - 1 ms is 285,000 years, and it would take
// 2^971 of them to overflow a double.

const LARGEST_SAMPLE = Number.MAX_SAFE_INTEGER

export function isSample(value: number): boolean {
  return value >= 0 && value <= LARGEST_SAMPLE
}
