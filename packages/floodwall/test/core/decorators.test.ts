import { breaker, bulkhead, keyed, pipeline, queue, rateLimit, shadow, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, fateOf, hangs, layerOf, leftIn, NOTHING, takes } from './fate.ts'

// keyed and shadow, as calls meet them.

const down = () => Promise.reject(new Error('down'))

describe('keyed, through a pipeline', () => {
  test('each key has a gate of its own; who says no key shares one', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [keyed({ of: rateLimit({ rate: 1, per: '1h' }) })], { runtime: world })
    const passes = async (key?: string | number) => (await p.outcome(() => 1, key === undefined ? {} : { key })).ok
    expect([
      await passes('a'),
      await passes('a'),
      await passes('b'),
      await passes(1),
      await passes('1'),
      await passes(),
      await passes(),
      await passes(''),
    ]).toEqual([true, false, true, true, true, true, false, false])
    expect(layerOf(p, 'keyed')).toMatchObject({ keys: 5, evicted: 0 })
  })

  test('a key from the call’s data', async () => {
    const p = pipeline(
      'p',
      [
        keyed({
          of: rateLimit({ rate: 1, per: '1h' }),
          by: (ask) => (ask as { data?: { user: string } }).data?.user ?? 'nobody',
        }),
      ],
      { runtime: new VirtualRuntime() },
    )
    const passes = async (data?: { user: string }) => (await p.outcome(() => 1, { data })).ok
    expect([
      await passes({ user: 'a' }),
      await passes({ user: 'a' }),
      await passes({ user: 'b' }),
      await passes(),
    ]).toEqual([true, false, true, true])
  })

  test('a slot is held to the end of the work by the key that took it', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [keyed({ of: bulkhead({ slots: 1 }) }), timeout({ after: 50 })], { runtime: world })
    const a = fateOf(p.call(takes(world, 100, 'late'), { key: 'a' }))
    await world.advanceAsync(60)
    const again = await p.outcome(() => 1, { key: 'a' })
    const other = await p.outcome(() => 1, { key: 'b' })
    expect([codeOf(a), again.rejection?.reason, other.ok]).toEqual(['timeout', 'full', true])
    await world.advanceAsync(40)
    expect(await p.call(() => 'a again', { key: 'a' })).toBe('a again')
  })

  test('a breaker per key: one that is down does not open the others', async () => {
    const p = pipeline('p', [keyed({ of: breaker({ consecutive: 2 }) })], { runtime: new VirtualRuntime() })
    for (let i = 0; i < 3; i++) await p.outcome(down, { key: 'sick' })
    expect(await p.outcome(() => 1, { key: 'sick' })).toMatchObject({
      rejection: { reason: 'open', gate: { path: 'p/keyed/breaker' } },
    })
    expect(await p.outcome(() => 1, { key: 'well' })).toMatchObject({ ok: true })
  })

  // Decided: a waiting room is one line, whatever stands behind it. Who waits for a busy key holds up those behind him, also for other keys,
  // at most as long as the room's patience: to let them pass would be to ask every gate for every waiter at every release.
  test('a room before it is one line: a busy key holds up the others, until patience ends', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [queue({ atMost: 200 }), keyed({ of: bulkhead({ slots: 1 }) })], { runtime: world })
    const held = fateOf(p.call(takes(world, 100, 'held'), { key: 'a' }), world)
    const second = fateOf(p.call(takes(world, 1000, 'second'), { key: 'a' }), world)
    const third = fateOf(
      p.call(() => 'third', { key: 'a' }),
      world,
    )
    const other = fateOf(
      p.call(() => 'other', { key: 'b' }),
      world,
    )
    await world.advanceAsync(200)
    expect([held.at, codeOf(third), third.at, codeOf(other), other.at]).toEqual([
      100,
      'queue-timeout',
      200,
      'queue-timeout',
      200,
    ])
    expect(await p.call(() => 'free again', { key: 'b' })).toBe('free again')
    await world.advanceAsync(1000)
    expect([second.value, second.at, leftIn(world, p)]).toEqual(['second', 1100, NOTHING])
  })
})

describe('shadow, through a pipeline', () => {
  test('decides and counts, and never refuses', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [shadow({ of: bulkhead({ slots: 1 }) })], { runtime: world })
    const fates = Array.from({ length: 5 }, (_, i) => fateOf(p.call(takes(world, 10, i))))
    expect(layerOf(p, 'shadow')).toMatchObject({
      wouldRefuse: [{ path: 'p/shadow/bulkhead', reason: 'full', count: 4 }],
      of: { used: 1 },
    })
    await world.advanceAsync(10)
    expect([fates.map((f) => f.value), leftIn(world, p)]).toEqual([[0, 1, 2, 3, 4], NOTHING])
  })

  test('a shadow breaker learns from what it admitted, and opens in the shadow', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [shadow({ of: breaker({ consecutive: 2, openFor: '1s', jitter: 0, probes: 1 }) })], {
      runtime: world,
    })
    for (let i = 0; i < 4; i++) expect((await p.outcome(down)).ran).toBe(true)
    expect(layerOf(p, 'shadow')).toMatchObject({ of: { state: 'open' }, wouldRefuse: [{ reason: 'open', count: 2 }] })
    world.advance('1s')
    expect(await p.call(() => 1)).toBe(1)
    expect(layerOf(p, 'shadow')).toMatchObject({ of: { state: 'closed' } })
  })

  test('holds what its gate holds', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [shadow({ of: bulkhead({ slots: 2 }) }), timeout({ after: 10 })], { runtime: world })
    const fate = fateOf(p.call(takes(world, 100, 'late')))
    void fateOf(p.call(hangs, { signal: AbortSignal.abort() }))
    await world.advanceAsync(10)
    expect([codeOf(fate), leftIn(world, p).used]).toEqual(['timeout', 1])
    await world.advanceAsync(90)
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('a shadow of a keyed gate, and a key of shadows', async () => {
    const world = new VirtualRuntime()
    for (const layer of [
      shadow({ of: keyed({ of: rateLimit({ rate: 1, per: '1h' }) }) }),
      keyed({ of: shadow({ of: rateLimit({ rate: 1, per: '1h' }) }) }),
    ]) {
      const p = pipeline('p', [layer], { runtime: world })
      for (const key of ['a', 'a', 'b', 'a']) expect(await p.call(() => key, { key })).toBe(key)
      expect(leftIn(world, p)).toEqual(NOTHING)
    }
  })
})
