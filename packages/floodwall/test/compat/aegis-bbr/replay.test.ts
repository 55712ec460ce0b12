import { describe, expect, test } from 'vitest'
import { type VectorCase, Vectors } from '../../support/vectors.ts'
import { AegisBbr, type AegisBbrOptions, aegisCpu } from './limiter.ts'

type Step =
  | readonly [op: 'cpu', tMs: number, value: number]
  | readonly [
      op: 'a',
      tMs: number,
      id: number,
      allowed: 0 | 1,
      inFlight: number,
      maxPass: number | null,
      minRt: number | null,
      limit: number | null,
      firstDropMs: number | null,
    ]
  | readonly [op: 'd', tMs: number, id: number, inFlight: number]
  | readonly [
      op: 'st',
      tMs: number,
      cpu: number,
      inFlight: number,
      limit: number,
      minRt: number,
      maxPass: number,
      firstDropMs: number | null,
    ]
  | readonly [op: 'ema', usage: number, previous: number, next: number]

const vectors = new Vectors<AegisBbrOptions, Step>('aegis-bbr.json')

const micros = (ms: number): number => Math.round(ms * 1000)

class Replayed {
  private readonly limiter: AegisBbr
  private readonly begunUs = new Map<number, number>()

  constructor({ config }: VectorCase<AegisBbrOptions, Step>) {
    this.limiter = new AegisBbr(config)
  }

  play(step: Step): void {
    const { limiter } = this
    if (step[0] === 'ema') {
      const [, usage, previous, next] = step
      expect(aegisCpu(previous, usage)).toBe(next)
      return
    }
    const nowUs = micros(step[1])
    if (step[0] === 'cpu') limiter.cpu = step[2]
    else if (step[0] === 'd') {
      const [, , id, inFlight] = step
      limiter.done(nowUs - (this.begunUs.get(id) as number), nowUs)
      expect(limiter.inFlight).toBe(inFlight)
    } else if (step[0] === 'a') {
      const [, , id, allowed, ...rest] = step
      expect([limiter.allow(nowUs) ? 1 : 0, ...this.numbers]).toEqual([allowed, ...rest])
      if (allowed === 1) this.begunUs.set(id, nowUs)
    } else {
      const [, , cpu, inFlight, limit, minRt, maxPass, firstDropMs] = step
      expect(limiter.limit(nowUs)).toBe(limit)
      expect([limiter.cpu, ...this.numbers]).toEqual([cpu, inFlight, maxPass, minRt, limit, firstDropMs])
    }
  }

  private get numbers(): (number | null)[] {
    const { inFlight, seen, firstDropUs } = this.limiter
    return [inFlight, seen.maxPass, seen.minRt, seen.limit, firstDropUs === null ? null : firstDropUs / 1000]
  }
}

describe('the replica replays the BBR limiter of aegis', () => {
  test.each(vectors.cases)('$name: $description', (recorded) => {
    const replayed = new Replayed(recorded)
    vectors.replay(recorded, (step) => replayed.play(step))
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches`)
    expect(vectors.replayed).toBe(vectors.steps)
    expect([vectors.cases.length, vectors.steps]).toEqual([24, 16_080])
  })
})
