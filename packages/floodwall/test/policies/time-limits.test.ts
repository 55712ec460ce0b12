import { breaker, bulkhead, type Call, deadline, pipeline, queue, retry, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, fateOf, hangs, layerOf, leftIn, NOTHING, takes } from '../core/fate.ts'

// timeout: each attempt. deadline: the whole operation.

describe.each([
  ['timeout', (ms: number) => timeout({ after: ms })],
  ['deadline', (ms: number) => deadline({ within: ms })],
] as const)('%s', (name, limit) => {
  test('frees the caller at its time, with its path and span', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [limit(250)], { runtime: world })
    const fate = fateOf(p.call(hangs), world)
    await world.advanceAsync(249)
    expect(fate.state).toBe('pending')
    await world.advanceAsync(1)
    expect([fate.at, codeOf(fate), fate.value]).toMatchObject([250, name, { path: `p/${name}`, afterMs: 250 }])
    expect(p.inspect()['calls']).toMatchObject({ timeout: 1 })
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('does not touch who is in time, be it by a moment', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [limit(250)], { runtime: world })
    const fates = [fateOf(p.call(takes(world, 249.999, 'a'))), fateOf(p.call(() => 'b'))]
    await world.advanceAsync(1000)
    expect([fates.map((f) => f.value), leftIn(world, p)]).toEqual([['a', 'b'], NOTHING])
  })

  test('an answer and the end of time in the same moment: one of them, once', async () => {
    for (const first of ['work', 'limit']) {
      const world = new VirtualRuntime()
      const p = pipeline('p', [breaker(), limit(100)], { runtime: world })
      let resolve: ((value: string) => void) | undefined
      // The order of the timers is the order in which they are set.
      if (first === 'work') world.after(100, () => resolve?.('in time'))
      const fate = fateOf(p.call(() => new Promise<string>((r) => (resolve = r))))
      await world.settle()
      if (first === 'limit') world.after(100, () => resolve?.('too late'))
      await world.advanceAsync(100)
      expect(fate.state).toBe(first === 'work' ? 'answered' : 'failed')
      expect(leftIn(world, p)).toEqual(NOTHING)
    }
  })

  test('of a thousand calls rings one by one, in the order in which they came', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [limit(100)], { runtime: world })
    const order: number[] = []
    for (let i = 0; i < 1000; i++) {
      p.start(
        () => {},
        () => order.push(i),
      )
      if (i % 100 === 0) world.advance(1)
    }
    expect(world.timers).toBe(1)
    await world.advanceAsync(200)
    expect([order.length, order.every((n, i) => n === i), leftIn(world, p)]).toEqual([1000, true, NOTHING])
  })

  test('leaves no timer when the work ends first, 10,000 times', () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [limit(100)], { runtime: world })
    for (let i = 0; i < 10_000; i++)
      p.start(
        (_, done) =>
          done({
            ok: true,
            value: i,
            error: undefined,
            verdict: 'success',
            ran: true,
            rejection: undefined,
            retryAfterMs: 0,
            noRetry: false,
          }),
        () => {},
      )
    expect(world.timers).toBe(0)
  })
})

describe('deadline', () => {
  test('counts queues, backoffs and all attempts', async () => {
    const world = new VirtualRuntime()
    const layers = [
      deadline({ within: 1000 }),
      retry({ attempts: 50, backoff: { first: 100, atMost: 100 }, budget: { minimum: 100 } }),
      timeout({ after: 300 }),
    ]
    const p = pipeline('p', layers, { runtime: world })
    let count = 0
    const fate = fateOf(
      p.call(() => (count++, hangs()), { idempotent: true }),
      world,
    )
    await world.advanceAsync('5s')
    expect(fate.at).toBeLessThanOrEqual(1000)
    expect(count).toBeGreaterThan(2)
    expect(leftIn(world, p)).toEqual({ ...NOTHING })
  })

  test('that the caller has is kept when it is shorter, and when it is longer it is not', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [deadline({ within: 500 })], { runtime: world })
    const left: number[] = []
    const note = (call: Call) => void left.push(call.remainingMs)
    await p.call(note)
    await p.call(note, { within: 200 })
    await p.call(note, { within: 5000 })
    expect(left).toEqual([500, 200, 500])
    const fate = fateOf(p.call(hangs, { within: 200 }), world)
    await world.advanceAsync(200)
    // Whose time it was says so.
    expect([codeOf(fate), (fate.value as { path: string }).path, layerOf(p, 'deadline')['expired']]).toEqual([
      'deadline',
      'p',
      0,
    ])
  })

  test('two in one pipeline: the shorter one counts, wherever it stands', async () => {
    for (const layers of [
      [100, 200],
      [200, 100],
    ]) {
      const world = new VirtualRuntime()
      const p = pipeline(
        'p',
        layers.map((within) => deadline({ within })),
        { runtime: world },
      )
      const fate = fateOf(p.call(hangs), world)
      await world.advanceAsync(300)
      expect([fate.at, leftIn(world, p)]).toEqual([100, NOTHING])
    }
  })

  test('with less than the floor left, the work is not even begun', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [deadline({ within: 500, floor: 50 })], { runtime: world })
    let ran = 0
    expect(await p.outcome(() => ran++, { within: 50 })).toMatchObject({
      ran: false,
      rejection: { reason: 'deadline', value: 50, limit: 50, never: true },
    })
    await expect(p.call(() => ran++, { within: 20 })).rejects.toThrow(
      '[deadline] refused by p/deadline: 20ms left before the deadline; it can never pass',
    )
    expect([ran, await p.call(() => 'in time', { within: 51 })]).toEqual([0, 'in time'])
  })

  test('of a month does not ring early', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [deadline({ within: '30d' })], { runtime: world })
    const fate = fateOf(p.call(hangs), world)
    await world.advanceAsync('29d')
    expect(fate.state).toBe('pending')
    await world.advanceAsync('1d')
    expect(codeOf(fate)).toBe('deadline')
  })
})

describe('timeout', () => {
  test('inside a queue does not count the waiting, outside it does', async () => {
    const world = new VirtualRuntime()
    const inside = pipeline('inside', [queue({ atMost: '10s' }), bulkhead({ slots: 1 }), timeout({ after: 100 })], {
      runtime: world,
    })
    const outside = pipeline('outside', [timeout({ after: 100 }), queue({ atMost: '10s' }), bulkhead({ slots: 1 })], {
      runtime: world,
    })
    const fates = [inside, outside].map((p) => [80, 80].map((ms) => fateOf(p.call(takes(world, ms, 'ok')), world)))
    await world.advanceAsync(1000)
    expect(fates.map((two) => two.map((f) => [codeOf(f), f.at]))).toEqual([
      [
        ['answered', 80],
        ['answered', 160],
      ],
      [
        ['answered', 80],
        ['timeout', 100],
      ],
    ])
    expect(leftIn(world, inside, outside)).toEqual(NOTHING)
  })

  test('is evidence against the target; the caller’s leaving is not', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [breaker({ consecutive: 2 }), timeout({ after: 100 })], { runtime: world })
    for (let i = 0; i < 5; i++) void fateOf(p.call(hangs, { signal: AbortSignal.abort() }))
    const aborter = new AbortController()
    for (let i = 0; i < 5; i++) void fateOf(p.call(hangs, { signal: aborter.signal }))
    aborter.abort()
    await world.settle()
    expect(layerOf(p, 'breaker')['state']).toBe('closed')
    for (let i = 0; i < 2; i++) void fateOf(p.call(hangs))
    await world.advanceAsync(100)
    expect(layerOf(p, 'breaker')['state']).toBe('open')
  })
})
