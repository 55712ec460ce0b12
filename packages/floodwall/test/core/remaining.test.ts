import fc from 'fast-check'
import { type Call, deadline, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { dueAt } from '../../src/core/duration.ts'

// Who was given 60 ms has at most 60 ms left, whatever the last bit of the clock is.

const times = fc.double({ min: 0.001, max: 1e9, noNaN: true })
const spans = fc.double({ min: 0.001, max: 1e6, noNaN: true })

describe('dueAt', () => {
  test('is never later than was given, and not earlier than the clock can tell', () => {
    fc.assert(
      fc.property(times, spans, fc.nat(1000), (now, ms, later) => {
        const at = dueAt(now, ms)
        expect(at - now).toBeLessThanOrEqual(ms)
        expect(at - (now + later)).toBeLessThanOrEqual(ms)
        // Two units in the last place.
        expect(now + ms - at).toBeLessThanOrEqual(at * Number.EPSILON * 2)
      }),
      { seed: 1, numRuns: 1000 },
    )
  })

  test.each([
    ['whole numbers are exact', 1000, 60, 1060],
    ['a span without end has none', 5, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    ['from the beginning', 0, 0.1, 0.1],
    ['one that would be too late', 4.4, 60, 64.39999999999999],
  ])('%s', (_what, now, ms, at) => {
    expect(dueAt(now, ms)).toBe(at)
  })
})

describe('what is left of a call at its beginning is at most what it was given', () => {
  /** At 4.4 ms on the clock, where 60 ms more are 60.00000000000001. */
  const at44 = (): VirtualRuntime => {
    const world = new VirtualRuntime()
    world.advance(4.4)
    expect(world.now() + 60 - world.now()).toBeGreaterThan(60)
    return world
  }
  const left = ({ remainingMs }: Call): number => remainingMs

  test('by the call itself', async () => {
    const runtime = at44()
    expect(await pipeline('p', [], { runtime }).call(left, { within: 60 })).toBeLessThanOrEqual(60)
  })

  test('by a deadline', async () => {
    const runtime = at44()
    expect(await pipeline('p', [deadline({ within: 60 })], { runtime }).call(left)).toBeLessThanOrEqual(60)
  })

  test('by a deadline with a margin, and by a parent', async () => {
    const runtime = at44()
    const inner = pipeline('inner', [deadline({ within: 500, margin: 1 })], { runtime })
    const outer = pipeline('outer', [], { runtime })
    expect(await outer.call((parent) => inner.call(left, { parent }), { within: 61 })).toBeLessThanOrEqual(60)
  })

  test('by a leave that it takes', async () => {
    const runtime = at44()
    const p = pipeline('p', [], { runtime })
    const detached = await p.call((call) => call.detach({ within: 60, reason: 'commit' }))
    expect(detached.remainingMs).toBeLessThanOrEqual(60)
  })
})
