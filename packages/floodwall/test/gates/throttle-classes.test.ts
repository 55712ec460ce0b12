import type { Criticality, Verdict } from 'floodwall'
import { seeded } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Streak } from '../../src/algorithms/gates/throttle-streak.ts'
import { Turns } from '../../src/algorithms/gates/throttle-turns.ts'
import { admitted, ask } from '../support/asks.ts'
import { Scene } from './throttle-scene.ts'

const CLASSES: readonly Criticality[] = ['criticalPlus', 'critical', 'sheddablePlus', 'sheddable']

describe('each class has counts of its own', () => {
  test('what is refused of one class is no matter of the others', () => {
    const scene = new Scene({ probeShare: 0 })
    scene.calls(50, 'success', 'critical')
    scene.burst(50, 0, 'overload', 'sheddable')
    expect(scene.shown.classes.map(({ criticality, state, accepts }) => [criticality, state, accepts])).toEqual([
      ['critical', 'passing', 50],
      ['sheddable', 'probing', 0],
    ])
    expect([scene.passing(100, 'critical'), scene.passing(100, 'sheddable')]).toEqual([100, 0])
  })

  test('the lower it is, the smaller its K', () => {
    const scene = new Scene()
    for (const criticality of CLASSES) scene.calls(1, 'success', criticality)
    expect(scene.shown.classes.map(({ k }) => k)).toEqual([2.25, 2, 1.75, 1.5])
  })

  test('K is never below 1, and all alike without steps', () => {
    const ks = (k: number, kStep: number) => {
      const scene = new Scene({ k, kStep })
      for (const criticality of CLASSES) scene.calls(1, 'success', criticality)
      return scene.shown.classes.map((one) => one.k)
    }
    expect(ks(1.5, 0.5)).toEqual([2, 1.5, 1, 1])
    expect(ks(1.6, 0)).toEqual([1.6, 1.6, 1.6, 1.6])
  })

  test.each([90, 70, 60, 50, 40, 20, 1])('of %d percent accepted, a lower class is never dropped less', (accepted) => {
    const scene = new Scene()
    for (const criticality of CLASSES) scene.burst(100, accepted, 'failure', criticality)
    const drops = scene.shown.classes.map(({ drop }) => drop)
    expect([...drops].sort((a, b) => a - b)).toEqual(drops)
  })

  test('what is no class is the usual one', () => {
    const scene = new Scene()
    scene.calls(2, 'success', 'CRITICAL' as Criticality)
    scene.calls(1, 'success', undefined as never)
    expect(scene.shown.classes.map(({ criticality, accepts }) => [criticality, accepts])).toEqual([['critical', 3]])
  })
})

/** A target that takes `perSecond`, whoever calls; 1000 calls a second of the given classes, in closed loop. The share accepted of each. */
function flood(
  perSecond: number,
  mix: readonly Criticality[],
): ReadonlyMap<Criticality, { sent: number; accepted: number }> {
  const scene = new Scene({}, 0, 3)
  const dice = seeded(7)
  const found = new Map(mix.map((criticality) => [criticality, { sent: 0, accepted: 0 }]))
  let tokens = 0
  for (let ms = 0; ms < 40_000; ms++) {
    scene.world.advance(1)
    tokens = Math.min(perSecond / 20, tokens + perSecond / 1000)
    const criticality = mix[Math.floor(dice() * mix.length)] as Criticality
    const answer = scene.gate.tryAcquire(ask(scene.now, { criticality }))
    if (!answer.ok) continue
    const fits = tokens >= 1
    if (fits) tokens--
    const counts = found.get(criticality)
    // The first seconds are those in which it is found out.
    if (counts !== undefined && ms >= 10_000) {
      counts.sent++
      if (fits) counts.accepted++
    }
    scene.world.after(20, () => answer.settle(fits ? 'success' : 'overload', 20, scene.now))
  }
  return found
}

