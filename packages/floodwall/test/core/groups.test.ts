import fc from 'fast-check'
import {
  acquireAll,
  breaker,
  bulkhead,
  cancelAll,
  type Gate,
  Permit,
  pipeline,
  Rejection,
  rateLimit,
  Semaphore,
  settleAll,
  type Verdict,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'
import { ask } from '../support/asks.ts'
import { layerOf, leftIn, NOTHING } from './fate.ts'

// Gates are acquired all or none, also bare.

const SEEDED = { seed: 20_260, numRuns: 300 }

const slots = (...sizes: number[]) => sizes.map((n) => new Semaphore({ slots: n }))
const free = (gates: Semaphore[]) => gates.map((g) => g.available)

test('all or none, whoever says no', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3), { minLength: 1, maxLength: 6 }), (sizes) => {
      const gates = slots(...sizes)
      const answer = acquireAll(gates, ask(0))
      const none = sizes.indexOf(0)
      expect(answer.ok).toBe(none < 0)
      if (answer.ok) {
        expect(free(gates)).toEqual(sizes.map((n) => n - 1))
        cancelAll(answer, 0)
      } else expect(answer.gate).toBe(gates[none])
      expect(free(gates)).toEqual(sizes)
    }),
    SEEDED,
  )
})

test('settling or cancelling a chain twice, in any mixture, gives each slot back once', () => {
  const gates = slots(2, 2, 2)
  const first = acquireAll(gates, ask(0)) as Permit
  const second = acquireAll(gates, ask(0)) as Permit
  settleAll(first, 'success', 1, 0)
  cancelAll(first, 0)
  settleAll(first, 'failure', 1, 0)
  expect(free(gates)).toEqual([1, 1, 1])
  cancelAll(second, 0)
  settleAll(second, 'success', 1, 0)
  expect(free(gates)).toEqual([2, 2, 2])
})

test('a permit says whether it is still out', () => {
  const [gate] = slots(1) as [Semaphore]
  const permit = gate.tryAcquire() as Permit
  expect([permit.ok, permit.open]).toEqual([true, true])
  permit.settle('success', 1, 0)
  expect([permit.ok, permit.open]).toEqual([true, false])
})

test('no gates at all is a mistake that says so', () => {
  expect(() => acquireAll([], ask(0))).toThrow(new RangeError('acquireAll: expected at least one gate'))
})

test('the same gate twice in a group takes two slots, and gives two back', async () => {
  const world = new VirtualRuntime()
  const p = pipeline('p', [bulkhead({ slots: 1 }), bulkhead({ slots: 1 })], { runtime: world })
  await p.call(() => expect([layerOf(p, 'bulkhead')['used'], layerOf(p, 'bulkhead-2')['used']]).toEqual([1, 1]))
  expect(leftIn(world, p)).toEqual(NOTHING)
})

test('a gate that frees others while it is told does not disturb the chain', () => {
  const order: string[] = []
  const other = new Semaphore({ slots: 1 })
  const held = other.tryAcquire() as Permit
  const meddler: Gate = {
    kind: 'meddler',
    path: 'meddler',
    tryAcquire: () => new Permit(meddler, 0),
    settled: (_permit: Permit, verdict: Verdict) => {
      order.push(verdict)
      held.settle('success', 1, 0)
    },
    cancelled: () => order.push('cancelled'),
    inspect: () => ({ kind: 'meddler', path: 'meddler' }),
  }
  const chain = acquireAll([...slots(1), meddler, ...slots(1)], ask(0)) as Permit
  settleAll(chain, 'success', 1, 0)
  expect([order, other.available]).toEqual([['success'], 1])
})

test('1,000 refusals by the last gate change nothing in the first', async () => {
  const world = new VirtualRuntime()
  const layers = [rateLimit({ rate: 5 }), breaker(), bulkhead({ slots: 3 }), bulkhead({ slots: 0 })]
  const p = pipeline('p', layers, { runtime: world })
  const before = JSON.stringify(['rateLimit', 'breaker', 'bulkhead'].map((path) => ({ ...layerOf(p, path), most: 1 })))
  for (let i = 0; i < 1000; i++) await p.outcome(() => 1)
  expect(JSON.stringify(['rateLimit', 'breaker', 'bulkhead'].map((path) => ({ ...layerOf(p, path), most: 1 })))).toBe(
    before,
  )
})

test('a rejection names its gate, its numbers and its reason in words', () => {
  const answer = new Semaphore({ slots: 0 }).tryAcquire()
  expect(answer).toBeInstanceOf(Rejection)
  expect(answer).toMatchObject({
    ok: false,
    reason: 'full',
    value: 0,
    limit: 0,
    retryAfterMs: 0,
    never: true,
    why: '0 of 0 slots are taken',
  })
  expect(new Rejection({ kind: 'k', path: 'p' }, 'open', 5, 1, 2).why).toBe('open')
})
