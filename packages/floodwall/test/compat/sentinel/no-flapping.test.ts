import { pipeline, type Snapshot } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'
import { fromSentinel } from '../../../src/compat/sentinel/index.ts'
import { layerOf, leftIn, NOTHING } from '../../core/fate.ts'

// Several breakers of one resource: while one is open, a call is refused before it can be another one's probe. In Sentinel the other one
// goes open, half-open, open with every call, and tells of it each time.

const rule = { resource: 'abc', minRequestAmount: 2, statIntervalMs: 10_000, threshold: 0.5 }
const RULES = [
  { ...rule, id: 'slow', strategy: 0, maxAllowedRtMs: 20, retryTimeoutMs: 1000 },
  { ...rule, id: 'ratio', strategy: 1, retryTimeoutMs: 30_000 },
  { ...rule, id: 'count', strategy: 2, threshold: 2, retryTimeoutMs: 2000, probeNum: 3 },
]

test.each([
  ['in the order of the rules', RULES],
  ['the other way round', [...RULES].reverse()],
])('C03 10,000 requests while one of three is open, %s: no events, no probes left', async (_, rules) => {
  const world = new VirtualRuntime()
  const imported = fromSentinel(rules)
  const p = pipeline('abc', imported.layers.get('abc') ?? [], { runtime: world })
  const placeOf = (id: string) => imported.rules.find((one) => one.id === id)?.place as string
  const state = (id: string) => layerOf(p, placeOf(id))['state']

  const failsSlowly = () => new Promise((_, reject) => void world.after(30, () => reject(new Error('down'))))
  const calls = [p.outcome(failsSlowly), p.outcome(failsSlowly)]
  await world.advanceAsync(30)
  await Promise.all(calls)
  expect(['slow', 'ratio', 'count'].map(state)).toEqual(['open', 'open', 'open'])

  // The open times of the first and the third are over; the second one's is not.
  await world.advanceAsync(5000)
  let ran = 0
  const before = world.events.length
  for (let i = 0; i < 10_000; i++) {
    const outcome = await p.outcome(() => ran++)
    expect(outcome.rejection?.gate.path).toBe(`abc/${placeOf('ratio')}`)
    world.advance(1)
  }
  const told = world.events.slice(before).filter(({ type }) => type === 'state')
  // At most one each, when the open time was found to be over: not one for each request.
  expect(told.length).toBeLessThanOrEqual(2)
  expect(told.every((event) => event.type === 'state' && event.to === 'halfOpen')).toBe(true)
  for (const id of ['slow', 'count']) {
    const { size, free } = layerOf(p, placeOf(id))['probes'] as { size: number; free: number }
    expect([state(id), free]).toEqual(['halfOpen', size])
  }
  expect([ran, leftIn(world, p)]).toEqual([0, NOTHING])

  // When the last one may probe, all of them close on their own probes.
  await world.advanceAsync(30_000)
  for (let i = 0; i < 3; i++) await p.call(() => ran++)
  expect([ran, ...['slow', 'ratio', 'count'].map(state)]).toEqual([3, 'closed', 'closed', 'closed'])
  expect(opened(p.inspect()['layers'] as Snapshot[])).toEqual([1, 1, 1])
})

const opened = (layers: readonly Snapshot[]): unknown[] => layers.map((layer) => layer['opened'])