describe('a target that does not know the classes', () => {
  test('takes 250 of 1000 a second: the low class gives way, and the high one gets nearly all of it', () => {
    const found = flood(250, ['critical', 'sheddable'])
    const { accepted = 0, sent = 0 } = found.get('critical') ?? {}
    expect(accepted / (30 * 250)).toBeGreaterThan(0.9)
    expect(found.get('sheddable')?.sent).toBeLessThan(0.1 * sent)
  })

  test('with four classes, in their order', () => {
    const found = flood(150, CLASSES)
    const accepted = CLASSES.map((criticality) => found.get(criticality)?.accepted ?? 0)
    expect([...accepted].sort((a, b) => b - a)).toEqual(accepted)
    const all = accepted.reduce((sum, count) => sum + count, 0)
    expect((accepted[0] ?? 0) / all).toBeGreaterThan(0.5)
    expect(all / (30 * 150)).toBeGreaterThan(0.95)
  })

  test('takes more than half: nobody of the usual class is refused here', () => {
    expect(flood(600, ['critical']).get('critical')?.sent).toBeGreaterThan(29_900)
  })
})

describe('an outage is a matter of all classes', () => {
  /** A target that is gone, and calls of each class in turn, one each 50 ms. */
  function gone(forMs: number): Scene {
    const scene = new Scene({ probeShare: 0 }, 100_000)
    for (let ms = 0; ms < forMs; ms += 50) {
      const criticality = CLASSES[(ms / 50) % 4] as Criticality
      const answer = scene.gate.tryAcquire(ask(scene.now, { criticality }))
      if (answer.ok) answer.settle('failure', 1, scene.now)
      scene.world.advance(50)
    }
    return scene
  }

  test('none of them has ten results, and all of them know', () => {
    const scene = gone(1500)
    const results = scene.shown.classes.map(({ state, failed }) => [state, failed < 10])
    expect(results).toEqual(CLASSES.map(() => ['probing', true]))
  })

  test('together they probe as one would', () => {
    const scene = gone(1500)
    const before = scene.shown.probes
    for (let i = 0; i < 20_000; i += 50) {
      for (const criticality of CLASSES) {
        const answer = scene.gate.tryAcquire(ask(scene.now, { criticality }))
        if (answer.ok) answer.settle('failure', 1, scene.now)
      }
      scene.world.advance(50)
    }
    expect(scene.shown.probes - before).toBeGreaterThanOrEqual(18)
    expect(scene.shown.probes - before).toBeLessThanOrEqual(20)
  })

  test('the first that is accepted opens a door for all', () => {
    const scene = gone(2500)
    scene.world.advance(1000)
    const probe = CLASSES.map((criticality) => scene.gate.tryAcquire(ask(scene.now, { criticality }))).find(
      ({ ok }) => ok,
    )
    if (probe?.ok === true) probe.settle('success', 1, scene.now)
    expect(scene.shown.classes.map(({ state }) => state)).toEqual(CLASSES.map(() => 'ramping'))
    for (const criticality of CLASSES) scene.calls(2, 'success', criticality)
    expect(scene.shown.classes.map(({ state }) => state)).toEqual(CLASSES.map(() => 'passing'))
  })

  test('so does a class that has not called before, and whose first call is accepted', () => {
    const late = new Scene({ probeShare: 0 }, 100_000)
    for (let i = 0; i < 30; i++) {
      const answer = late.gate.tryAcquire(ask(late.now))
      if (answer.ok) answer.settle('failure', 1, late.now)
      late.world.advance(50)
    }
    expect(late.state).toBe('probing')
    late.calls(1, 'success', 'sheddable')
    expect(late.state).toBe('ramping')
  })

  test('a class that others let try is back at probes when its first try fails', () => {
    const scene = new Scene({ probeShare: 0 }, 100_000)
    for (const criticality of ['critical', 'sheddable'] as const) scene.burst(10, 0, 'overload', criticality)
    scene.world.advance(1000)
    scene.calls(3, 'success', 'critical')
    scene.calls(1, 'overload', 'sheddable')
    expect([scene.passing(50, 'critical'), scene.passing(50, 'sheddable')]).toEqual([50, 0])
  })
})

