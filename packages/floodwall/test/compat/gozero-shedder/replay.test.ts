import { describe, expect, test } from 'vitest'
import { type VectorCase, Vectors } from '../../support/vectors.ts'
import { GoZeroShedder, type GoZeroShedderOptions } from './shedder.ts'

type Step =
  | readonly [op: 'cpu', tMs: number, value: number]
  | readonly [
      op: 'a',
      tMs: number,
      id: number,
      allowed: 0 | 1,
      flying: number,
      avgFlying: number,
      maxPass: number,
      minRt: number,
      maxFlight: number,
      factor: number,
      overloadMs: number | null,
      dropped: 0 | 1,
    ]
  | readonly [op: 'f' | 'p', tMs: number, id: number, flying: number, avgFlying: number]

const vectors = new Vectors<GoZeroShedderOptions, Step>('gozero-shedder.json')

const micros = (ms: number): number => Math.round(ms * 1000)

class Replayed {
  private readonly shedder: GoZeroShedder
  private readonly begunUs = new Map<number, number>()

  constructor({ config }: VectorCase<GoZeroShedderOptions, Step>) {
    this.shedder = new GoZeroShedder(config)
  }

  play(step: Step): void {
    const { shedder } = this
    const nowUs = micros(step[1])
    if (step[0] === 'cpu') shedder.cpu = step[2]
    else if (step[0] === 'a') this.ask(step, nowUs)
    else {
      const [op, , id, flying, avgFlying] = step
      if (op === 'f') shedder.fail()
      else shedder.pass(nowUs - (this.begunUs.get(id) as number), nowUs)
      expect([shedder.flying, shedder.avgFlying]).toEqual([flying, avgFlying])
    }
  }

  private ask([, , id, allowed, ...rest]: Extract<Step, readonly ['a', ...unknown[]]>, nowUs: number): void {
    const { shedder } = this
    const { factor } = shedder
    const before = [shedder.maxPass(nowUs), shedder.minRtMs(nowUs), shedder.maxFlight(nowUs), factor]
    expect(shedder.allow(nowUs) ? 1 : 0).toBe(allowed)
    const { flying, avgFlying, overloadUs, dropped } = shedder
    const after = [overloadUs === null ? null : overloadUs / 1000, dropped ? 1 : 0]
    expect([flying, avgFlying, ...before, ...after]).toEqual(rest)
    if (allowed === 1) this.begunUs.set(id, nowUs)
  }
}

describe('the replica replays the shedder of go-zero', () => {
  test.each(vectors.cases)('$name: $description', (recorded) => {
    const replayed = new Replayed(recorded)
    vectors.replay(recorded, (step) => replayed.play(step))
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches`)
    expect(vectors.replayed).toBe(vectors.steps)
    expect([vectors.cases.length, vectors.steps]).toEqual([8, 12_115])
  })
})
