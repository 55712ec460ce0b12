import {
  answered,
  balance,
  bulkhead,
  failed,
  type HoldBackOptions,
  holdBack,
  type Init,
  type Layer,
  type Outcome,
  type Pipeline,
  pipeline,
  retry,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { HeldApi } from '../../src/algorithms/retry/held-api.ts'
import { leftIn, NOTHING } from '../core/fate.ts'

const ok = (): Outcome<unknown> => answered('ok')
const busy = (ms: number): Outcome<unknown> => failed(new Error('busy'), 'overload', true, ms)

/** A pipeline in virtual time, and what came of a call: 'ok', 'busy', or what is left of the pause. */
function house(options: HoldBackOptions = {}, { seed = 1, layers = [] as Layer[], before = [] as Layer[] } = {}) {
  const world = new VirtualRuntime({ seed })
  const p = pipeline('p', [...before, holdBack({ jitter: 0, ...options }), ...layers], { runtime: world })
  const ask = (answer: Outcome<unknown>, init: Init = { method: 'GET /a' }) => {
    let heard: Outcome<unknown> | undefined
    p.start(
      (_, done) => done(answer),
      (outcome) => (heard = outcome),
      init,
    )
    const { rejection, value, error } = heard as unknown as Outcome<unknown>
    return rejection === undefined ? (value ?? (error as Error).message) : [rejection.reason, rejection.retryAfterMs]
  }
  return { world, p, ask }
}

const inspect = (p: Pipeline) => (p.inspect()['layers'] as Record<string, unknown>[])[0] as Record<string, unknown>

describe('an API that has asked for a pause', () => {
  test('is refused until it is over; others pass', () => {
    const { world, ask, p } = house()
    expect(ask(busy(3500))).toBe('busy')
    world.advance(1000)
    expect(ask(ok())).toEqual(['held-back', 2500])
    expect(ask(ok(), { method: 'GET /b' })).toBe('ok')
    expect(ask(ok(), { method: 'POST /a' })).toBe('ok')
    expect(ask(ok(), {})).toBe('ok')
    world.advance(2499)
    expect(ask(ok())).toEqual(['held-back', 1])
    world.advance(1)
    expect(ask(ok())).toBe('ok')
    expect([inspect(p), leftIn(world, p)]).toMatchObject([{ held: 0, wishes: 1, apis: [] }, NOTHING])
  })

  test('says so', async () => {
    const { p, ask, world } = house()
    ask(busy(90_000))
    world.advance(1000)
    await expect(p.call(() => 1, { method: 'GET /a' })).rejects.toThrow(
      '[held-back] refused by p/holdBack: the target asked for a pause of 90s; try again in 59s',
    )
    expect(inspect(p)).toMatchObject({ held: 1, apis: [{ api: 'GET /a', endsInMs: 59_000 }] })
  })

  test('at most for so long', () => {
    const { world, ask } = house({ atMost: '2s' })
    ask(busy(86_400_000))
    expect(ask(ok())).toEqual(['held-back', 2000])
    world.advance(2000)
    expect(ask(ok())).toBe('ok')
  })

  test('a longer pause counts, a shorter one does not shorten it', () => {
    const { world, p, ask } = house()
    const ends: ((outcome: Outcome<unknown>) => void)[] = []
    for (let i = 0; i < 3; i++)
      p.start(
        (_, done) => void ends.push(done),
        () => {},
        { method: 'GET /a' },
      )
    ends[0]?.(busy(1000))
    ends[1]?.(busy(3000))
    ends[2]?.(busy(10))
    expect(ask(ok())).toEqual(['held-back', 3000])
    world.advance(1000)
    expect(ask(ok())).toEqual(['held-back', 2000])
  })

  test('whatever the status: a wish on a success too', () => {
    const { ask } = house()
    expect(ask(answered('401', 'success', 500))).toBe('401')
    expect(ask(ok())).toEqual(['held-back', 500])
  })

  test('without jitter to the millisecond, with jitter later by up to its share', () => {
    const ends = Array.from({ length: 200 }, (_, seed) => {
      const { ask } = house({ jitter: 0.2 }, { seed: seed + 1 })
      ask(busy(1000))
      return (ask(ok()) as [string, number])[1]
    })
    expect(Math.min(...ends)).toBeGreaterThanOrEqual(1000)
    expect(Math.max(...ends)).toBeLessThan(1200)
    expect(new Set(ends.map(Math.round)).size).toBeGreaterThan(100)
  })
})

describe('what is no word of the target', () => {
  test.each<[string, Outcome<unknown>]>([
    ['an answer', ok()],
    ['a failure without a wish', failed(new Error('x'))],
    ['a call whose caller left', failed(new Error('x'), 'ignored', true, 5000)],
  ])('%s', (_, outcome) => {
    const { ask } = house()
    ask(outcome)
    expect(ask(ok())).toBe('ok')
  })

  test('a refusal of a layer further in, which has a time of its own', () => {
    const { ask, p } = house({}, { layers: [bulkhead({ slots: 0 }), retry()] })
    expect(ask(ok())).toEqual(['full', 0])
    expect(inspect(p)['wishes']).toBe(0)
  })
})

describe('with a retry', () => {
  test('around it: the next attempt comes when it passes, whatever the dice', async () => {
    for (let seed = 1; seed <= 50; seed++) {
      const before = [retry({ backoff: { first: 1, atMost: 1 } })]
      const { world, p } = house({ jitter: 0.5 }, { seed, before })
      let tries = 0
      let last: Outcome<unknown> | undefined
      p.start(
        (_, done) => done(++tries === 1 ? busy(200) : ok()),
        (outcome) => (last = outcome),
        { method: 'GET /a', idempotent: true },
      )
      world.run()
      expect([tries, last?.value, world.now() >= 200, world.now() < 301]).toEqual([2, 'ok', true, true])
    }
  })
})

describe('names', () => {
  test('calls without one are one API', () => {
    const { ask } = house()
    ask(busy(500), {})
    expect(ask(ok(), {})).toEqual(['held-back', 500])
    expect(ask(ok(), { method: 'GET' })).toBe('ok')
  })

  test('as a function says; one that throws names nothing', () => {
    const by = (call: { key: string | number }) => {
      if (call.key === 'trap') throw new Error('a trap')
      return String(call.key)
    }
    const { ask } = house({ by })
    ask(busy(500), { key: 'ann' })
    ask(busy(500), { key: 'trap' })
    expect(ask(ok(), { key: 'ann' })).toEqual(['held-back', 500])
    expect(ask(ok(), { key: 'ben' })).toBe('ok')
    expect(ask(ok(), { key: 'trap' })).toBe('ok')
  })

  test('are so many: the oldest wish is forgotten', () => {
    const { ask, p } = house({ max: 2 })
    for (const method of ['a', 'b', 'a', 'c']) ask(busy(1000), { method })
    const held = (method: string) => ask(ok(), { method }) !== 'ok'
    // `a` was held when it was asked again, and so its wish stayed the oldest.
    expect(['a', 'b', 'c'].map(held)).toEqual([false, true, true])
    expect((inspect(p)['apis'] as object[]).length).toBe(2)
    for (let i = 0; i < 1000; i++) ask(busy(1000), { method: `m${i}` })
    expect(inspect(p)['held']).toBe(2)
  })

  test('a snapshot shows the first of them', () => {
    const { ask, p } = house()
    for (let i = 0; i < 100; i++) ask(busy(1000), { method: `m${i}` })
    expect([inspect(p)['held'], (inspect(p)['apis'] as object[]).length]).toEqual([100, 20])
  })
})

describe('endpoints that speak for themselves', () => {
  function cluster(quorum: HoldBackOptions['quorum']) {
    const endpoints = ['a', 'b', 'c'].map((id) => ({ id }))
    const layers = [balance({ endpoints, picker: 'roundRobin', slowStart: 0 })]
    return house({ ...(quorum && { quorum }) }, { layers })
  }

  test('hold the API back when all have asked, until the first is back', () => {
    const { ask, world } = cluster(() => 3)
    expect([ask(busy(1000)), ask(busy(3000)), ask(ok())]).toEqual(['busy', 'busy', 'ok'])
    world.advance(100)
    expect([ask(busy(1000)), ask(busy(1000)), ask(busy(2000))]).toEqual(['busy', 'busy', 'busy'])
    expect(ask(ok())).toEqual(['held-back', 1000])
    world.advance(1000)
    expect(ask(ok())).toBe('ok')
  })

  test('whose time is over has no voice any more', () => {
    const { ask, world } = cluster(() => 3)
    ask(busy(1000))
    ask(busy(1000))
    world.advance(1000)
    expect([ask(busy(1000)), ask(ok())]).toEqual(['busy', 'ok'])
  })

  test('one speaks for all, unless somebody says otherwise', () => {
    for (const quorum of [undefined, () => 1, () => 0]) {
      const { ask } = cluster(quorum)
      ask(busy(1000))
      expect(ask(ok())).toEqual(['held-back', 1000])
    }
    const trap = cluster(() => {
      throw new Error('a trap')
    })
    trap.ask(busy(1000))
    expect(trap.ask(ok())).toEqual(['held-back', 1000])
  })
})

test('a reload keeps what is held back, and takes the new bounds for what comes', () => {
  const { p, ask } = house()
  ask(busy(50_000))
  p.reload([holdBack({ atMost: '1s', jitter: 0 })])
  expect(ask(ok())).toEqual(['held-back', 50_000])
  ask(busy(50_000), { method: 'GET /b' })
  expect(ask(ok(), { method: 'GET /b' })).toEqual(['held-back', 1000])
  p.reload([])
  expect(ask(ok())).toBe('ok')
})

describe('HeldApi', () => {
  test('three voices of three: held until the first of them is back', () => {
    const api = new HeldApi()
    api.hear('a', 10, 10, 3, 0)
    api.hear('b', 12, 12, 3, 0)
    expect(api.until).toBe(0)
    api.hear('c', 11, 11, 3, 0)
    expect([api.until, api.saidMs]).toEqual([10, 11])
  })

  test('is forgotten when nothing is left to remember', () => {
    const api = new HeldApi()
    expect(api.remembers(0)).toBe(false)
    api.hear('a', 10, 10, 2, 0)
    expect([api.remembers(9), api.remembers(10)]).toEqual([true, false])
    api.hold(20, 5)
    expect([api.remembers(19), api.remembers(20)]).toEqual([true, false])
  })
})
