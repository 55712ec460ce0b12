import {
  bulkhead,
  type Criticality,
  gate,
  isRejected,
  Partitions,
  partitions,
  pipeline,
  queue,
  Semaphore,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, fateOf, layerOf, leftIn, NOTHING, takes } from '../core/fate.ts'

// One line before partitions of classes: who may not pass must not keep those from passing to whom the slot belongs.

function house(shares: Partial<Record<Criticality, number>>, slots = 4) {
  const world = new VirtualRuntime()
  const layers = [queue({ atMost: '10s' }), partitions({ of: bulkhead({ slots }), shares })]
  const p = pipeline('p', layers, { runtime: world })
  const come = (criticality: Criticality, ms: number) =>
    fateOf(p.call(takes(world, ms, criticality), { criticality }), world)
  return { world, p, come }
}

describe('a queue before partitions', () => {
  test('critical calls over their share do not stop sheddable ones within theirs', async () => {
    const { world, p, come } = house({ critical: 0.5, sheddable: 0.5 })
    const sheddable = [come('sheddable', 10), come('sheddable', 10)]
    const critical = Array.from({ length: 6 }, () => come('critical', 100))
    await world.advanceAsync(10)
    // Two slots came free, and are kept for the class that has just used them.
    expect(sheddable.map(({ at }) => at)).toEqual([10, 10])
    const next = come('sheddable', 10)
    await world.advanceAsync(10)
    expect(next.at).toBe(20)
    await world.advanceAsync(1000)
    expect(critical.map(({ state }) => state)).toEqual(Array(6).fill('answered'))
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('slots that are kept for nobody any more are taken when that is so, although no gate says it', async () => {
    const { world, p, come } = house({ critical: 0.5 }, 2)
    const critical = come('critical', 10)
    const long = come('sheddable', 5000)
    const waits = come('sheddable', 10)
    await world.advanceAsync(3000)
    // The slot of the critical class is kept for a second.
    expect([critical.at, long.state, waits.state]).toEqual([10, 'pending', 'answered'])
    expect(waits.at).toBeGreaterThan(900)
    expect(waits.at).toBeLessThan(1100)
    await world.advanceAsync(3000)
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('rooms of several pipelines share one limit, each with its share', async () => {
    const world = new VirtualRuntime()
    const slots = new Semaphore({ slots: 4 }, world.env('slots'))
    const shared = new Partitions(slots, { shares: { web: 0.75, batch: 0.25 }, by: 'key', keepFor: 1000 }, 'shared')
    const of = (name: string) =>
      pipeline(name, [queue({ atMost: '10s', size: 1000 }), gate(shared)], { runtime: world })
    const [web, batch] = [of('web'), of('batch')]
    const ended = { web: 0, batch: 0 }
    const batches = Array.from({ length: 400 }, () => fateOf(batch.call(takes(world, 10, 1), { key: 'batch' })))
    await world.advanceAsync(100)
    ended.batch = batches.filter(({ state }) => state === 'answered').length
    expect(ended.batch).toBe(40)
    const webs = Array.from({ length: 300 }, () => fateOf(web.call(takes(world, 10, 1), { key: 'web' })))
    await world.advanceAsync(500)
    ended.web = webs.filter(({ state }) => state === 'answered').length
    const later = batches.filter(({ state }) => state === 'answered').length - ended.batch
    // Three slots of four, and one: but for the first ten milliseconds.
    expect(ended.web).toBeGreaterThanOrEqual(3 * 48)
    expect(later).toBeGreaterThanOrEqual(49)
    expect(ended.web + later).toBe(200)
    await world.advanceAsync(9000)
    expect([leftIn(world, web, batch), slots.available]).toEqual([NOTHING, 4])
  })
})

test('without a queue a refusal says whose slots are kept', async () => {
  const world = new VirtualRuntime()
  const layer = partitions({ of: bulkhead({ slots: 2 }), shares: { critical: 0.5 } })
  const p = pipeline('p', [layer], { runtime: world })
  await fateOfAll(world, p.call(takes(world, 10, 1)))
  void fateOf(p.call(takes(world, 100, 1), { criticality: 'sheddable' }))
  const refused = fateOf(p.call(() => 1, { criticality: 'sheddable' }))
  await world.settle()
  expect([codeOf(refused), isRejected(refused.value), layerOf(p, 'partitions')['used']]).toEqual(['full', true, 1])
  expect((refused.value as Error).message).toContain(
    'refused by p/partitions: it has 1 slots, 1 of its own, and what is free is kept for others',
  )
})

async function fateOfAll(world: VirtualRuntime, promise: Promise<unknown>): Promise<void> {
  const fate = fateOf(promise)
  await world.advanceAsync(10)
  expect(fate.state).toBe('answered')
}
