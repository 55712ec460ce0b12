import { breaker, type Call, deadline, isRejected, type Layer, pipeline, shrinkDeadline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, type Fate, fateOf, hangs, layerOf, leftIn, NOTHING, takes } from '../core/fate.ts'

function house() {
  const world = new VirtualRuntime()
  return { world, make: (name: string, ...layers: Layer[]) => pipeline(name, layers, { runtime: world }) }
}

describe('margin', () => {
  test.each([
    ['a caller with more than enough: the own time, whole', 2000, 400],
    ['a caller with just enough for both', 420, 400],
    ['a caller with less: what it has, less the margin', 300, 280],
    ['a caller who just has more than the margin', 21, 1],
  ])('%s', async (_, within, expected) => {
    const { make } = house()
    const [outer, inner] = [make('outer'), make('inner', deadline({ within: 400, margin: 20 }))]
    let left = 0
    await outer.call((parent) => inner.call((call) => void (left = call.remainingMs), { parent }), { within })
    expect(left).toBe(expected)
  })

  test('is kept back of nothing: without a caller the own time is whole', async () => {
    const { make } = house()
    expect(await make('p', deadline({ within: 400, margin: 20 })).call(({ remainingMs }) => remainingMs)).toBe(400)
  })

  test('ends the work early enough for a lesser answer, as no evidence against anybody', async () => {
    const { world, make } = house()
    const outer = make('outer', deadline({ within: 300 }))
    const inner = make('inner', breaker({ consecutive: 1 }), deadline({ within: 400, margin: 20 }))
    const fate = fateOf(
      outer.call((parent) =>
        inner.call(hangs, { parent }).catch((error: unknown) => ['lesser', codeOf(failed(error))]),
      ),
      world,
    )
    await world.advanceAsync(1000)
    expect([fate.at, fate.value]).toEqual([280, ['lesser', 'deadline']])
    expect([inner.inspect()['calls'], layerOf(inner, 'breaker')['state']]).toMatchObject([{ ignored: 1 }, 'closed'])
    expect([layerOf(inner, 'deadline')['expired'], leftIn(world, outer, inner)]).toEqual([0, NOTHING])
  })

  test('refuses when there is no more left than that', async () => {
    const { world, make } = house()
    const inner = make('inner', deadline({ within: 400, margin: 20, floor: 30 }))
    let ran = 0
    const outcomes = [50, 51].map((within) => inner.outcome(() => ran++, { within }))
    expect([await outcomes[0], ran]).toMatchObject([
      { ran: false, rejection: { reason: 'deadline', value: 30, limit: 30 } },
      1,
    ])
    expect(leftIn(world, inner)).toEqual(NOTHING)
  })

  test('leaves no timer when the work is in time, 10,000 times', async () => {
    const { world, make } = house()
    const [outer, inner] = [
      make('outer', deadline({ within: 300 })),
      make('inner', deadline({ within: 400, margin: 20 })),
    ]
    for (let i = 0; i < 10_000; i++) await outer.call((parent) => inner.call(() => i, { parent }))
    expect(leftIn(world, outer, inner)).toEqual(NOTHING)
  })
})

describe("floor: 'p50'", () => {
  /** `n` answers of `p` that take `ms` each, one after the other. */
  async function answers(world: VirtualRuntime, p: ReturnType<typeof pipeline>, ms: number, n: number): Promise<void> {
    for (let i = 0; i < n; i++) {
      const fate = fateOf(p.call(takes(world, ms, i)))
      await world.advanceAsync(ms)
      expect(fate.state).toBe('answered')
    }
  }
  const asked = async (p: ReturnType<typeof pipeline>, within: number): Promise<boolean> => {
    let ran = false
    await p.outcome(() => (ran = true), { within })
    return ran
  }

  test('refuses who has less left than half of the answers took, and says so', async () => {
    const { world, make } = house()
    const p = make('p', deadline({ within: 1000, floor: 'p50' }))
    await answers(world, p, 200, 30)
    world.advance(100)
    expect(layerOf(p, 'deadline')['floorMs']).toBe(200)
    expect([await asked(p, 150), await asked(p, 200), await asked(p, 201)]).toEqual([false, false, true])
    await expect(p.call(() => 1, { within: 150 })).rejects.toThrow(
      '[deadline] refused by p/deadline: 150ms left before the deadline, and half of the answers took 200ms or more; it can never pass',
    )
  })

  test('knows nothing before twenty answers', async () => {
    const { world, make } = house()
    const p = make('p', deadline({ within: 1000, floor: 'p50' }))
    await answers(world, p, 200, 19)
    world.advance(100)
    expect([layerOf(p, 'deadline')['floorMs'], await asked(p, 1)]).toEqual([0, true])
    await answers(world, p, 200, 1)
    world.advance(100)
    expect(await asked(p, 1)).toBe(false)
  })

  test('measures answers, not what failed, was refused or ran out of time', async () => {
    const { world, make } = house()
    const p = make('p', deadline({ within: 500, floor: 'p50' }))
    for (let i = 0; i < 50; i++) {
      void fateOf(p.call(() => Promise.reject(new Error('x'))))
      void fateOf(p.call(hangs))
      await world.advanceAsync(500)
    }
    expect(layerOf(p, 'deadline')).toMatchObject({ floorMs: 0, expired: 50 })
  })

  test('follows when the work becomes faster or slower', async () => {
    const { world, make } = house()
    const p = make('p', deadline({ within: 1000, floor: 'p50' }))
    const floors: unknown[] = []
    for (const ms of [100, 400, 50]) {
      await answers(world, p, ms, 45_000 / ms)
      world.advance(100)
      floors.push(layerOf(p, 'deadline')['floorMs'])
    }
    expect(floors).toEqual([100, 400, 50])
  })

  test('does not lock itself out: where everybody is refused, what was measured is forgotten', async () => {
    const { world, make } = house()
    const p = make('p', deadline({ within: 1000, floor: 'p50' }))
    await answers(world, p, 300, 50)
    world.advance(100)
    const refusedFor: number[] = []
    const from = world.now()
    while (!(await asked(p, 200))) {
      world.advance(1000)
      refusedFor.push(world.now() - from)
    }
    expect(refusedFor.at(-1)).toBeLessThanOrEqual(31_000)
    expect(refusedFor.length).toBeGreaterThan(10)
  })

  test('is not forgotten by a reload', async () => {
    const { world, make } = house()
    const p = make('p', deadline({ within: 1000, floor: 'p50' }))
    await answers(world, p, 200, 30)
    p.reload([deadline({ within: 900, floor: 'p50' })])
    world.advance(100)
    expect(layerOf(p, 'deadline')).toMatchObject({ withinMs: 900, floorMs: 200 })
  })

  test.each(['p5', 'P50', '', -1, null])('is not %j', (floor) => {
    expect(() => deadline({ within: 1, floor: floor as never })).toThrow(
      /deadline\.floor: expected a span such as 250 \(ms\), "250ms" or "1\.5s", or "p50"/,
    )
  })
})

