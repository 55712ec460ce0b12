import { expect, test } from 'vitest'
import { detections, showDetections } from './error-cost-detection.ts'

test('from fault to trip: never later than brpc, and fast failures like any other', () => {
  const rows = detections()
  const title = 'calls (time) from fault to trip, median of 5 seeds; never: not within 20000 calls'
  console.log(`${title}\n${showDetections(rows)}`)
  for (const row of rows) {
    const ours = row.errorCost ?? Infinity
    expect(ours, JSON.stringify(row)).toBeLessThanOrEqual(row.brpc ?? Infinity)
    // 10 % is below both limits, unless each costs two.
    expect(ours === Infinity, JSON.stringify(row)).toBe(row.share === 0.1 && row.failureTakes < 2)
    if (row.share === 1) expect(ours, JSON.stringify(row)).toBeLessThanOrEqual(23)
    const normal = rows.find(
      (other) => other.failureTakes === 1 && other.share === row.share && other.callsPerSecond === row.callsPerSecond,
    )
    if (row.failureTakes < 1) expect(ours).toBeLessThanOrEqual((normal?.errorCost ?? Infinity) * 1.1)
  }
})
