import { type Gate, type HotParameterOptions, hotParameter, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { HotspotController } from '../../../src/compat/sentinel/hotspot-controller.ts'
import { SentinelHotspot } from '../../../src/compat/sentinel/index.ts'
import { Door } from '../../gates/hot-parameter-scene.ts'
import { controllerCase, type EntryStep, entryCase, rulesOf } from './vectors.ts'

// Where Sentinel's hotspot rules are wrong, what ours do with the same wish and, where there is one, the same recorded traffic.

const START = 2_000_000_000_000

/** The recorded checks of a case, asked of ours at the same times; true: passed. */
function recordedAt(
  name: string,
  options: Omit<HotParameterOptions, 'parameter'>,
): { theirs: boolean[]; ours: boolean[] } {
  const { steps } = controllerCase(name)
  const world = new VirtualRuntime({ startAt: START })
  const gate = hotParameter({ parameter: 0, ...options }).build(world.env()) as Gate
  const ours = steps.map(([now, , value, cost]) => {
    const ask = { now, deadline: Number.POSITIVE_INFINITY, criticality: 'critical', cost, key: '' } as const
    return gate.tryAcquire({ ...ask, init: { parameters: [value] } } as never).ok
  })
  return { theirs: steps.map(([, , , , answer]) => answer !== 'block'), ours }
}

const passed = (answers: readonly boolean[]): number => answers.filter(Boolean).length

/** The recorded entries and exits of a case, in ours: how many were inside at once with one value, at most. */
function mostInside(name: string, options: Omit<HotParameterOptions, 'parameter'>): Record<'theirs' | 'ours', number> {
  const door = new Door(options)
  const most = { theirs: 0, ours: 0 }
  const inside = { theirs: new Map<number, unknown>(), ours: new Map<number, () => void>() }
  const values = new Map<number, unknown>()
  for (const { op, id = 0, args, pass } of entryCase(name).steps as readonly EntryStep[]) {
    if (op === 'exit') {
      inside.theirs.delete(id)
      inside.ours.get(id)?.()
      inside.ours.delete(id)
    } else if (op === 'enter') {
      values.set(id, args?.[0])
      if (pass === true) inside.theirs.set(id, args?.[0])
      const answer = door.ask(args?.[0])
      if (answer.ok) inside.ours.set(id, () => answer.settle('success', 1, 0))
    }
    for (const whose of ['theirs', 'ours'] as const) {
      const counts = new Map<unknown, number>()
      for (const other of inside[whose].keys()) counts.set(values.get(other), (counts.get(values.get(other)) ?? 0) + 1)
      most[whose] = Math.max(most[whose], ...counts.values())
    }
  }
  return most
}

describe('rates', () => {
  test('reject-two-in-a-row-across-periods: 19 of 10 a second within 3 ms. Ours: what is left, and what 3 ms earn', () => {
    const { theirs, ours } = recordedAt('reject-two-in-a-row-across-periods', { rate: 10 })
    const { steps } = controllerCase('reject-two-in-a-row-across-periods')
    const late = (answers: readonly boolean[]) =>
      steps.reduce((sum, [now, , , batch], i) => (now >= START + 999 && answers[i] === true ? sum + batch : sum), 0)
    expect([late(theirs), late(ours)]).toEqual([19, 10])
    const controller = new HotspotController(rulesOf({ resource: 'r', metricType: 1, threshold: 10, durationInSec: 1 }))
    const door = new Door({ rate: 10 })
    let [there, here] = [0, 0]
    controller.check('a', 1, 0)
    door.hold('a')
    door.world.advance(999)
    for (const ms of [999, 1000, 1001]) {
      for (let i = 0; i < 20; i++) {
        if (controller.check('a', 1, ms) === 0) there++
        if (door.ask('a').ok) here++
      }
      door.world.advance(1)
    }
    expect([there, here]).toEqual([19, 10])
  })

  test('reject-refill: a fraction that was earned is lost with each refill. Ours keeps it: 3 a second are 300 in 100 s', () => {
    const controller = new HotspotController(rulesOf({ resource: 'r', metricType: 1, threshold: 3, durationInSec: 1 }))
    const door = new Door({ rate: 3, burst: 4 })
    let [there, here] = [0, 0]
    for (let ms = 0; ms < 100_000; ms += 10) {
      if (controller.check('a', 1, ms) === 0) there++
      if (door.ask('a').ok) here++
      door.world.advance(10)
    }
    expect(there).toBeLessThan(299)
    expect(Math.abs(here - 300)).toBeLessThanOrEqual(4)
  })

  test('reject-cycling-over-capacity: three values over two places are never limited. Ours: two places are two limits', () => {
    const { theirs, ours } = recordedAt('reject-cycling-over-capacity', { rate: 2, max: 2 })
    expect([passed(theirs), theirs.length]).toEqual([12, 12])
    expect(passed(ours)).toBeLessThanOrEqual(4)
  })

  test.each([
    ['throttle-600-per-second', 600, 10],
    ['throttle-above-1000-per-second', 1500, 1],
  ])('%s: whole milliseconds are a higher rate, or none. Ours is exact', (name, threshold, maxQueueingTimeMs) => {
    expect(controllerCase(name).steps.length).toBeGreaterThan(10)
    const rule = { resource: 'r', metricType: 1, controlBehavior: 1, threshold, maxQueueingTimeMs, durationInSec: 1 }
    const controller = new HotspotController(rulesOf(rule))
    const world = new VirtualRuntime()
    const layers = [hotParameter({ parameter: 0, rate: threshold, maxWait: maxQueueingTimeMs })]
    const p = pipeline('p', layers, { runtime: world })
    let [there, here] = [0, 0]
    for (let ms = 0; ms < 1000; ms++) {
      for (let i = 0; i < 3; i++) {
        if (controller.check('a', 1, ms) >= 0) there++
        p.start(
          (_, done) => done({} as never),
          ({ ok, rejection }) => void (ok || rejection === undefined ? here++ : 0),
          { parameters: ['a'] },
        )
      }
      world.advance(1)
    }
    world.run()
    expect(there).toBeGreaterThanOrEqual(threshold === 600 ? 1000 : 3000)
    expect(Math.abs(here - threshold)).toBeLessThanOrEqual(
      threshold * 0.02 + (threshold * maxQueueingTimeMs) / 1000 + 1,
    )
  })

  test('throttle-first-batch-refused-poisons: who was refused makes the next one wait. Ours: nothing was taken', () => {
    const { steps } = controllerCase('throttle-first-batch-refused-poisons')
    expect(steps.slice(0, 2).map(([, , , , answer, waitMs]) => [answer, waitMs])).toEqual([
      ['block', 0],
      ['wait', 100],
    ])
    const world = new VirtualRuntime()
    const p = pipeline('p', [hotParameter({ parameter: 0, rate: 10, maxWait: 200 })], { runtime: world })
    const went: number[] = []
    for (const cost of [15, 1])
      p.start(
        (_, done) => (went.push(world.now()), done({} as never)),
        () => {},
        { cost, parameters: ['a'] },
      )
    expect(went).toEqual([0])
  })

  test('throttle-lru-eviction: an evicted value forgets its queue. Ours is not evicted while somebody waits', () => {
    const { steps } = controllerCase('throttle-lru-eviction')
    expect(steps[5]?.slice(2, 5)).toEqual(['a', 1, 'pass'])
    const world = new VirtualRuntime()
    const p = pipeline('p', [hotParameter({ parameter: 0, rate: 2, maxWait: 5000, max: 2 })], { runtime: world })
    const went: [unknown, number][] = []
    for (const value of ['a', 'a', 'a', 'b', 'c', 'a', 'a'])
      p.start(
        (_, done) => (went.push([value, world.now()]), done({} as never)),
        () => {},
        { parameters: [value] },
      )
    world.run()
    expect(went.filter(([value]) => value === 'a').map(([, at]) => at)).toEqual([0, 500, 1000, 1500, 2000])
  })
})

describe('concurrency', () => {
  test('concurrency-threshold-zero: the first of each value passes. Ours: nobody', () => {
    expect(mostInside('concurrency-threshold-zero', { slots: 0 })).toEqual({ theirs: 1, ours: 0 })
  })

  test('concurrency-eviction-goes-negative: more than the limit, for good. Ours never', () => {
    const { theirs, ours } = mostInside('concurrency-eviction-goes-negative', { slots: 1, max: 1 })
    expect(theirs).toBeGreaterThan(1)
    // Room for one: a second value shares a limit, and may have a place of its own when there is room again.
    expect(ours).toBe(1)
  })

  test.each(['random-concurrency-1', 'random-concurrency-2'])('%s: never above the limit', (name) => {
    const slots = name.endsWith('1') ? 3 : 2
    expect(mostInside(name, { slots }).ours).toBe(slots)
  })

  test('check and count are two steps there: between them others pass (G#599). Ours is one', () => {
    const controller = new HotspotController(rulesOf({ resource: 'r', threshold: 1 }))
    const together = [1, 2, 3].map(() => controller.check('a', 1, 0))
    for (const answer of together) if (answer === 0) controller.move('a', 1)
    expect(controller.table).toMatchObject([['a', { inFlight: 3 }]])
    expect(new Door({ slots: 1 }).hold('a', 3)).toHaveLength(1)
  })

  test('concurrency-reload-loses-in-flight: a new capacity forgets who is inside. Ours keeps them', () => {
    const hotspot = new SentinelHotspot('r')
    hotspot.loadRules([{ resource: 'r', threshold: 1 }])
    expect(hotspot.enter({ args: ['a'] }, 0).pass).toBe(true)
    hotspot.loadRules([{ resource: 'r', threshold: 1, paramsMaxCapacity: 9 }])
    expect(hotspot.enter({ args: ['a'] }, 0).pass).toBe(true)
    const door = new Door({ slots: 1 })
    door.hold('a')
    door.reload({ slots: 1, max: 9 })
    expect(door.hold('a')).toEqual([])
  })
})

describe('parameters', () => {
  test('unhashable-value-passes: a list is a way around. Ours has a limit for all such', () => {
    const there = (entryCase('unhashable-value-passes').steps as readonly EntryStep[]).filter(
      ({ op }) => op === 'enter',
    )
    expect(there.map(({ pass }) => pass)).toEqual([true, true, true])
    const door = new Door({ rate: 1 })
    expect(there.map(({ args }) => door.ask(args?.[0]).ok)).toEqual([true, false, false])
  })

  test('param-key: with the key absent the first argument is limited instead. Ours: the rule does not apply', () => {
    const hotspot = new SentinelHotspot('r')
    hotspot.loadRules([{ resource: 'r', metricType: 1, paramKey: 'user', threshold: 1, durationInSec: 1 }])
    const twice = [1, 2].map(() => hotspot.enter({ args: ['first'] }, 0).pass)
    const door = new Door({ rate: 1, parameter: 'user' })
    const ours = [1, 2].map(() => door.call({ parameters: ['first'], data: {} }).ok)
    expect([twice, ours]).toEqual([
      [true, false],
      [true, true],
    ])
  })

  test('reload-param-index-keeps-table: equal values of two parameters share a bucket. Ours are strangers', () => {
    const door = new Door({ rate: 1, per: '10s' })
    door.call({ parameters: ['7', '8'] })
    door.reload({ rate: 1, per: '10s', parameter: 1 })
    expect(door.call({ parameters: ['9', '7'] }).ok).toBe(true)
  })

  test('two-rules-no-refund: the token of the first rule is gone when the second refuses. Ours goes back', () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [hotParameter({ parameter: 0, rate: 3 }), hotParameter({ parameter: 1, rate: 1 })], {
      runtime: world,
    })
    const oks = ['x', 'x', 'x', 'x', 'y', 'z'].map((item) => {
      const outcome = p.outcome(() => 1, { parameters: ['ann', item] })
      return 'ok' in outcome ? outcome.ok : undefined
    })
    expect(oks).toEqual([true, false, false, false, true, true])
  })

  test('which values are refused is recorded nowhere there. Ours shows it', () => {
    const door = new Door({ rate: 1 })
    for (let i = 0; i < 5; i++) door.ask('hot')
    expect(door.shown.hottest).toEqual([{ value: '"hot"', refused: 4 }])
  })

  test('waits are slept there: nobody can leave. Ours ends with its caller, and tells who comes too late before he waits', () => {
    const hotspot = new SentinelHotspot('r')
    hotspot.loadRules([
      { resource: 'r', metricType: 1, controlBehavior: 1, threshold: 1, maxQueueingTimeMs: 5000, durationInSec: 1 },
    ])
    hotspot.enter({ args: ['a'] }, 0)
    expect(hotspot.enter({ args: ['a'] }, 0)).toMatchObject({ pass: true, waitMs: 1000 })
    const world = new VirtualRuntime()
    const p = pipeline('p', [hotParameter({ parameter: 0, rate: 1, maxWait: 5000 })], { runtime: world })
    const outcomes: unknown[] = []
    const come = (within: number) =>
      p.start(
        (_, done) => done({ ok: true } as never),
        ({ rejection }) => outcomes.push(rejection?.reason),
        { within, parameters: ['a'] },
      )
    come(10_000)
    come(100)
    expect(outcomes).toEqual([undefined, 'deadline'])
  })
})
