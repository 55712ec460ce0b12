import { expect, test } from 'vitest'
import { detections, showDetections } from './error-cost-detection.ts'

test('from fault to trip', () => {
  const rows = detections()
  console.log(
    `calls (time) from fault to trip, median of 5 seeds; never: not within 20000 calls\n${showDetections(rows)}`,
  )
  expect(rows.length).toBe(36)
})
