import { bulkhead, pipeline, rateLimit } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { WarmUp } from '../../../src/algorithms/rates/warm-up.ts'
import { SentinelFlow } from '../../../src/compat/sentinel/index.ts'
import { admitted, ask, offered } from '../../support/asks.ts'
import { rateBy } from '../../support/rates.ts'

// Where Sentinel's flow rules are wrong, what ours do with the same wish. The recordings show the wrong answer; it is asked for here once more, so
// that this says something.

const at = (ms: number) => 2_000_000_000_000 + ms

describe('what Sentinel gets wrong, and what we do', () => {
  test('throttling of less than one per interval refuses everybody: a batch of 1 is "above" 0.5. Ours: one in two seconds', () => {
    const flow = new SentinelFlow()
    flow.loadRules([{ resource: 'r', threshold: 0.5, controlBehavior: 1, maxQueueingTimeMs: 10_000 }])
    expect([flow.enter('r', 1, at(0)).pass, flow.enter('r', 1, at(5000)).pass]).toEqual([false, false])
    const pacer = rateBy('pacer', { rate: 0.5 })
    expect([0, 0, 0].map(() => pacer.reserve(1, 0, 10_000))).toEqual([0, 2000, 4000])
  })

  test('a warm-up whose cold rate is below one a second never begins. Ours lets one pass, and warms', () => {
    const flow = new SentinelFlow()
    flow.loadRules([{ resource: 'r', threshold: 1, tokenCalculateStrategy: 1, warmUpPeriodSec: 2 }])
    let theirs = 0
    const ours = new WarmUp({ rate: 1, per: 1000 }, 1, { over: 2000, coldFactor: 3 }, 0)
    const passed: number[] = []
    for (let ms = 0; ms < 60_000; ms += 100) {
      if (flow.enter('r', 1, at(ms)).pass) theirs++
      if (ours.take(1, ms) === 0) passed.push(ms)
    }
    expect(theirs).toBe(0)
    expect([passed[0], passed.length > 55, ours.warmth(60_000)]).toEqual([0, true, 1])
  })

  test('a threshold of 2.5 is one of 2. Ours is five in two seconds', () => {
    const flow = new SentinelFlow()
    flow.loadRules([{ resource: 'r', threshold: 2.5 }])
    let theirs = 0
    let ours = 0
    const bucket = rateBy('tokenBucket', { rate: 2.5, burst: 1 })
    for (let ms = 0; ms < 60_000; ms += 20) {
      if (flow.enter('r', 1, at(ms)).pass) theirs++
      if (bucket.take(1, ms) === 0) ours++
    }
    expect([theirs, ours]).toEqual([120, 150])
  })

  test('a window of an odd length is one bucket, and forgets all at once: twice the threshold within 2 ms. Ours: at most 3 in any', () => {
    const flow = new SentinelFlow()
    flow.loadRules([{ resource: 'r', threshold: 3, statIntervalInMs: 700 }])
    const log = rateBy('slidingLog', { rate: 3, per: 700 })
    const six = [599, 599, 599, 600, 600, 600]
    expect(six.filter((ms) => flow.enter('r', 1, at(ms)).pass).length).toBe(6)
    expect(six.filter((ms) => log.take(1, ms) === 0).length).toBe(3)
  })

  test('a turn that the first rule gave is kept when the second refuses. Ours goes back', () => {
    const flow = new SentinelFlow()
    flow.loadRules([
      { id: 'pace', resource: 'r', threshold: 10, controlBehavior: 1, maxQueueingTimeMs: 1000 },
      { id: 'none', resource: 'r', threshold: 0 },
    ])
    expect(flow.enter('r', 1, at(0))).toEqual({ pass: false, blockedBy: 'none' })
    flow.loadRules([{ id: 'pace', resource: 'r', threshold: 10, controlBehavior: 1, maxQueueingTimeMs: 1000 }])
    const world = new VirtualRuntime()
    const p = pipeline('p', [rateLimit({ rate: 10, burst: 1 }), bulkhead({ slots: 1 })], { runtime: world })
    const work = () => new Promise(() => {})
    void p.outcome(work)
    world.advance(100)
    for (let i = 0; i < 5; i++) void p.outcome(work)
    const [limit, slots] = p.inspect()['layers'] as { tokens: number; used: number }[]
    // Five were refused by the bulkhead: none of them has cost a token.
    expect([limit!.tokens, slots!.used]).toEqual([1, 1])
  })

  test('the first pass after a long idle is free at any size below the threshold. Ours saves one burst, and says how long more takes', () => {
    const flow = new SentinelFlow()
    flow.loadRules([{ resource: 'r', threshold: 1000, controlBehavior: 1, maxQueueingTimeMs: 5 }])
    flow.enter('r', 1, at(0))
    expect(flow.enter('r', 1000, at(600_000))).toEqual({ pass: true, waitNs: 0 })
    const pacer = rateBy('pacer', { rate: 1000 })
    pacer.take(1, 0)
    expect(pacer.reserve(1000, 600_000, 5)).toBe(999)
  })

  test('isolation counts a batch of 3 as one. Ours counts calls, and says so', () => {
    const gate = bulkhead({ slots: 4 }).build(new VirtualRuntime().env()) as import('floodwall').Gate
    const permits = offered(gate, 9, 0, { cost: 3 })
    expect(permits.length).toBe(4)
    permits[0]!.cancel(0)
    admitted(gate, 0)
    expect(gate.tryAcquire(ask(0, { cost: 0 })).ok).toBe(false)
  })
})