describe('shrinkDeadline', () => {
  const within = async (ms: number | undefined, look: (call: Call) => unknown): Promise<unknown> => {
    const { make } = house()
    return make('shop').call(look, ms === undefined ? {} : { within: ms })
  }

  test.each([
    ['the stage, where more is left', 1000, 250, 250],
    ['the stage, where there is no deadline', undefined, '250ms', 250],
    ['what is left, where that is less', 100, '2s', 100],
  ] as const)('gives %s', async (_, ms, stage, expected) => {
    expect(await within(ms, (call) => shrinkDeadline(call, stage))).toBe(expected)
  })

  test('throws before the stage when no more is left than it needs', async () => {
    const error = await within(200, (call) => shrinkDeadline(call, '1s', '200ms')).catch((reason: unknown) => reason)
    expect(isRejected(error) && [error.code, error.message]).toEqual([
      'deadline',
      '[deadline] refused by shop: 200ms left before the deadline, and the next stage was not begun; it can never pass',
    ])
    expect(await within(201, (call) => shrinkDeadline(call, '1s', '200ms'))).toBe(201)
  })

  test('throws the reason of a call that is over, by identity', async () => {
    const { world, make } = house()
    const aborter = new AbortController()
    const thrown: unknown[] = []
    void fateOf(
      make('p').call(
        async (call) => {
          await takes(world, 100, 0)()
          try {
            shrinkDeadline(call, 50)
          } catch (error) {
            thrown.push(error)
          }
        },
        { signal: aborter.signal },
      ),
    )
    const reason = new Error('left')
    aborter.abort(reason)
    await world.advanceAsync(100)
    expect([thrown.length, thrown[0] === reason]).toEqual([1, true])
  })

  test.each([Number.NaN, -1, '5', 'soon'])('takes no %j for a span', async (stage) => {
    await expect(within(100, (call) => shrinkDeadline(call, stage as number))).rejects.toThrow(
      '[config] shrinkDeadline.stage: expected a span',
    )
  })

  test('stage by stage: each is given its own time or what is left, and the last one is not begun', async () => {
    const { world, make } = house()
    const given: number[] = []
    const fate = fateOf(
      make('db', deadline({ within: 300 })).call(async (call) => {
        for (const [stage, took] of [
          [250, 120],
          [250, 100],
          [250, 79],
          [250, 1],
          [250, 0],
        ] as const) {
          given.push(shrinkDeadline(call, stage, 1))
          await takes(world, took, 0)()
        }
      }),
      world,
    )
    await world.advanceAsync(300)
    expect([given, codeOf(fate), fate.at]).toEqual([[250, 180, 80], 'deadline', 299])
  })
})

describe('detachAtMost', () => {
  const detached = (detachAtMost: number | '10s' | undefined, asked: number) => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [], { runtime: world, ...(detachAtMost !== undefined && { detachAtMost }) })
    return { world, p, call: p.call((call) => call.detach({ within: asked, reason: 'commit' })) }
  }

  test.each([
    [undefined, 5000, 5000],
    [undefined, 3_600_000, 60_000],
    ['10s', 60_000, 10_000],
    [1000, 1000, 1000],
    [1000, Number.POSITIVE_INFINITY, 1000],
    [1000, Number.NaN, 0],
    [1000, -5, 0],
  ] as const)('%s: who asks for %d ms is given %d', async (atMost, asked, given) => {
    const { world, p, call } = detached(atMost, asked)
    expect((await call).remainingMs).toBe(given)
    expect([p.inspect()['detached'], world.events]).toMatchObject([1, [{ type: 'detached', withinMs: given }]])
  })

  test('0: nobody may, and he is told', async () => {
    const { p, call } = detached(0, 1000)
    await expect(call).rejects.toThrow('[config] p.detachAtMost: expected a span above 0: a call detaches, got 0')
    expect(p.inspect()['detached']).toBe(0)
  })

  test('is a span', () => {
    expect(() => pipeline('p', [], { detachAtMost: 'soon' as never })).toThrow(
      '[config] p.detachAtMost: expected a span',
    )
  })
})

function failed(error: unknown): Fate {
  return { state: 'failed', value: error, at: 0 }
}
