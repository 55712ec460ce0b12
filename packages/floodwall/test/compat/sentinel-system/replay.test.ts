import { describe, expect, test } from 'vitest'
import { Vectors } from '../../support/vectors.ts'
import { SentinelSystem, type SentinelSystemRule } from './system.ts'

type Step =
  | readonly [tMs: number, op: 'enter', id: number, way: 'inbound' | 'outbound', passed: boolean, inFlight: number]
  | readonly [tMs: number, op: 'exit', id: number, inFlight: number]
  | readonly [tMs: number, op: 'set_load' | 'set_cpu', value: number]

const vectors = new Vectors<undefined, Step>('sentinel-system.json')
const cases = vectors.cases as unknown as readonly ((typeof vectors.cases)[number] & { rule: SentinelSystemRule })[]

class Replayed {
  private readonly system: SentinelSystem
  private readonly begunMs = new Map<number, number>()

  constructor(rule: SentinelSystemRule) {
    this.system = new SentinelSystem(rule)
  }

  play(step: Step): void {
    const { system } = this
    const [nowMs, op] = step
    if (op === 'set_load') system.load = step[2]
    else if (op === 'set_cpu') system.cpu = step[2]
    else if (op === 'exit') {
      const [, , id, inFlight] = step
      system.exit(nowMs - (this.begunMs.get(id) as number), nowMs)
      expect(system.inFlight).toBe(inFlight)
    } else {
      const [, , id, way, passed, inFlight] = step
      expect([way === 'outbound' || system.enter(nowMs), system.inFlight]).toEqual([passed, inFlight])
      this.begunMs.set(id, nowMs)
    }
  }
}

describe('the replica replays the system rules of Sentinel', () => {
  test.each(cases)('$name: $description', (recorded) => {
    const replayed = new Replayed(recorded.rule)
    vectors.replay(recorded, (step) => replayed.play(step))
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches`)
    expect(vectors.replayed).toBe(vectors.steps)
    expect([vectors.cases.length, vectors.steps]).toEqual([7, 105])
  })
})
