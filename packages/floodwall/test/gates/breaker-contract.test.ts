import { type BreakerOptions, breaker, type Env, type Gate, keyed, type Layer, shadow } from 'floodwall'
import { gateContract, VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { ask, offered, rejected } from '../support/asks.ts'

// What every gate owes, for breakers that use what the common one does not.

const BREAKERS: Readonly<Record<string, BreakerOptions>> = {
  'that counts errors': { errorCount: 5, atLeast: 1, openFor: '50ms' },
  'whose half-open ends': { consecutive: 1, halfOpenAtMost: '200ms', halfOpenEnd: 'closed' },
  'whose half-open ends open': { consecutive: 1, halfOpenAtMost: '200ms', openFor: (times) => times * 30 },
  'that is eager': { consecutive: 2, eager: true, openFor: '100ms', halfOpenAtMost: '300ms' },
  'that ramps': { consecutive: 2, ramp: '400ms', openFor: '50ms', probes: 1 },
}

const WATCHING: BreakerOptions = { slowRate: 0.5, slowAfter: '60ms', atLeast: 5, openFor: '50ms', ramp: '100ms' }

const build = (layer: Layer) => (env: Env) => layer.build(env) as Gate

describe.each(Object.entries(BREAKERS))('a breaker %s keeps the promises of a gate', (_, options) => {
  const of = breaker(options)
  for (const layer of [of, keyed({ of, max: 2 }), shadow({ of })])
    for (const check of gateContract(build(layer))) test(`${layer.kind}: ${check.name}`, check.run)
})

describe('a breaker that watches calls', () => {
  const make = build(breaker(WATCHING))

  for (const check of gateContract(make)) {
    // A thousand calls that nobody has ended within a day are a dead target: the first call after it opens. What is promised is below.
    if (!check.name.startsWith('permits that nobody ends')) test(check.name, check.run)
  }

  test('permits that nobody ends do not stop it for ever: only for its open time', () => {
    const world = new VirtualRuntime()
    const gate = make(world.env())
    offered(gate, 1000, world.now())
    world.advance('1d')
    const { retryAfterMs } = rejected(gate, world.now())
    expect(retryAfterMs).toBeLessThan(60)
    world.advance(retryAfterMs)
    expect(gate.tryAcquire(ask(world.now())).ok).toBe(true)
  })
})
