import {
  around,
  breaker,
  bulkhead,
  deadline,
  gate,
  keyed,
  pipeline,
  queue,
  rateLimit,
  retry,
  Semaphore,
  shadow,
  timeout,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'

const runtime = new VirtualRuntime()

test('explain() says the layers in order, with their settings', () => {
  const p = pipeline(
    'inventory',
    [
      deadline({ within: '800ms' }),
      retry({ attempts: 3 }),
      queue(),
      bulkhead({ slots: 64 }),
      timeout({ after: '250ms' }),
    ],
    { runtime },
  )
  expect(p.explain()).toBe(
    [
      'inventory',
      '  1. deadline within 800 · margin 0 · floor 0',
      '  2. retry attempts 3 · on { failure backoff · timeout backoff · overload backoff · quota asked } · backoff { first 50 · factor 2 · atMost 2000 } · elsewhereAbove 0.5 · budget { ratio 0.1 · minimum 3 · over 10000 } · pauseAtMost 60000',
      '  3. queue size 100 · atMost 1000 · order fifo',
      '  4. bulkhead slots 64',
      '  5. timeout after 250',
    ].join('\n'),
  )
})

test('of layers within layers, lifted gates and functions', () => {
  const shared = new Semaphore({ slots: 3 })
  const layers = [
    keyed({ of: rateLimit({ rate: 10 }), by: () => 'k' }),
    shadow({ of: bulkhead({ slots: 1 }) }),
    gate(shared),
    around(async (call, next) => next(call), 'audit'),
  ]
  expect(pipeline('p', layers, { runtime }).explain().split('\n')).toEqual([
    'p',
    '  1. keyed of rateLimit { rate 10 · per 1000 · charge calls } · max 10000 · by a function',
    '  2. shadow of bulkhead { slots 1 }',
    '  3. bulkhead shared bulkhead',
    '  4. audit author a function',
  ])
})

test('of nothing', () => {
  expect(pipeline('bare', [], { runtime }).explain()).toBe('bare')
})

test('after a reload it says the new ones, and options that were not said are not shown', () => {
  const p = pipeline('p', [breaker()], { runtime })
  p.reload([breaker({ atLeast: 5 })])
  expect(p.explain()).toContain('atLeast 5')
  expect(p.explain()).not.toContain('undefined')
})
