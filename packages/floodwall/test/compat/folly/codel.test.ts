import { describe, expect, test } from 'vitest'
import { Codel, type CodelSettings } from '../../../src/algorithms/queues/codel.ts'
import { Vectors } from '../../support/vectors.ts'

type Step = readonly [op: 'c', nowMs: number, delayMs: number, shed: 0 | 1, load: number, leastMs: number]

const vectors = new Vectors<CodelSettings, Step>('codel-folly.json')

describe('our CoDel is that of folly', () => {
  test.each(vectors.cases)('$name: $description', (recorded) => {
    const codel = new Codel(recorded.config)
    vectors.replay(recorded, ([, nowMs, delayMs, shed, load, leastMs]) => {
      expect(codel.judge(delayMs, nowMs)).toBe(shed === 1)
      expect([codel.load, codel.leastMs]).toEqual([load, leastMs])
    })
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches`)
    expect(vectors.replayed).toBe(vectors.steps)
    expect([vectors.cases.length, vectors.steps]).toEqual([13, 8665])
  })
})
