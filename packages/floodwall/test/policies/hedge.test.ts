import {
  answered,
  balance,
  breaker,
  bulkhead,
  Cluster,
  deadline,
  failed,
  type HedgeOptions,
  hedge,
  type Layer,
  type Outcome,
  pipeline,
  queue,
  retry,
  timeout,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { layerOf, leftIn, NOTHING } from '../core/fate.ts'
import { ample, error, fails, fixed, quick, run, slow } from './hedge-scene.ts'

// A second attempt beside a slow one: when it is sent, when it is not, and what becomes of the call.

describe('a second attempt is sent', () => {
  test('when the first has taken so long; the first success counts', () => {
    const seen = run([slow, quick], [fixed()])
    expect([seen.sent, seen.at, seen.outcome.ok && seen.outcome.value]).toEqual([[0, 50], 70, 'quick'])
  })

  test.each(['failure', 'timeout', 'overload'] as const)('at once after a %s', (verdict) => {
    const seen = run([fails(10, verdict), quick], [fixed()])
    expect([seen.sent, seen.at, seen.outcome.ok]).toEqual([[0, 10], 30, true])
  })

  test('and a third, where most says so, each after the same time', () => {
    const seen = run([slow, slow, slow, quick], [fixed({ most: 3 })])
    expect([seen.sent, seen.at]).toEqual([[0, 50, 100, 150], 170])
    expect(seen.calls.map((call) => call.attempt)).toEqual([0, 1, 2, 3])
  })

  test('a failure counts the time anew', () => {
    const seen = run([slow, fails(20), slow, quick], [fixed({ most: 3 })])
    expect(seen.sent).toEqual([0, 50, 70, 120])
  })

  test('by time also when another one has ended as nobody’s fault', () => {
    const seen = run([slow, fails(10, 'ignored'), quick], [fixed({ most: 2 })])
    expect([seen.sent, seen.at]).toEqual([[0, 50, 100], 120])
  })

  test('to another endpoint, whatever picks', () => {
    for (const picker of [
      'powerOfChoices',
      'leastLoaded',
      'random',
      'roundRobin',
      'weighted',
      'consistentHash',
    ] as const) {
      const endpoints = [{ id: 'a' }, { id: 'b' }, { id: 'c' }]
      for (let key = 0; key < 10; key++) {
        const layers = [fixed({ most: 2 }), balance({ endpoints, picker, slowStart: 0 })]
        const seen = run([slow, slow, quick], layers, { idempotent: true, key })
        expect(new Set(seen.calls.map((call) => call.endpoint?.id)).size).toBe(3)
      }
    }
  })

  test('with work that ends at once', () => {
    const seen = run(
      [
        [0, failed(error)],
        [0, answered('second')],
      ],
      [fixed()],
    )
    expect([seen.sent, seen.at, seen.outcome.ok]).toEqual([[0, 0], 0, true])
  })
})

describe('no second attempt is sent', () => {
  const once = (
    layers: readonly Layer[],
    first: readonly [number, Outcome<unknown>] = [500, answered(1)],
    init?: object,
  ) => expect(run([first, quick], layers, init).sent).toEqual([0])

  test('when twice does harm', () => once([fixed()], undefined, {}))
  test('nor tried again after a failure then', () => once([fixed()], fails(10), {}))
  test('when the first is fast enough', () => once([fixed()], [49, answered(1)]))
  test('when the budget is 0', () => once([fixed({ budget: { ratio: 0 } })]))
  test('when the target forbids it', () => once([fixed()], [10, failed(error, 'overload', true, 0, true)]))
  test('when the target asks for a pause', () => once([fixed()], [10, failed(error, 'overload', true, 500)]))
  test('after an end that is nobody’s fault', () => once([fixed()], fails(10, 'ignored')))
  test('at or after the deadline', () => once([deadline({ within: 50 }), fixed()]))
  test('while too little is known of latencies', () => once([hedge()]))
  test('when a gate further in refused the first', () => {
    const seen = run([], [fixed(), bulkhead({ slots: 0 })])
    expect([seen.sent, seen.outcome.rejection?.reason, seen.outcome.noRetry]).toEqual([[], 'full', false])
  })
  test('when its body is gone meanwhile', () => {
    let asked = 0
    const init = {
      get idempotent() {
        return asked++ === 0
      },
    }
    once([fixed()], undefined, init)
  })
  test('once the pipeline is closed', () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [fixed()], { runtime: world })
    let sent = 0
    p.start(
      (_, done) => (sent++, void world.after(100, () => done(answered(1)))),
      () => {},
      { idempotent: true },
    )
    p.close()
    world.run()
    expect([sent, leftIn(world, p)]).toEqual([1, NOTHING])
  })
})

