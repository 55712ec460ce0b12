import { describe, expect, test } from 'vitest'
import { Vectors } from '../../support/vectors.ts'
import { lcg } from './lcg.ts'
import { AegisSreBreaker } from './sre-breaker.ts'

interface Config {
  readonly success: number
  readonly request: number
  readonly bucket: number
  readonly bucketNs: number
  readonly lcgSeed: number
}
type Ratio = number | 'NaN' | null
type Ask = readonly [
  op: 'a',
  tMs: number,
  total: number,
  accepts: number,
  ratio: Ratio,
  draw: number | null,
  allowed: 0 | 1,
  state: 'open' | 'closed',
]
type Step = Ask | readonly [op: 'f' | 's', tMs: number, count: number]

const vectors = new Vectors<Config, Step>('aegis-sre-breaker.json')

class Replayed {
  readonly breaker: AegisSreBreaker
  private drawn: number | null = null

  constructor({ success, request, bucket, bucketNs, lcgSeed }: Config) {
    const roll = lcg(lcgSeed)
    this.breaker = new AegisSreBreaker({ success, request, buckets: bucket, bucketNs }, () => (this.drawn = roll()))
  }

  play(step: Step): void {
    const nowNs = step[1] * 1e6
    if (step[0] === 'a') return this.ask(step, nowNs)
    const [op, , count] = step
    for (let i = 0; i < count; i++) {
      if (op === 's') this.breaker.markSuccess(nowNs)
      else this.breaker.markFailed(nowNs)
    }
  }

  private ask([, , total, accepts, ratio, draw, allowed, state]: Ask, nowNs: number): void {
    this.drawn = null
    const expected = { allowed: allowed === 1, total, accepts, ratio: ratio === 'NaN' ? Number.NaN : ratio, state }
    expect(this.breaker.allow(nowNs)).toEqual(expected)
    expect(this.drawn).toBe(draw)
  }
}

describe('the replica replays the SRE breaker of aegis', () => {
  test.each(vectors.cases)('$name: $description', (recorded) => {
    const replayed = new Replayed(recorded.config)
    vectors.replay(recorded, (step) => replayed.play(step))
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches`)
    expect(vectors.replayed).toBe(vectors.steps)
    expect([vectors.cases.length, vectors.steps]).toEqual([18, 17_022])
  })
})
