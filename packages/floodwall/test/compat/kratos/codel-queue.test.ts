import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { type VectorCase, Vectors } from '../../support/vectors.ts'
import { KratosCodel, type KratosConfig, KratosQueue } from './codel-queue.ts'

interface Config extends KratosConfig {
  readonly mode: 'judge' | 'queue'
  readonly queueCapacity?: number
}
type Judged = readonly [
  op: 'j',
  nowMs: number,
  sojournMs: number,
  drop: 0 | 1,
  dropping: 0 | 1,
  aboveFrom: number | null,
  dropNext: number | null,
  count: number,
]
type Queued = readonly [op: 'q', arriveMs: number, serviceMs: number, deadlineMs: number, outcome: string, at: number]

const vectors = new Vectors<Config, Judged | Queued>('codel.json')

function playQueue({ config, steps }: VectorCase<Config, Judged | Queued>): [outcome: string, at: number][] {
  const world = new VirtualRuntime()
  const queue = new KratosQueue(config, config.queueCapacity ?? 2048, world.now)
  const ends: [string, number][] = []
  steps.forEach((step, i) => {
    const [, arriveMs, serviceMs, deadlineMs] = step as Queued
    world.after(arriveMs, () => {
      let cancel = () => {}
      const leave = queue.push((drop) => {
        cancel()
        ends[i] = [drop ? 'drop' : 'ok', world.now()]
        if (!drop) world.after(serviceMs, () => queue.pop())
      })
      if (ends[i] !== undefined) return
      cancel = world.after(deadlineMs, () => {
        ends[i] = ['timeout', world.now()]
        leave()
      })
    })
  })
  world.run()
  return ends
}

describe('the replica replays the CoDel queue of kratos v1', () => {
  test.each(vectors.cases.filter(({ config }) => config.mode === 'judge'))('$name: $description', (recorded) => {
    const codel = new KratosCodel(recorded.config)
    vectors.replay(recorded, (step) => {
      const [, nowMs, sojournMs, drop, dropping, aboveFrom, dropNext, count] = step as Judged
      expect(codel.judge(nowMs, sojournMs)).toBe(drop === 1)
      expect([codel.dropping, codel.aboveFrom, codel.dropNext, codel.count]).toEqual([
        dropping === 1,
        aboveFrom,
        dropNext,
        count,
      ])
    })
  })

  test.each(vectors.cases.filter(({ config }) => config.mode === 'queue'))('$name: $description', (recorded) => {
    const ends = playQueue(recorded)
    vectors.replay(recorded, (step, i) => {
      const [, , , , outcome, at] = step as Queued
      expect(ends[i]?.[0]).toBe(outcome)
      // Recorded in whole microseconds.
      expect(Math.abs((ends[i]?.[1] ?? Number.NaN) - at)).toBeLessThan(0.001)
    })
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches`)
    expect(vectors.replayed).toBe(vectors.steps)
    expect([vectors.cases.length, vectors.steps]).toEqual([13, 17_420])
  })
})