describe('turns', () => {
  test('one class: one each second, and nobody else takes it', () => {
    const turns = new Turns(1000, 0)
    let passedAt = 0
    const taken: number[] = []
    for (let now = 0; now <= 5000; now += 10) if (turns.take(passedAt, 0, now)) taken.push((passedAt = now))
    expect(taken).toEqual([1000, 2000, 3000, 4000, 5000])
  })

  test('a class that calls rarely gets its turn between those of a busy one', () => {
    const scene = new Scene({ probeShare: 0 }, 100_000)
    for (const criticality of ['critical', 'sheddable'] as const) scene.burst(10, 0, 'overload', criticality)
    const dice = seeded(5)
    const taken = { critical: 0, sheddable: 0 }
    let longest = 0
    let last = scene.now
    for (let i = 0; i < 50 * 600; i++) {
      scene.world.advance(20)
      const criticality = dice() < 0.02 ? 'critical' : 'sheddable'
      const answer = scene.gate.tryAcquire(ask(scene.now, { criticality }))
      if (!answer.ok) continue
      answer.settle('overload', 1, scene.now)
      taken[criticality]++
      if (criticality === 'sheddable') continue
      longest = Math.max(longest, scene.now - last)
      last = scene.now
    }
    expect(taken.critical).toBeGreaterThan(60)
    expect(taken.critical + taken.sheddable).toBeLessThanOrEqual(620)
    // Eight seconds, and then until it calls.
    expect(longest).toBeLessThan(16_000)
  })

  test('who stands back: a quarter of a second for each that has waited longer', () => {
    const taken = (behind: number) => {
      const turns = new Turns(1000, 0)
      turns.take(-9999, 0, 0)
      let now = 1000
      while (!turns.take(now - 1500, behind, now)) now += 10
      return now
    }
    expect([0, 1, 2, 3].map(taken)).toEqual([1000, 1250, 1500, 1750])
  })

  test('of 200 refused calls the next is a probe, and counting begins anew at each', () => {
    const turns = new Turns(1000, 0.005)
    const refuse = (times: number) => {
      for (let i = 0; i < times; i++) turns.refuse()
      return turns.takeShare()
    }
    expect([refuse(198), refuse(1), refuse(198), refuse(1)]).toEqual([false, true, false, true])
    refuse(150)
    expect(turns.take(-9999, 0, 5000)).toBe(true)
    expect([refuse(198), refuse(1)]).toEqual([false, true])
  })
})

describe('a row of results', () => {
  test.each<[string, readonly (readonly [Verdict, number])[], boolean]>([
    ['nothing', [], false],
    [
      'three, over a second',
      [
        ['failure', 0],
        ['failure', 500],
        ['failure', 1000],
      ],
      true,
    ],
    [
      'three, within less',
      [
        ['failure', 0],
        ['failure', 500],
        ['failure', 999],
      ],
      false,
    ],
    [
      'two, over a second',
      [
        ['failure', 0],
        ['failure', 2000],
      ],
      false,
    ],
    [
      'three, one accepted among them',
      [
        ['failure', 0],
        ['success', 1],
        ['failure', 500],
        ['failure', 1600],
      ],
      false,
    ],
    [
      'three after an accepted one',
      [
        ['success', 0],
        ['failure', 5],
        ['failure', 7],
        ['failure', 1005],
      ],
      true,
    ],
    [
      'three, with a pause before the last',
      [
        ['failure', 0],
        ['failure', 1500],
        ['failure', 4500],
      ],
      false,
    ],
    [
      'a clock that stepped back: that is a pause',
      [
        ['failure', 90_000],
        ['failure', 0],
        ['failure', 1500],
      ],
      false,
    ],
    [
      '... and what comes after it counts',
      [
        ['failure', 90_000],
        ['failure', 0],
        ['failure', 5],
        ['failure', 1000],
      ],
      true,
    ],
  ])('%s', (_, results, silence) => {
    const streak = new Streak()
    let now = 0
    for (const [verdict, at] of results) {
      now = at
      if (verdict === 'success') streak.accept()
      else streak.miss(at, 3000)
      expect(Math.min(streak.accepted, streak.missed)).toBe(0)
    }
    expect(streak.isSilence(3, 1000, now)).toBe(silence)
  })
})

test('permits of all classes go back to their own', () => {
  const scene = new Scene()
  const permits = CLASSES.map((criticality) => admitted(scene.gate, 0, { criticality }))
  permits.forEach((permit, i) =>
    permit.settle((['success', 'failure', 'overload', 'ignored'] as const)[i] as Verdict, 1, 0),
  )
  expect(scene.shown.classes.map(({ accepts, failed, overloaded }) => [accepts, failed, overloaded])).toEqual([
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
    [0, 0, 0],
  ])
})
