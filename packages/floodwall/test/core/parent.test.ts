import { bulkhead, type Call, type Criticality, deadline, pipeline, queue, rateLimit, retry, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, type Fate, fateOf, hangs, leftIn, NOTHING } from './fate.ts'

// A call made on behalf of another: its deadline can only shrink, and it does not outlive who it is made for.

/** Two pipelines in one world; `outer` runs `work` with its call. */
function house(...inner: Parameters<typeof pipeline>[1][number][]) {
  const world = new VirtualRuntime()
  const outer = pipeline('outer', [deadline({ within: 1000 })], { runtime: world })
  return { world, outer, inner: pipeline('inner', inner, { runtime: world }) }
}

/** The parent's set of children, which nobody but the library looks at. */
function children(call: Call): number {
  const aside = (call as unknown as { aside: { children: Set<unknown> | null } | null }).aside
  return aside?.children?.size ?? 0
}

describe('deadline', () => {
  test.each([
    ['nothing said', undefined, 1000],
    ['a longer one', 5000, 1000],
    ['the same', 1000, 1000],
    ['a shorter one', 600, 600],
    ['Infinity', Number.POSITIVE_INFINITY, 1000],
  ])('with %s', async (_, within, expected) => {
    const { outer, inner } = house()
    let seen = 0
    const init = within === undefined ? {} : { within }
    await outer.call((parent) => inner.call((call) => void (seen = call.remainingMs), { parent, ...init }))
    expect(seen).toBe(expected)
  })

  test('what has passed is gone', async () => {
    const { world, outer, inner } = house()
    let seen = 0
    const fate = fateOf(
      outer.call(async (parent) => {
        await new Promise<void>((resolve) => void world.after(700, resolve))
        return inner.call((call) => void (seen = call.remainingMs), { parent })
      }),
    )
    await world.advanceAsync(700)
    expect([fate.state, seen]).toEqual(['answered', 300])
  })

  test('shrinks through three generations and a deadline layer, never grows', async () => {
    const { world, outer } = house()
    const seen: number[] = []
    const middle = pipeline('middle', [deadline({ within: 400 })], { runtime: world })
    const innermost = pipeline('innermost', [deadline({ within: 900 })], { runtime: world })
    await outer.call((a) => {
      seen.push(a.remainingMs)
      return middle.call(
        (b) => {
          seen.push(b.remainingMs)
          return innermost.call((c) => void seen.push(c.remainingMs), { parent: b, within: 700 })
        },
        { parent: a },
      )
    })
    expect(seen).toEqual([1000, 400, 400])
  })

  test('the child of a parent that has answered still ends at the deadline', async () => {
    const { world, outer, inner } = house(deadline({ within: 5000 }))
    let child: Fate | undefined
    await outer.call((parent) => {
      child = fateOf(inner.call(hangs, { parent }), world)
    })
    await world.advanceAsync(1000)
    expect([codeOf(child as Fate), child?.at, leftIn(world).timers]).toEqual(['deadline', 1000, 0])
    // The time was the caller's: it says nothing against whom the child calls. A span of the child's own does.
    expect(inner.inspect()['calls']).toMatchObject({ ignored: 1, timeout: 0 })
    const own = fateOf(inner.call(hangs, { within: 10 }))
    await world.advanceAsync(10)
    expect([codeOf(own), inner.inspect()['calls']]).toMatchObject(['deadline', { ignored: 1, timeout: 1 }])
  })

  test('none left: refused before anything runs', async () => {
    const { world, outer, inner } = house()
    let ran = false
    let parent: Call | undefined
    await outer.call((call) => void (parent = call))
    world.advance(1000)
    const outcome = await inner.outcome(() => (ran = true), { parent: parent as Call })
    expect([ran, outcome.ran, outcome.rejection?.reason, outcome.rejection?.never]).toEqual([
      false,
      false,
      'deadline',
      true,
    ])
    expect([children(parent as Call), leftIn(world, inner, outer)]).toEqual([0, NOTHING])
  })
})

