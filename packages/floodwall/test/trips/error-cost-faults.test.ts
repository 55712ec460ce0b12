import { Breaker } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { ErrorCost } from '../../src/algorithms/trips/error-cost.ts'
import { BrpcCircuitBreaker } from '../../src/compat/brpc/index.ts'
import { seeded } from '../../src/testing/random.ts'
import { admitted } from '../support/asks.ts'
import { brpc, callsToOpen, errorCost, type Judge, judgeOf, START } from './error-cost-traffic.ts'

// What goes wrong in brpc (measured there, and shown here with the replica), and does not here.

/** The flags of the vectors named below: windows of 50 and 100 calls. */
const SMALL = { shortWindowSize: 50, longWindowSize: 100 }

/** 200 good calls of 10 ms, then failures of 0.1 ms, one in every `n`: which call of these opens. */
function refusedAtOnce(judge: Judge, n: number, calls: number): number | undefined {
  let now = START
  for (let i = 0; i < 200; i++) judge(false, 10, now++)
  for (let i = 1; i <= calls; i++) {
    const failed = i % n === 0
    if (judge(failed, failed ? 0.1 : 10, now++)) return i
  }
  return undefined
}

describe('fast failures are seen', () => {
  test('half of the calls refused within 0.1 ms (vector fast_fail_black_hole)', () => {
    expect(refusedAtOnce(brpc(SMALL), 2, 2000)).toBeUndefined()
    expect(refusedAtOnce(errorCost(), 2, 2000)).toBeLessThanOrEqual(100)
  })

  test('all of them (vector fast_fail_total)', () => {
    expect(refusedAtOnce(brpc(SMALL), 1, 2000)).toBeGreaterThan(500)
    expect(refusedAtOnce(errorCost(), 1, 2000)).toBe(23)
  })

  test('a service of 20 us: no floor in microseconds wipes the cost away', () => {
    const traffic = { callsPerSecond: 1000, share: 0.3, normalMs: 0.02, failureTakes: 2 }
    expect(callsToOpen(brpc(), traffic, 20_000, 3100)).toBeUndefined()
    expect(callsToOpen(errorCost(), traffic, 20_000, 3100)).toBeLessThan(100)
  })
})

describe('averages do not lean', () => {
  test('500 to 1500 us', () => {
    const random = seeded(5)
    const trip = new ErrorCost()
    const replica = new BrpcCircuitBreaker()
    let ours = 0
    let theirs = 0
    for (let i = 0; i < 60_000; i++) {
      const tookUs = 500 + Math.floor(random() * 1001)
      trip.record('success', tookUs / 1000, START + i)
      replica.onCallEnd(0, tookUs, START + i)
      if (i < 10_000) continue
      ours += trip.normalLatencyMs() * 1000
      theirs += replica.long.emaLatencyUs
    }
    expect(Math.abs(ours / 50_000 - 1000)).toBeLessThan(5)
    expect(Math.abs(trip.normalLatencyMs() - 1)).toBeLessThan(0.02)
    expect(theirs / 50_000).toBeLessThan(650)
  })

  test('a real rise from 1000 to 1500 us is followed', () => {
    const trip = new ErrorCost()
    const replica = new BrpcCircuitBreaker()
    for (const tookUs of [1000, 1500]) {
      for (let i = 0; i < 5000; i++) {
        trip.record('success', tookUs / 1000, START)
        replica.onCallEnd(0, tookUs, START)
      }
    }
    expect(trip.normalLatencyMs()).toBeCloseTo(1.5, 9)
    expect(replica.long.emaLatencyUs).toBe(1000)
  })
})

describe('little traffic', () => {
  test.each([
    // calls/s, what a failure takes, calls until open after an hour of health
    [1, 1, 8],
    [1, 2, 8],
    [1, 0.1, 8],
    [0.5, 1, 11],
    [5, 1, 13],
  ])('an outage at %d calls/s, failures of %d of normal: opens at call %i', (callsPerSecond, failureTakes, opensAt) => {
    const traffic = { callsPerSecond, share: 1, failureTakes }
    expect(callsToOpen(errorCost(), traffic, 100, 3600)).toBe(opensAt)
  })

  test('1 call/s that always fails, from the first call on: brpc passes 150 of them', () => {
    expect(callsToOpen(errorCost(), { callsPerSecond: 1, share: 1 }, 1000)).toBe(8)
    expect(callsToOpen(brpc(), { callsPerSecond: 1, share: 1 }, 1000)).toBe(151)
  })

  test('a failure every quarter of a minute never piles up, for a day', () => {
    const trip = new ErrorCost()
    let most = 0
    for (let now = START; now < START + 86_400_000; now += 15_000) {
      expect(trip.record('failure', 20, now)).toBe(false)
      most = Math.max(most, trip.nearness(now))
    }
    expect(most).toBeLessThan(0.3)
  })
})

