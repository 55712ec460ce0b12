import { describe, expect, test } from 'vitest'
import { HotspotController } from '../../../src/compat/sentinel/hotspot-controller.ts'
import { type HotspotAnswer, SentinelHotspot, type SentinelHotspotRule } from '../../../src/compat/sentinel/index.ts'
import { type CheckStep, controllerCases, type EntryStep, entryCases, rulesOf, vectors } from './vectors.ts'

describe('the replica of one hotspot rule replays Sentinel', () => {
  test.each(controllerCases)('$name: $description', (recorded) => {
    const controller = new HotspotController(rulesOf(recorded.rule))
    vectors.replay(recorded as never, (step) => {
      const [now, op, value, batch, , , , , known] = step as CheckStep
      const waitMs = controller.check(value, batch, now)
      const answer = waitMs < 0 ? 'block' : waitMs > 0 ? 'wait' : 'pass'
      const { table } = controller
      const counter = table.find(([other]) => other === value)?.[1]
      const seen = [
        now,
        op,
        value,
        batch,
        answer,
        Math.max(0, waitMs),
        counter?.tokens ?? null,
        counter?.lastMs ?? null,
      ]
      expect(known === undefined ? seen : [...seen, table.map(([other]) => other)]).toEqual(step)
    })
  })
})

describe('the replica of the hotspot slots replays Sentinel', () => {
  test.each(entryCases.filter(({ quirk }) => quirk !== true))('$name: $description', (recorded) => {
    const world = new Entries(recorded.name)
    vectors.replay(recorded as never, (step) => expect(world.take(step as EntryStep)).toEqual(step))
  })

  test('quirk-shared-argument-list is not repeated: who leaves gives back the place of his own value', () => {
    const [quirk] = entryCases.filter((recorded) => recorded.quirk === true)
    const world = new Entries(quirk!.name)
    const inside: unknown[] = []
    vectors.replay(quirk as never, (step) => {
      const { concurrency, pass } = world.take(step as EntryStep)
      inside.push([pass, concurrency?.[0]?.in_flight_lru_first])
    })
    // There the exits of 1 and 2 both count out "b", so that a third "a" is refused with nobody inside, and two "b" get in.
    expect(inside).toEqual([
      [undefined, undefined],
      [true, [['a', 1]]],
      [
        true,
        [
          ['a', 1],
          ['b', 1],
        ],
      ],
      [
        undefined,
        [
          ['b', 1],
          ['a', 0],
        ],
      ],
      [
        undefined,
        [
          ['a', 0],
          ['b', 0],
        ],
      ],
      [
        true,
        [
          ['b', 0],
          ['a', 1],
        ],
      ],
      [
        true,
        [
          ['a', 1],
          ['b', 1],
        ],
      ],
      [
        false,
        [
          ['a', 1],
          ['b', 1],
        ],
      ],
    ])
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches, the 8 of the quirk with the right answer`)
    expect([vectors.replayed, vectors.steps, vectors.cases.length]).toEqual([4659, 4659, 61])
  })
})

/** The entries of one case, and what a recording says of each step. */
class Entries {
  private readonly hotspot: SentinelHotspot
  private readonly open = new Map<number, HotspotAnswer>()

  constructor(resource: string) {
    this.hotspot = new SentinelHotspot(resource)
  }

  take(step: EntryStep): EntryStep {
    if (step.op === 'load_rules') {
      const changed = this.hotspot.loadRules(step.rules!.map(rulesOf) as SentinelHotspotRule[])
      return { ...step, changed, active: this.hotspot.controllers.map(({ rule }) => rule.id) }
    }
    const { concurrency: _, qps: __, pass: ___, wait_ms: ____, blocked_by: _____, ...asked } = step
    if (step.op === 'exit') {
      const answer = this.open.get(step.id!)
      if (answer?.pass === true) answer.exit()
      return { ...asked, ...this.counters(step) }
    }
    const answer = this.hotspot.enter(step, step.t_ms)
    this.open.set(step.id!, answer)
    const result = answer.pass
      ? { pass: true, ...(answer.waitMs > 0 ? { wait_ms: answer.waitMs } : {}) }
      : { pass: false, blocked_by: answer.blockedBy }
    return { ...asked, ...result, ...this.counters(step) }
  }

  private counters(step: EntryStep): Partial<EntryStep> {
    const of = (metric: number) => this.hotspot.controllers.filter(({ rule }) => rule.metricType === metric)
    const concurrency = of(0).map(({ rule, table }) => ({
      rule: rule.id,
      in_flight_lru_first: table.map(([value, { inFlight }]) => [value, inFlight] as const),
    }))
    const qps = of(1).map(({ rule, table }) => ({
      rule: rule.id,
      tokens_lru_first: table.map(([value, { tokens, lastMs }]) => [value, tokens, lastMs] as const),
    }))
    return {
      ...(step.concurrency === undefined ? {} : { concurrency }),
      ...(step.qps === undefined ? {} : { qps }),
    }
  }
}
