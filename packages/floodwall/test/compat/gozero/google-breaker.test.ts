import { describe, expect, test } from 'vitest'
import { Vectors } from '../../support/vectors.ts'
import { lcg } from '../aegis/lcg.ts'
import { GoZeroBreaker } from './google-breaker.ts'

interface Config {
  readonly lcgSeed: number
}
type Ask = readonly [
  op: 'a',
  tMs: number,
  total: number,
  accepts: number,
  failingBuckets: number,
  workingBuckets: number,
  ratio: number | null,
  draw: number | null,
  forced: 0 | 1,
  allowed: 0 | 1,
  lastPassMs: number | null,
]
type Step = Ask | readonly [op: 'f' | 's' | 'x', tMs: number, count: number]

const vectors = new Vectors<Config, Step>('gozero-breaker.json')

class Replayed {
  private readonly breaker: GoZeroBreaker
  private drawn: number | null = null

  constructor({ lcgSeed }: Config) {
    const roll = lcg(lcgSeed)
    this.breaker = new GoZeroBreaker(() => (this.drawn = roll()))
  }

  play(step: Step): void {
    const [op, tMs, count] = step
    if (op === 'a') return this.ask(step)
    for (let i = 0; i < count; i++) {
      if (op === 's') this.breaker.markSuccess(tMs)
      else if (op === 'f') this.breaker.markFailure(tMs)
      else this.breaker.markDrop(tMs)
    }
  }

  private ask([, tMs, total, accepts, failing, working, ratio, draw, forced, allowed, lastPassMs]: Ask): void {
    this.drawn = null
    const expected = { total, accepts, failingBuckets: failing, workingBuckets: working, ratio }
    expect(this.breaker.allow(tMs)).toEqual({ ...expected, allowed: allowed === 1, forced: forced === 1 })
    expect([this.drawn, this.breaker.lastPassMs]).toEqual([draw, lastPassMs])
  }
}

describe('the replica replays the breaker of go-zero', () => {
  test.each(vectors.cases)('$name: $description', (recorded) => {
    const replayed = new Replayed(recorded.config)
    vectors.replay(recorded, (step) => replayed.play(step))
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches`)
    expect(vectors.replayed).toBe(vectors.steps)
    expect([vectors.cases.length, vectors.steps]).toEqual([8, 5627])
  })
})
