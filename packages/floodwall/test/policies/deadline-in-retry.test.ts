import { answered, deadline, failed, pipeline, retry } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'

test('a deadline inside a retry is each attempt’s own: the second one has an end, too', () => {
  const world = new VirtualRuntime()
  const layers = [retry({ attempts: 3, backoff: { first: 10, atMost: 10 } }), deadline({ within: 100 })]
  const p = pipeline('p', layers, { runtime: world })
  const seen: number[] = []
  let ended: unknown
  // Hangs: only the deadline can end an attempt.
  p.start(
    (call) => void seen.push(call.deadline - world.now()),
    (outcome) => (ended = outcome.verdict),
    { idempotent: true },
  )
  world.advance('1s')
  expect([seen, ended, world.timers]).toEqual([[100, 100, 100], 'timeout', 0])
})

test('and a deadline around it still bounds all attempts', () => {
  const world = new VirtualRuntime()
  const layers = [
    deadline({ within: 150 }),
    retry({ attempts: 5, backoff: { first: 1, atMost: 1 } }),
    deadline({ within: 100 }),
  ]
  const p = pipeline('p', layers, { runtime: world })
  let attempts = 0
  let at = 0
  p.start(
    (call, done) => {
      attempts++
      world.after(call.attempt === 0 ? 60 : 500, () => done(call.attempt === 0 ? failed(new Error('x')) : answered(1)))
    },
    () => (at = world.now()),
    { idempotent: true },
  )
  world.advance('2s')
  expect([attempts, at]).toEqual([2, 150])
})
