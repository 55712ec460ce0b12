import {
  bulkhead,
  deadline,
  isTimeout,
  type Layer,
  overload,
  pace,
  pipeline,
  rateLimit,
  retry,
  timeout,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, fateOf, layerOf } from '../core/fate.ts'

// What a pace does in the places that are warned of, and in the others: what happens, and not only that it is warned of.

/** Turns at 0, 100, 200 ms ... */
const turns = pace({ rate: 10, atMost: '1s' })

/** Calls of `takesMs` each, all begun at once; when their work began, and how they ended. */
function crowd(layers: readonly Layer[], calls: number, takesMs = 1, fails = false) {
  const world = new VirtualRuntime({ seed: 1 })
  const path = pipeline('order', layers, { runtime: world })
  const begun: number[] = []
  const work = () => {
    begun.push(world.now())
    return new Promise((resolve, reject) =>
      world.after(takesMs, () => (fails ? reject(new Error('broken')) : resolve('done'))),
    )
  }
  const fates = Array.from({ length: calls }, () => fateOf(path.call(work, { idempotent: true }), world))
  return { world, path, begun, fates }
}

describe('a pace', () => {
  test('outside of a bulkhead: who waits for his turn holds no slot; inside he does', async () => {
    const slots = bulkhead({ slots: 2 })
    const outside = crowd([turns, slots], 5)
    await outside.world.advanceAsync(50)
    expect(layerOf(outside.path, 'bulkhead')['used']).toBe(0)
    await outside.world.advanceAsync(1000)
    expect(outside.fates.map(codeOf)).toEqual(Array.from({ length: 5 }, () => 'answered'))

    const inside = crowd([slots, turns], 5)
    await inside.world.advanceAsync(50)
    expect([layerOf(inside.path, 'bulkhead')['used'], inside.begun]).toEqual([1, [0]])
    expect(inside.fates.map(codeOf)).toEqual(['answered', 'pending', 'full', 'full', 'full'])
  })

  test('inside of a timeout that is not longer than its wait: who waits is timed out, and has done nothing', async () => {
    const { world, begun, fates } = crowd([timeout({ after: 150 }), turns], 4)
    await world.advanceAsync(1000)
    expect([begun, fates.map(({ value }) => isTimeout(value))]).toEqual([
      [0, 100],
      [false, false, true, true],
    ])
  })

  test('inside of overload: its waits are taken for slowness', async () => {
    const shown = async (...layers: Layer[]) => {
      const { world, path } = crowd(layers, 10, 10)
      await world.advanceAsync(1000)
      return layerOf(path, 'overload')['serviceMs'] as number
    }
    expect(await shown(turns, overload({ limits: { start: 10 } }))).toBe(10)
    expect(await shown(overload({ limits: { start: 10 } }), turns)).toBeGreaterThan(50)
  })

  test('outside of a retry: what arrives is no steady stream; inside each attempt has its turn', async () => {
    const again = retry({ attempts: 3, backoff: { first: 0 }, budget: { minimum: 100 } })
    const outside = crowd([turns, again], 2, 1, true)
    await outside.world.advanceAsync(1000)
    expect(outside.begun).toEqual([0, 1, 2, 100, 101, 102])
    const inside = crowd([again, turns], 2, 1, true)
    await inside.world.advanceAsync(1000)
    expect(inside.begun).toEqual([0, 100, 200, 300, 400, 500])
  })

  test('outside of a deadline: what waits is under none', async () => {
    const outside = crowd([turns, deadline({ within: 50 })], 3)
    await outside.world.advanceAsync(1000)
    expect(outside.begun).toEqual([0, 100, 200])
    const inside = crowd([deadline({ within: 50 }), turns], 3)
    expect(inside.fates.map(codeOf)).toEqual(['pending', 'pending', 'pending'])
    await inside.world.advanceAsync(1)
    expect(inside.fates.map(codeOf)).toEqual(['answered', 'deadline', 'deadline'])
  })

  test('outside of a rate limit: what is over the rate waits first', async () => {
    const once = rateLimit({ rate: 1, per: '1h', burst: 1 })
    const { world, fates } = crowd([turns, once], 3)
    await world.advanceAsync(1000)
    expect(fates.map(({ at }) => at)).toEqual([1, 100, 200])
    expect(fates.map(codeOf)).toEqual(['answered', 'rate', 'rate'])
  })
})
