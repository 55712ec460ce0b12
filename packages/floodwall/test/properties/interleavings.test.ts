import fc from 'fast-check'
import { breaker, bulkhead, keyed, type Layer, rateLimit, shadow } from 'floodwall'
import { afterAll, describe, expect, test } from 'vitest'
import { type Bounds, Walker } from './walker.ts'

// Permits that are taken, ended in every way and order, twice, late, or while time stands still or steps back: whatever happens, nothing is
// in flight at the end, and the next call is admitted.

const TOTAL = 1_000_000

const slots = bulkhead({ slots: 3 })
const touchy = breaker({ consecutive: 2, openFor: 50, openAtMost: 400, jitter: 0.5, probes: 2, probeLapse: 40 })
const rated = breaker({
  over: 200,
  atLeast: 4,
  openFor: 30,
  growth: 3,
  openAtMost: 300,
  slowAfter: 20,
  probes: 3,
  probeLapse: 60,
})
const counted = breaker({
  lastCalls: 6,
  atLeast: 3,
  failureRate: 0.34,
  openFor: 10,
  openAtMost: 90,
  probes: 1,
  probeLapse: 20,
  jitter: 0,
})
const rate = rateLimit({ rate: 50, burst: 4 })
const time = rateLimit({ rate: 300, burst: 60, charge: 'time' })

const subjects: readonly [name: string, layer: Layer, bounds?: Bounds][] = [
  ['a bulkhead', slots, { inAll: 3 }],
  ['a breaker that counts failures in a row', touchy],
  ['a breaker with a rate over time', rated],
  ['a breaker with a rate over calls', counted],
  ['a rate limit', rate],
  ['a rate limit that charges for time', time],
  ['bulkheads by key', keyed({ of: slots }), { perKey: 3 }],
  // A key whose gate came late may still be inside the shared one: twice the limit, and never more than max + 1 gates together.
  ['bulkheads by key, with too little room', keyed({ of: slots, max: 2 }), { perKey: 6, inAll: 9 }],
  ['breakers by key', keyed({ of: touchy })],
  ['breakers by key, with too little room', keyed({ of: rated, max: 2 })],
  ['rate limits by key', keyed({ of: rate, max: 3 })],
  ['time by key', keyed({ of: time, max: 2 })],
  ['a bulkhead in the shadow', shadow({ of: slots })],
  ['a breaker in the shadow', shadow({ of: touchy })],
  ['a rate limit in the shadow', shadow({ of: rate })],
  ['bulkheads in the shadow, by key', keyed({ of: shadow({ of: slots }), max: 2 })],
]

const RUNS = 25
const PER_RUN = TOTAL / subjects.length / RUNS

describe('a million interleavings', () => {
  let interleavings = 0

  test.each(subjects)('%s', (...[, layer, bounds]) => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const walker = new Walker(layer, seed, bounds)
        for (let i = 0; i < PER_RUN; i++) walker.walk()
        interleavings += PER_RUN
      }),
      { seed: 41, numRuns: RUNS },
    )
  })

  afterAll(() => console.log(`${interleavings} interleavings on bare gates`))

  test('no gate is left out', () => {
    expect(interleavings).toBe(TOTAL)
  })
})
