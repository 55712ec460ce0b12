import { bulkhead, pipeline, timeout } from 'floodwall'
import { FakePeer, VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'
import { codeOf, fateOf } from '../core/fate.ts'

test('by hand: requests wait until they are answered, oldest first', async () => {
  const world = new VirtualRuntime()
  const peer = new FakePeer(world)
  const p = pipeline('p', [], { runtime: world })
  const [a, b] = [fateOf(p.call(peer.work)), fateOf(p.call(peer.work))]
  expect([peer.arrived, peer.running, peer.pending.length]).toEqual([2, 2, 2])
  world.advance(5)
  peer.next().succeed('hello')
  const error = new Error('x')
  peer.next().fail(error)
  await world.settle()
  expect([a.value, b.value === error, peer.running, peer.mostRunning]).toEqual(['hello', true, 0, 2])
  expect(() => peer.next()).toThrow('no request is waiting')
})

test('the first answer of an exchange counts', async () => {
  const world = new VirtualRuntime()
  const peer = new FakePeer(world)
  const fate = fateOf(pipeline('p', [], { runtime: world }).call(peer.work))
  const exchange = peer.next()
  exchange.succeed(1)
  exchange.fail(new Error('x'))
  exchange.succeed(2)
  await world.settle()
  expect([fate.value, peer.running]).toEqual([1, 0])
})

test('by script: at once, after a time, or never again the same', async () => {
  const world = new VirtualRuntime()
  const error = new Error('x')
  const peer = new FakePeer(world, (exchange, serial) => {
    if (serial === 1) return { value: exchange.at }
    return serial === 2 ? { afterMs: 50, error } : { afterMs: 500, value: 'slow' }
  })
  const p = pipeline('p', [timeout({ after: 100 })], { runtime: world })
  world.advance(7)
  const fates = [1, 2, 3].map(() => fateOf(p.call(peer.work), world))
  await world.advanceAsync(1000)
  expect(fates.map((f) => [f.at, codeOf(f)])).toEqual([
    [7, 'answered'],
    [57, error],
    [107, 'timeout'],
  ])
  expect([fates[0]?.value, peer.arrived, peer.running, world.timers]).toEqual([7, 3, 0, 0])
})

test('without promises, and it sees what a limit must bound', () => {
  const world = new VirtualRuntime()
  const peer = new FakePeer(world, () => ({ afterMs: 10 }))
  const p = pipeline('p', [bulkhead({ slots: 3 })], { runtime: world })
  let answers = 0
  for (let i = 0; i < 10; i++) p.start(peer.start, () => void answers++)
  world.run()
  expect([peer.arrived, peer.mostRunning, answers]).toEqual([3, 3, 10])
})

test('an error of undefined is an error', async () => {
  const world = new VirtualRuntime()
  const peer = new FakePeer(world, () => ({ error: undefined }))
  const fate = fateOf(pipeline('p', [], { runtime: world }).call(peer.work))
  await world.settle()
  expect([fate.state, fate.value]).toEqual(['failed', undefined])
})
