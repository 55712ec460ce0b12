import { answered, hedge, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { type Resilience4jHedgeDelayOptions, resilience4jHedgeDelay } from '../../../src/compat/resilience4j/index.ts'
import { Vectors } from '../../support/vectors.ts'

type Config = {
  readonly [Name in keyof Resilience4jHedgeDelayOptions]-?: NonNullable<Resilience4jHedgeDelayOptions[Name]>
}
type Step = readonly [event: string, durationNs: number | null, delayNs: number]

const vectors = new Vectors<Config, Step>('resilience4j-hedge-delay.json')

/** What our hedge makes of their events: only first attempts are measured. */
const VERDICTS = { PRIMARY_SUCCESS: 'success', PRIMARY_FAILURE: 'failure' } as const

describe('the hedge delay replays resilience4j', () => {
  test.each(vectors.cases)('$name: $config', (recorded) => {
    const delay = resilience4jHedgeDelay(recorded.config)
    const { shouldUseFactorAsPercentage, hedgeTimeFactor } = recorded.config
    vectors.replay(recorded, ([event, durationNs, delayNs]) => {
      const verdict = VERDICTS[event as keyof typeof VERDICTS]
      if (verdict !== undefined) delay.record(verdict, (durationNs as number) / 1e6, 0)
      // Upstream a percentage is one of the average; here it comes on top of the average, as the name AVERAGE_PLUS says.
      const averageNs = (delayNs * 100) / hedgeTimeFactor
      const right = shouldUseFactorAsPercentage ? averageNs + delayNs : delayNs
      expect(Math.round(delay.ms(0) * 1e6)).toBe(right)
    })
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches; percentages on top of the average, which is a listed defect`)
    expect(vectors.replayed).toBe(vectors.steps)
    expect([vectors.cases.length, vectors.replayed]).toEqual([4, 164])
  })
})

describe('what no recording says', () => {
  test('the defaults: the average itself, of a hundred, errors included', () => {
    const delay = resilience4jHedgeDelay()
    expect(delay.ms(0)).toBe(0)
    for (let i = 0; i < 100; i++) delay.record(i % 2 === 0 ? 'success' : 'timeout', 10.9, 0)
    expect(delay.ms(0)).toBe(10)
    for (let i = 0; i < 100; i++) delay.record('overload', 30, 0)
    expect(delay.ms(0)).toBe(30)
  })

  test('who was overtaken or left is not measured', () => {
    const delay = resilience4jHedgeDelay()
    delay.record('ignored', 50, 0)
    expect(delay.ms(0)).toBe(0)
  })

  test('it is a delay of our hedge', () => {
    const world = new VirtualRuntime()
    const after = resilience4jHedgeDelay({ hedgeTimeFactor: 100, shouldUseFactorAsPercentage: true })
    const p = pipeline('p', [hedge({ after })], { runtime: world })
    const sent: number[] = []
    after.record('success', 1, 0)
    after.record('success', 40, 0)
    p.start(
      ({ attempt }, done) => {
        sent.push(world.now())
        world.after(attempt === 0 ? 100 : 1, () => done(answered(1)))
      },
      () => {},
      { idempotent: true },
    )
    world.run()
    // 20 on average, and a hundred percent of that on top.
    expect(sent).toEqual([0, 40])
  })

  test.each([
    [{ hedgeTimeFactor: -1 }, 'resilience4jHedgeDelay.hedgeTimeFactor: expected a number of 0 or more, got -1'],
    [{ windowSize: 0 }, 'resilience4jHedgeDelay.windowSize'],
    [{ cutoff: 5 } as never, 'resilience4jHedgeDelay.cutoff: expected no such field'],
  ])('%s is refused', (options, message) => expect(() => resilience4jHedgeDelay(options)).toThrow(message))
})