describe('within', () => {
  test.each([
    ['0', 0],
    ['a negative span', -5],
    ['NaN, a deadline that somebody failed to read', Number.NaN],
  ])('of %s leaves no time: refused, nothing runs', async (_, within) => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [], { runtime: world })
    let ran = false
    const fate = fateOf(p.call(() => (ran = true), { within }))
    await world.settle()
    expect([ran, codeOf(fate), leftIn(world, p)]).toEqual([false, 'deadline', NOTHING])
  })

  test('ends the operation with a TimeoutError, queue and backoff included', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [queue({ atMost: '10s' }), bulkhead({ slots: 1 })], { runtime: world })
    const again = pipeline('again', [retry({ backoff: { first: '10s', atMost: '10s' }, attempts: 99 })], {
      runtime: world,
    })
    const holder = fateOf(p.call(hangs), world)
    const queued = fateOf(
      p.call(() => 1, { within: 250 }),
      world,
    )
    const failing = fateOf(
      again.call(() => Promise.reject(new Error('x')), { within: 20_000, idempotent: true }),
      world,
    )
    await world.advanceAsync('20s')
    expect([holder.state, codeOf(queued), queued.at, failing.at <= 20_000]).toEqual(['pending', 'deadline', 250, true])
    expect(leftIn(world, again)).toEqual(NOTHING)
  })

  test('leaves no timer after an answer, an error or a refusal', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [rateLimit({ rate: 1 })], { runtime: world })
    await p.outcome(() => 1, { within: 1000 })
    await p.outcome(() => 1, { within: 1000 })
    await pipeline('q', [], { runtime: world }).outcome(() => Promise.reject(new Error('x')), { within: 1000 })
    expect(leftIn(world, p)).toEqual(NOTHING)
  })
})

describe('cancel and abort flow down', () => {
  test('a timeout of the parent ends its children with the same error, as no evidence', async () => {
    const world = new VirtualRuntime()
    const outer = pipeline('outer', [timeout({ after: 100 })], { runtime: world })
    const inner = pipeline('inner', [bulkhead({ slots: 2 })], { runtime: world })
    const kids: Fate[] = []
    const fate = fateOf(
      outer.call((parent) => {
        kids.push(fateOf(inner.call(hangs, { parent })), fateOf(inner.call(hangs, { parent })))
        return hangs()
      }),
    )
    await world.advanceAsync(100)
    expect([codeOf(fate), kids.every((kid) => kid.value === fate.value)]).toEqual(['timeout', true])
    expect(inner.inspect()['calls']).toMatchObject({ ignored: 2 })
  })

  test('the abort reason reaches a grandchild by identity', async () => {
    const { world, outer, inner } = house()
    const aborter = new AbortController()
    const reason = Symbol('left')
    let deepest: AbortSignal | undefined
    const fate = fateOf(
      outer.call(
        (a) =>
          inner.call(
            (b) =>
              inner.call(
                (c) => {
                  deepest = c.signal
                  return hangs()
                },
                { parent: b },
              ),
            { parent: a },
          ),
        { signal: aborter.signal },
      ),
    )
    aborter.abort(reason)
    await world.settle()
    expect([fate.value, deepest?.reason]).toEqual([reason, reason])
    expect(leftIn(world, outer, inner)).toEqual(NOTHING)
  })

  test('the children of an earlier attempt hear of the end of the operation', async () => {
    const world = new VirtualRuntime()
    const outer = pipeline('outer', [retry({ attempts: 2, backoff: { first: 1 } })], { runtime: world })
    const inner = pipeline('inner', [], { runtime: world })
    const aborter = new AbortController()
    let child: Fate | undefined
    let tries = 0
    const fate = fateOf(
      outer.call(
        (parent) => {
          if (++tries > 1) return hangs()
          child = fateOf(inner.call(hangs, { parent }))
          throw new Error('first')
        },
        { signal: aborter.signal, idempotent: true },
      ),
    )
    await world.advanceAsync(10)
    aborter.abort('left')
    await world.settle()
    expect([tries, fate.value, child?.value]).toEqual([2, 'left', 'left'])
  })

  test('a child of a parent that was cancelled already does not start', async () => {
    const world = new VirtualRuntime()
    const outer = pipeline('outer', [timeout({ after: 100 })], { runtime: world })
    const inner = pipeline('inner', [], { runtime: world })
    let parent: Call | undefined
    const fate = fateOf(
      outer.call((call) => {
        parent = call
        return hangs()
      }),
    )
    await world.advanceAsync(100)
    let ran = false
    const outcome = await inner.outcome(() => (ran = true), { parent: parent as Call })
    expect([ran, outcome.ran, outcome.error === fate.value]).toEqual([false, false, true])
  })

  test('a child that ends leaves the set of its parent', async () => {
    const { world, outer, inner } = house(bulkhead({ slots: 1 }))
    const sizes: number[] = []
    await outer.call(async (parent) => {
      for (let i = 0; i < 3; i++) await inner.call(() => void sizes.push(children(parent)), { parent })
      await inner.outcome(() => Promise.reject(new Error('x')), { parent })
      await inner.outcome(() => 1, { parent, signal: AbortSignal.abort() })
      sizes.push(children(parent))
    })
    expect([sizes, leftIn(world, outer, inner)]).toEqual([[1, 1, 1, 0], NOTHING])
  })
})

