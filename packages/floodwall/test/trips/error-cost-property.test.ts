import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ErrorCost } from '../../src/algorithms/trips/error-cost.ts'
import { START } from './error-cost-traffic.ts'

// Against a reference that remembers every call, and weighs each of them anew for every answer.

interface Step {
  readonly failed: boolean
  readonly tookMs: number
  readonly waitMs: number
  readonly lane: number
}

interface Settings {
  readonly lastCalls: number
  readonly over: number
  readonly maxErrorRate: number
  readonly minEvidence: number
}

interface Past {
  readonly failed: boolean
  readonly cost: number
  /** On a clock that only ages. */
  readonly at: number
}

class NaiveWindow {
  private readonly settings: Settings
  private readonly epsilon: number
  private readonly isSum: boolean
  private readonly minErrorCost: number
  private past: Past[] = []
  private aged = 0
  private at = 0

  constructor(settings: Settings, epsilon: number, isSum: boolean, minErrorCost: number) {
    this.settings = settings
    this.epsilon = epsilon
    this.isSum = isSum
    this.minErrorCost = minErrorCost
  }

  /** How near it is to the limit, after this call. */
  record(failed: boolean, cost: number, now: number): number {
    if (now > this.at) this.aged += now - this.at
    if (now > this.at || this.at - now > this.settings.over) this.at = now
    // What a success finds to be next to nothing costs nothing any more.
    if (!failed && this.sums().cost < this.minErrorCost) this.past = this.past.map((call) => ({ ...call, cost: 0 }))
    this.past.push({ failed, cost, at: this.aged })
    return this.nearness()
  }

  private sums(): { cost: number; failures: number; successes: number } {
    const sums = { cost: 0, failures: 0, successes: 0 }
    let later = 0
    for (let i = this.past.length - 1; i >= 0; i--) {
      const call = this.past[i]!
      const windows = later / this.settings.lastCalls + (this.aged - call.at) / this.settings.over
      const weight = Math.exp(Math.log(this.epsilon) * windows)
      if (call.cost > 0) {
        sums.cost += call.cost * weight
        sums.failures += weight
      } else if (!call.failed) sums.successes += weight
      if (!this.isSum || !call.failed) later++
    }
    return sums
  }

  private nearness(): number {
    const { cost, failures, successes } = this.sums()
    const { maxErrorRate, minEvidence } = this.settings
    if (cost === 0) return 0
    const limit = (maxErrorRate / (1 - maxErrorRate)) * (1 + this.epsilon) * successes
    return Math.min(cost / limit, minEvidence === 1 ? Infinity : failures / (minEvidence - 1), Number.MAX_VALUE)
  }
}

/** The average success per method, and what a failure costs by it. */
class NaiveCosts {
  private readonly most: number
  private readonly successes = new Map<number, number[]>()

  constructor(most: number) {
    this.most = most
  }

  of({ failed, tookMs, lane }: Step): number {
    const known = this.successes.get(lane) ?? []
    if (!failed) {
      this.successes.set(lane, [...known, tookMs])
      return 0
    }
    const normal = known.reduce((mean, took, i) => (i === 0 ? took : (mean * 127 + took) / 128), 0)
    return normal === 0 ? 1 : Math.min(this.most, Math.max(1, tookMs / normal))
  }
}

const step: fc.Arbitrary<Step> = fc.record({
  failed: fc.oneof(fc.constant(false), fc.boolean()),
  tookMs: fc.double({ min: 0.001, max: 1000, noNaN: true }),
  waitMs: fc.oneof(
    { weight: 6, arbitrary: fc.constant(0) },
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 50 }) },
    { weight: 2, arbitrary: fc.double({ min: 0, max: 5000, noNaN: true }) },
    { weight: 1, arbitrary: fc.integer({ min: -20, max: -1 }) },
    { weight: 1, arbitrary: fc.constantFrom(-3_600_000, 200_000) },
  ),
  lane: fc.constantFrom(0, 0, 0, 1, 7),
})

const windowOf = (lastCalls: number): fc.Arbitrary<Settings> =>
  fc.record({
    lastCalls: fc.integer({ min: 20, max: lastCalls }),
    over: fc.constantFrom(1000, 60_000),
    maxErrorRate: fc.constantFrom(0.05, 0.3, 0.5, 0.9),
    minEvidence: fc.constantFrom(1, 2, 6),
  })

const options = fc.record({
  short: windowOf(100),
  long: windowOf(1000),
  epsilon: fc.constantFrom(0.02, 0.1),
  maxFailedLatencyMultiple: fc.constantFrom(1, 2, Infinity),
  minErrorCost: fc.constantFrom(0, 0.05, 0.5),
  accumulate: fc.constantFrom('sum' as const, 'ema' as const),
})

test('10^5 random results in all: like weighing every call of the past', () => {
  let records = 0
  fc.assert(
    fc.property(options, fc.array(step, { minLength: 40, maxLength: 100, size: 'max' }), (settings, steps) => {
      const { short, long, epsilon, minErrorCost } = settings
      const isSum = settings.accumulate === 'sum'
      const trip = new ErrorCost(settings)
      const windows = [short, long].map((window) => new NaiveWindow(window, epsilon, isSum, minErrorCost))
      const costs = new NaiveCosts(settings.maxFailedLatencyMultiple)
      let now = START
      for (const call of steps) {
        now += call.waitMs
        records++
        const cost = costs.of(call)
        const nearness = Math.max(...windows.map((window) => window.record(call.failed, cost, now)))
        const opened = trip.record(call.failed ? 'failure' : 'success', call.tookMs, now, call.lane)
        // Where the two differ in the last bits only, the verdict may differ too.
        if (Math.abs(nearness - 1) > 1e-9) expect(opened).toBe(nearness > 1)
        expect(Math.abs(trip.nearness(now) - nearness)).toBeLessThanOrEqual(1e-9 * nearness)
      }
    }),
    { numRuns: 1600, seed: 20, endOnFailure: true },
  )
  expect(records).toBeGreaterThanOrEqual(100_000)
})
