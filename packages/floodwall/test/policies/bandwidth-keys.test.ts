import { bandwidth } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'

test('in a full table one who owes hides nobody: those who owe nothing make room', () => {
  const world = new VirtualRuntime()
  const limit = bandwidth({ perKey: { rate: 1, burst: 1500 }, keys: 4 }, world)
  const keys = ['a', 'b', 'c', 'd']
  const flows = keys.map((key) => limit.open({ key }))
  for (const [i, flow] of flows.entries()) flow.take(i === 3 ? 1 : 1500)
  for (const flow of flows) flow.close()
  world.advance(2000)
  // What those get who find no place.
  expect(limit.open().take(1500)).toBe(1500)
  // Three owe for minutes, and have gone before d.
  expect(limit.open({ key: 'e' }).take(1500)).toBe(1500)
  expect(limit.open({ key: 'a' }).take(1500)).toBe(0)
  expect(limit.inspect()).toMatchObject({ keys: 4 })
})

test('however many owe: each look is at others, and in the end at who owes nothing', () => {
  const world = new VirtualRuntime()
  const limit = bandwidth({ perKey: { rate: 1, burst: 1500 }, keys: 40 }, world)
  const flows = [...new Array(40)].map((_, key) => limit.open({ key }))
  for (const [i, flow] of flows.entries()) flow.take(i < 30 ? 1500 : 1)
  for (const flow of flows) flow.close()
  world.advance(2000)
  const burst = (key: number): number => {
    const flow = limit.open({ key })
    const bytes = flow.take(1500)
    flow.close()
    return bytes
  }
  // Who comes too early has what is left of the others' line; four are looked at for each.
  const own = [...new Array(12)].map((_, i) => burst(1000 + i))
  expect(own.filter((bytes) => bytes === 1500).length).toBeGreaterThanOrEqual(4)
  expect(own.at(-1)).toBe(1500)
  expect(limit.inspect()['keys']).toBeLessThanOrEqual(40)
})
