import { type ThrottleOptions, throttle } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { dropShare, ThrottleWindow } from '../../src/algorithms/gates/throttle-window.ts'
import { BARE, Scene } from './throttle-scene.ts'

// The formula of the SRE book, as a table: alone, and as the gate has it.

type Row = readonly [requests: number, accepts: number, k: number, share: number]

const TABLE: readonly Row[] = [
  // Nothing was asked.
  [0, 0, 2, 0],
  // All were accepted, however many.
  [1, 1, 2, 0],
  [100, 100, 2, 0],
  [100, 100, 1, 0],
  [1e9, 1e9, 1.5, 0],
  // Exactly K times what was accepted, and just below: nothing is too much.
  [20, 10, 2, 0],
  [15, 10, 1.5, 0],
  [10, 10, 1, 0],
  [19, 10, 2, 0],
  // One more, and on: rising.
  [21, 10, 2, 1 / 22],
  [22, 10, 2, 2 / 23],
  [30, 10, 2, 10 / 31],
  [100, 10, 2, 80 / 101],
  [1000, 10, 2, 980 / 1001],
  // A smaller K drops more of the same.
  [30, 10, 1.75, 12.5 / 31],
  [30, 10, 1.5, 15 / 31],
  [30, 10, 1, 20 / 31],
  // Nothing was accepted: all but one of n + 1.
  [1, 0, 2, 1 / 2],
  [9, 0, 2, 9 / 10],
  [999, 0, 2, 999 / 1000],
]

describe('the formula', () => {
  test.each(TABLE)('%d wanted, %d accepted, K %d: drops %d', (requests, accepts, k, share) => {
    expect(dropShare(requests, accepts, k)).toBe(share)
  })

  test('rises with each call that is not accepted, and falls to 0 again as accepted ones come', () => {
    let last = -1
    for (let requests = 20; requests <= 500; requests++) {
      const share = dropShare(requests, 10, 2)
      expect(share).toBeGreaterThan(last)
      expect(share).toBeLessThan(1)
      last = share
    }
    for (let more = 1; more <= 480; more++) {
      const share = dropShare(500 + more, 10 + more, 2)
      expect(share).toBeLessThan(last)
      last = share
    }
    expect(last).toBe(0)
  })
})

/** Sends all, and only then hears: what the gate drops meanwhile does not disturb the table. No verdict before all were heard. */
function heard(options: ThrottleOptions, requests: number, accepts: number): Scene {
  const scene = new Scene({ ...BARE, atLeast: requests, ...options })
  scene.burst(requests, accepts)
  return scene
}

describe('the gate has the formula', () => {
  const rows = TABLE.filter(([requests]) => requests > 0 && requests <= 1000)

  test.each(rows)('%d sent, %d accepted, k %d: would drop %d', (requests, accepts, k, share) => {
    expect(heard({ k }, requests, accepts).critical).toMatchObject({ requests, accepts, k, drop: share })
  })

  test.each(rows.filter(([, accepts]) => accepts > 0))(
    '%d sent, %d accepted, k %d: drops about %d of what comes',
    (...row) => {
      const [requests, accepts, k, share] = row
      const scene = heard({ k }, requests, accepts)
      const asked = 20_000
      // Ignored results change nothing, so every call meets the same share: five deviations.
      const slack = 5 * Math.sqrt(asked * share * (1 - share))
      expect(Math.abs(scene.passing(asked) - asked * (1 - share))).toBeLessThanOrEqual(slack)
      expect(scene.state).toBe(share > 0 ? 'throttling' : 'passing')
    },
  )

  test('accepts 0: all but probes are refused', () => {
    const scene = heard({ probeShare: 0.01 }, 50, 0)
    expect(scene.state).toBe('probing')
    // Each hundredth, exactly; by the formula it would be one of 51.
    expect(scene.passing(10_000)).toBe(100)
  })
})

describe('what was refused here', () => {
  test('does not count when the target fails: the share stays what the target makes of it', () => {
    const scene = heard({}, 40, 12)
    const { drop } = scene.critical
    scene.passing(5000)
    expect(drop).toBe(16 / 41)
    expect(scene.critical).toMatchObject({ requests: 40, accepts: 12, failed: 28, overloaded: 0, drop })
    expect(scene.critical.refused).toBeGreaterThan(1500)
  })

  test('counts like what was refused there when the target says "too much"', () => {
    const scene = new Scene(BARE)
    scene.burst(40, 12, 'overload')
    scene.passing(200)
    const { refused, requests, drop } = scene.critical
    expect(refused).toBeGreaterThan(60)
    expect(requests).toBe(40 + refused)
    expect(drop).toBe((requests - 24) / (requests + 1))
  })

  test('weighs as much as refusals do in what was not accepted there', () => {
    const window = new ThrottleWindow(3000, 10)
    const times = (n: number, what: () => void) => Array.from({ length: n }, what)
    times(12, () => window.countAccepted(0))
    times(21, () => window.countFailed(0))
    times(7, () => window.countOverloaded(0))
    times(60, () => window.countRefused(0))
    expect([window.results(0), window.requests(0)]).toEqual([40, 40 + 60 / 4])
    // The worked numbers of the file: all failed, all refused.
    expect(dropShare(40, 12, 2)).toBeCloseTo(0.39, 2)
    expect(dropShare(100, 12, 2)).toBeCloseTo(0.75, 2)
  })

  test('49 % of success stay 49 %, where the plain formula ends at nothing', () => {
    // By the book: what is dropped is wanted, so the share of 49 % shrinks by 2 · 0.49 in each round.
    let plain = 1
    for (let round = 0; round < 200; round++) plain = Math.min(1, 2 * 0.49 * plain)
    expect(plain).toBeLessThan(0.02)
    const scene = heard({}, 10_000, 4900)
    expect(scene.passing(10_000)).toBeGreaterThan(9700)
  })
})

describe('the window', () => {
  test('a bucket of it expires at a time, refusals too', () => {
    const scene = new Scene({ ...BARE, over: '3s', buckets: 10 }, 30_000)
    scene.burst(30, 10)
    scene.world.advance(2700)
    expect(scene.critical).toMatchObject({ requests: 30, accepts: 10, drop: 10 / 31 })
    scene.world.advance(299)
    expect(scene.critical.requests).toBe(30)
    scene.world.advance(1)
    expect(scene.critical).toMatchObject({ requests: 0, accepts: 0, drop: 0, refused: 0 })
  })

  test('k is 2, over 3 s, on 10 results', () => {
    expect(throttle().options).toEqual({
      k: 2,
      kStep: 0.25,
      over: 3000,
      buckets: 10,
      atLeast: 10,
      probeEvery: 1000,
      probeShare: 0.005,
    })
  })

  test('no verdict on fewer results than asked for', () => {
    const scene = new Scene({ atLeast: 20 })
    scene.burst(19, 1)
    expect([scene.critical.drop > 0.8, scene.state, scene.passing(500)]).toEqual([true, 'passing', 500])
    scene.calls(1, 'failure')
    expect(scene.state).toBe('throttling')
    expect(scene.passing(500)).toBeLessThan(150)
  })
})