describe('criticality', () => {
  test('is inherited, can be said anew, and is critical when nobody says', async () => {
    const { world, outer, inner } = house()
    const sheddable = pipeline('sheddable', [], { runtime: world, criticality: 'sheddable' })
    const seen: Criticality[] = []
    const note = (call: Call) => void seen.push(call.criticality)
    await outer.call(note)
    await sheddable.call(note)
    await outer.call((parent) => sheddable.call((b) => inner.call(note, { parent: b }), { parent }), {
      criticality: 'criticalPlus',
    })
    await outer.call((parent) => inner.call(note, { parent, criticality: 'sheddablePlus' }))
    expect(seen).toEqual(['critical', 'sheddable', 'criticalPlus', 'sheddablePlus'])
  })
})

describe('detach', () => {
  test('has a deadline of its own, does not hear the abort, and is told of', async () => {
    const { world, outer, inner } = house()
    const aborter = new AbortController()
    const events: unknown[] = []
    using _ = outer.on((event) => events.push(event))
    let commit: Fate | undefined
    let left = 0
    const fate = fateOf(
      outer.call(
        (call) => {
          const parent = call.detach({ within: 5000, reason: 'commit' })
          const work = (c: Call) => {
            left = c.remainingMs
            return new Promise((resolve) => void world.after(3000, () => resolve('committed')))
          }
          commit = fateOf(inner.call(work, { parent }), world)
          return hangs()
        },
        { signal: aborter.signal, criticality: 'criticalPlus' },
      ),
    )
    aborter.abort('left')
    await world.advanceAsync(3000)
    expect([fate.value, left, commit?.value]).toEqual(['left', 5000, 'committed'])
    expect(events).toEqual([{ type: 'detached', at: 0, path: 'outer', why: 'commit', withinMs: 5000 }])
  })

  test('its own deadline ends its children, with a TimeoutError', async () => {
    const { world, outer, inner } = house()
    let commit: Fate | undefined
    await outer.call((call) => {
      commit = fateOf(inner.call(hangs, { parent: call.detach({ within: 5000, reason: 'commit' }) }), world)
    })
    await world.advanceAsync(4999)
    expect(commit?.state).toBe('pending')
    await world.advanceAsync(1)
    expect([codeOf(commit as Fate), commit?.at, leftIn(world, inner)]).toEqual(['deadline', 5000, NOTHING])
  })

  test('has a timer only while somebody listens, and ends in time whenever that begins', async () => {
    const { world, outer, inner } = house()
    const within = { within: 5000, reason: 'commit' }
    const call = await outer.call((own) => own)
    const parent = call.detach(within)
    expect(world.timers).toBe(0)
    const first = fateOf(inner.call(hangs, { parent, within: 10 }))
    await inner.call(() => 1, { parent })
    expect(world.timers).toBeGreaterThan(0)
    await world.advanceAsync(10)
    expect([first.state, world.timers]).toEqual(['failed', 0])
    await world.advanceAsync(2990)
    const late = fateOf(inner.call(hangs, { parent }), world)
    await world.advanceAsync(1999)
    expect([late.state, world.timers > 0]).toEqual(['pending', true])
    await world.advanceAsync(1)
    expect([codeOf(late), late.at, world.timers]).toEqual(['deadline', 5000, 0])
    const { signal } = call.detach(within)
    await world.advanceAsync(4999)
    expect(signal.aborted).toBe(false)
    await world.advanceAsync(1)
    expect([signal.aborted, world.timers]).toEqual([true, 0])
  })

  test('keeps what the caller said of criticality, key, cost and data', async () => {
    const { outer } = house()
    let detached: Call | undefined
    const init = { criticality: 'sheddable', key: 'k', cost: 3, data: { my: 'own' }, idempotent: true } as const
    await outer.call((call) => void (detached = call.detach({ within: 1, reason: 'r' })), init)
    const { criticality, key, cost, data, idempotent } = detached as Call
    expect({ criticality, key, cost, data, idempotent }).toEqual(init)
    expect(data).toBe(init.data)
  })
})
