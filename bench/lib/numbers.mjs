// Medians, because a shared machine has a long right tail and no left one.

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
}

/** The run whose `field` is the (lower) median. A whole run, so that its numbers belong together. */
export function medianRun(runs, field) {
  const sorted = [...runs].sort((a, b) => a[field] - b[field])
  return sorted[(sorted.length - 1) >> 1]
}

/** How far the runs lie apart: the whole range, as a share of the median. */
export function spread(values) {
  return values.length < 2 ? 0 : (Math.max(...values) - Math.min(...values)) / median(values)
}

export function round(value, digits) {
  return value === null || value === undefined ? null : Number(value.toFixed(digits))
}