describe('a delay of the user’s', () => {
  test('is asked, and told of first attempts', () => {
    const told: unknown[] = []
    const after = { ms: () => 30, record: (verdict: string, ms: number) => void told.push([verdict, ms]) }
    expect(run([slow, quick], [fixed({ after })]).sent).toEqual([0, 30])
    expect(told).toEqual([['ignored', 50]])
  })

  test.each<[string, () => number]>([
    ['no number', () => Number.NaN],
    ['endless', () => Number.POSITIVE_INFINITY],
    [
      'an error',
      () => {
        throw error
      },
    ],
  ])('that is %s is none', (_, ms) => {
    const record = () => {
      throw error
    }
    const seen = run([slow, quick], [fixed({ after: { ms, record } })])
    expect([seen.sent, seen.outcome.ok]).toEqual([[0], true])
  })

  test('is never below atLeast', () => {
    const after = { ms: () => 1, record: () => {} }
    expect(run([slow, quick], [fixed({ after, atLeast: 40 })]).sent).toEqual([0, 40])
  })
})

describe('the percentile', () => {
  /** Calls of 10 ms, one in twenty of 200 ms, and what came of them. */
  function traffic(options: HedgeOptions, calls: number) {
    const world = new VirtualRuntime()
    const p = pipeline('p', [hedge(options)], { runtime: world })
    const took: number[] = []
    let sent = 0
    for (let i = 0; i < calls; i++) {
      const began = world.now()
      p.start(
        ({ attempt }, done) => {
          sent++
          world.after(attempt === 0 && i % 20 === 7 ? 200 : 10, () => done(answered(1)))
        },
        () => took.push(world.now() - began),
        { idempotent: true },
      )
      world.advance(20)
    }
    world.run()
    return { took, sent, p, world }
  }

  test('cuts the tail at the price of what is late', () => {
    const { took, sent, p } = traffic({ after: 'p90' }, 2000)
    const late = took.filter((ms) => ms > 30)
    // Those that came before the percentile was known, and no others.
    expect(late.length).toBeLessThanOrEqual(1)
    expect(sent / 2000).toBeCloseTo(1.05, 2)
    expect(layerOf(p, 'hedge')['afterMs']).toBeCloseTo(10.2, 1)
  })

  test('does not fall because those in the tail are cut off', () => {
    const { p } = traffic({ after: 'p97', budget: ample }, 5000)
    // Of those 5 % that take 200 ms few are ever waited for; the percentile is not the 10 ms of the others.
    expect(layerOf(p, 'hedge')['afterMs']).toBeGreaterThan(15)
  })

  test.each<[string, HedgeOptions]>([
    ['a percentile', {}],
    ['a fixed time', { after: 50 }],
  ])('when everything is slow, the budget is all that is sent twice: %s', (_, options) => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [hedge(options)], { runtime: world })
    let [sent, ms] = [0, 10]
    const flow = (calls: number) => {
      for (let i = 0; i < calls; i++) {
        p.start(
          (_call, done) => (sent++, void world.after(ms, () => done(answered(1)))),
          () => {},
          { idempotent: true },
        )
        world.advance(10)
      }
    }
    flow(1000)
    ;[sent, ms] = [0, 300]
    flow(3000)
    expect(sent / 3000).toBeLessThanOrEqual(1.1)
    const { afterMs, overBudget } = layerOf(p, 'hedge') as Record<string, number>
    // The fixed one would send all of them twice; the percentile learns soon that three hundred is usual.
    if (options.after === undefined) expect([(afterMs ?? 0) > 300, sent / 3000 < 1.05]).toEqual([true, true])
    else expect(overBudget).toBeGreaterThan(2000)
  })
})