describe('time', () => {
  /** One failure short of open. */
  function almostOpen(): ErrorCost {
    const trip = new ErrorCost()
    for (let i = 0; i < 6; i++) expect(trip.record('failure', 10, START)).toBe(false)
    return trip
  }

  test('no time: the next one opens', () => {
    expect(almostOpen().record('failure', 10, START)).toBe(true)
  })

  test('idle forgets: after a minute of silence 2 % is left, after a day nothing; brpc keeps its cost', () => {
    const trip = almostOpen()
    for (let i = 0; i < 5; i++) expect(trip.record('failure', 10, START + 60_000)).toBe(false)
    const later = almostOpen()
    expect(later.record('failure', 10, START + 86_400_000)).toBe(false)
    expect(later.nearness(START + 86_400_000)).toBe(1 / 6)
    const replica = new BrpcCircuitBreaker()
    replica.onCallEnd(0, 10_000, START)
    replica.onCallEnd(1008, 10_000, START)
    replica.onCallEnd(1008, 0, START + 86_400_000)
    expect(replica.long.emaErrorCostUs).toBe(9986)
  })

  test('a clock that goes back by an hour loses nothing and stops no ageing', () => {
    const back = START - 3_600_000
    expect(almostOpen().record('failure', 10, back)).toBe(true)
    const trip = almostOpen()
    trip.record('success', 10, back)
    for (let i = 0; i < 5; i++) expect(trip.record('failure', 10, back + 60_000)).toBe(false)
  })

  test('a little back is no step: the same time does not pass twice', () => {
    const trip = almostOpen()
    for (let i = 0; i < 100; i++) trip.record('success', 10, START - 10 * (i % 2))
    const still = almostOpen()
    for (let i = 0; i < 100; i++) still.record('success', 10, START)
    expect(trip.nearness(START)).toBe(still.nearness(START))
  })

  test.each([NaN, Infinity, -Infinity])('a reading of %d is no time', (now) => {
    expect(almostOpen().record('failure', 10, now)).toBe(true)
    const trip = almostOpen()
    trip.record('success', 10, now)
    expect([trip.nearness(now), trip.idle(now), trip.explain(now)].join(' ')).not.toContain('NaN')
    for (let i = 0; i < 5; i++) expect(trip.record('failure', 10, START + 60_000)).toBe(false)
    // 0.12 of the old ones are left.
    expect(trip.record('failure', 10, START + 60_000)).toBe(true)
  })
})

describe('latencies that are none', () => {
  test.each([NaN, -1, -Infinity, Infinity, 1e300])('a failure of %d ms costs 1', (tookMs) => {
    const trip = new ErrorCost({ maxFailedLatencyMultiple: Infinity })
    for (let i = 0; i < 2000; i++) trip.record('success', 10, START)
    for (let i = 0; i < 22; i++) expect(trip.record('failure', tookMs, START)).toBe(false)
    expect(trip.record('failure', tookMs, START)).toBe(true)
  })

  test('a negative success does not make the next success cost something', () => {
    const trip = new ErrorCost()
    for (let i = 0; i < 100; i++) expect(trip.record('success', -1000, START)).toBe(false)
    expect([trip.value(START), trip.nearness(START)]).toEqual([0, 0])
  })

  test('the longest of all failures is worth a million calls, and is forgotten', () => {
    const trip = new ErrorCost({ maxFailedLatencyMultiple: Infinity })
    trip.record('success', 5e-324, START)
    expect(trip.record('failure', Number.MAX_SAFE_INTEGER, START)).toBe(false)
    for (let i = 0; i < 20_000; i++) trip.record('success', 1, START)
    expect(trip.value(START)).toBeLessThan(0.02)
    expect(trip.nearness(START)).toBe(0)
  })
})

describe('through a breaker', () => {
  /** A breaker that trips by error cost, and what its trip is told. */
  function guarded(): { gate: Breaker; trip: ErrorCost; world: VirtualRuntime } {
    const world = new VirtualRuntime({ startAt: START })
    const gate = new Breaker({}, world.env('peer/breaker'))
    const trip = new ErrorCost()
    Object.assign(gate, { trip })
    return { gate, trip, world }
  }

  test('cancelled, ignored and refused calls are no evidence', () => {
    const { gate, trip, world } = guarded()
    for (let i = 0; i < 300; i++) {
      admitted(gate, START).cancel(START)
      admitted(gate, START).settle('ignored', 1000, START)
      admitted(gate, START).settle('overload', 1000, START)
    }
    expect([gate.state(), trip.idle(START), trip.nearness(START)]).toEqual(['closed', true, 0])
    expect(world.events).toEqual([])
  })

  test('failures and timeouts are, and the event says what they cost', () => {
    const { gate, world } = guarded()
    for (let i = 0; i < 2000; i++) admitted(gate, START).settle('success', 10, START)
    for (let i = 0; i < 12; i++) {
      expect(gate.state()).toBe('closed')
      admitted(gate, START).settle('timeout', 20, START)
    }
    expect(gate.state()).toBe('open')
    expect(world.events).toMatchObject([
      {
        type: 'state',
        to: 'open',
        why: 'failures cost 24 normal calls of the last 75.6 in the short window (31.7 %, limit 30 %)',
      },
    ])
  })
})

test('what was tried before is not carried into a new start', () => {
  const trip = new ErrorCost()
  const judge = judgeOf(trip)
  expect(callsToOpen(judge, { callsPerSecond: 100, share: 1 }, 100)).toBe(7)
  trip.reset()
  expect(callsToOpen(judge, { callsPerSecond: 100, share: 1 }, 100)).toBe(7)
})