describe('with others', () => {
  test('a retry within: its tries belong to one attempt, and a hedge does not add to used up ones', () => {
    const inner = retry({ attempts: 2, wait: () => 5, budget: ample })
    const seen = run([fails(10), fails(10), quick], [fixed(), inner])
    expect([seen.sent, seen.outcome.noRetry]).toEqual([[0, 15], true])
    // The branch that is slow is not stopped by the tries of the other.
    const both = run([slow, fails(10), quick], [fixed(), inner])
    expect([both.sent, both.at, both.calls.map((call) => call.attempt)]).toEqual([[0, 50, 65], 85, [0, 1, 2]])
  })

  test('a retry around it tries nothing again that was tried twice already', () => {
    const seen = run([fails(10), fails(10), quick], [retry({ budget: ample }), fixed()])
    expect([seen.sent.length, seen.outcome.ok]).toEqual([2, false])
  })

  test('a deadline around it ends both attempts', () => {
    const seen = run([], [deadline({ within: 200 }), fixed()])
    expect([seen.at, seen.outcome.verdict, seen.calls.map((c) => c.cancelled)]).toEqual([200, 'timeout', [true, true]])
    expect(seen.calls.map((c) => (c.signal.reason as { code?: string }).code)).toEqual(['deadline', 'deadline'])
  })

  test('a timeout around it, and a retry around that: the next try is hedged again', () => {
    const layers = [retry({ attempts: 2, wait: () => 1, budget: ample }), timeout({ after: 80 }), fixed()]
    const seen = run([slow, slow, slow, quick], layers)
    expect([seen.sent, seen.at, seen.outcome.ok]).toEqual([[0, 50, 81, 131], 151, true])
    expect(seen.calls.map((c) => c.attempt)).toEqual([0, 1, 2, 3])
  })

  test('a bulkhead around it: one slot for both, until the work of both has ended', () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [bulkhead({ slots: 5 }), fixed(), bulkhead({ slots: 5 })], { runtime: world })
    p.start(
      ({ attempt }, done) => void world.after(attempt === 0 ? 500 : 20, () => done(answered(1))),
      () => {},
      { idempotent: true },
    )
    const used = () => [layerOf(p, 'bulkhead')['used'], layerOf(p, 'bulkhead-2')['used']]
    world.advance(60)
    expect(used()).toEqual([1, 2])
    world.advance(20)
    expect(used()).toEqual([1, 1])
    world.advance(420)
    expect(used()).toEqual([0, 0])
  })

  test('a queue within: an attempt that still waits there is taken out when the other wins', () => {
    const world = new VirtualRuntime()
    const cluster = new Cluster({ picker: 'roundRobin', slowStart: 0 }, world.env('hosts'))
    cluster.update([{ id: 'H1' }, { id: 'H2' }])
    const p = pipeline('p', [fixed(), balance({ cluster, each: [queue(), bulkhead({ slots: 1 })] })], {
      runtime: world,
    })
    const outcomes: Outcome<unknown>[] = []
    const call = (ms: number, idempotent: boolean) =>
      p.start(
        (_, done) => void world.after(ms, () => done(answered(ms))),
        (o) => outcomes.push(o),
        { idempotent },
      )
    // One host is busy; the other has the first attempt, which is slow.
    call(1000, false)
    call(100, true)
    world.advance(60)
    expect(leftIn(world, p).waiting).toBe(1)
    world.advance(40)
    expect([outcomes.map((o) => o.ok), leftIn(world, p).waiting]).toEqual([[true], 0])
    // It sent nothing, so it cost nothing.
    expect(layerOf(p, 'hedge')).toMatchObject({ hedges: 0, won: 0, budget: { spent: 0 } })
    world.run()
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('a breaker around it hears of one call, one within it of each attempt', () => {
    const layers = [breaker({ consecutive: 1 }), fixed(), breaker({ consecutive: 3 })]
    const seen = run([fails(100), quick], layers)
    expect([layerOf(seen.p, 'breaker')['opened'], seen.outcome.ok]).toEqual([0, true])
  })
})

test('a reload keeps what was measured and spent where they mean the same', () => {
  const world = new VirtualRuntime()
  const p = pipeline('p', [hedge({ after: 'p50' })], { runtime: world })
  for (let i = 0; i < 40; i++) {
    p.start(
      (_, done) => void world.after(10, () => done(answered(1))),
      () => {},
      { idempotent: true },
    )
    world.advance(20)
  }
  const shown = () => layerOf(p, 'hedge')
  expect(shown()['afterMs']).toBeCloseTo(10, 0)
  const allowed = (shown()['budget'] as { allowed: number }).allowed
  p.reload([hedge({ after: 'p50', most: 2 })])
  expect(shown()).toMatchObject({ afterMs: expect.closeTo(10, 0), budget: { allowed } })
  p.reload([hedge({ after: 'p90', most: 2, budget: { ratio: 0.5 } })])
  expect(shown()).toMatchObject({ afterMs: null, budget: { allowed: 3 } })
})
