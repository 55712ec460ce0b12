import { type Breaker, breaker, bulkhead, deadline, type Layer, pipeline, rateLimit } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, fateOf, layerOf, leftIn, NOTHING } from '../core/fate.ts'

// A breaker let a request through as its probe, and another rule behind it refused: the call never ran, so it never completed, so the
// breaker never left half-open. (Sentinel #1638, sentinel-golang #196)

const down = () => Promise.reject(new Error('down'))
const probes = (free: number) => ({ size: 1, free, running: 0, good: 0, bad: 0 })

test('C03 two breakers: the probe of the first goes back when the second refuses', async () => {
  const world = new VirtualRuntime()
  const of = (openFor: `${number}s`) => breaker({ consecutive: 1, openFor, jitter: 0, probes: 1 })
  const p = pipeline('p', [of('10s'), of('20s')], { runtime: world })
  await p.outcome(down)
  // The first refuses nobody before the second has seen the failure: both open at 0.
  expect([layerOf(p, 'breaker')['state'], layerOf(p, 'breaker-2')['state']]).toEqual(['open', 'open'])
  let reached = 0
  const call = () => p.outcome(() => ++reached)

  await world.advanceAsync('12s')
  expect(await call()).toMatchObject({ ran: false, rejection: { reason: 'open', gate: { path: 'p/breaker-2' } } })
  expect([reached, layerOf(p, 'breaker')['state'], layerOf(p, 'breaker')['probes']]).toEqual([0, 'halfOpen', probes(1)])

  await world.advanceAsync('9s')
  expect(await call()).toMatchObject({ ok: true, value: 1 })
  expect([layerOf(p, 'breaker')['state'], layerOf(p, 'breaker-2')['state']]).toEqual(['closed', 'closed'])

  await world.advanceAsync('1s')
  expect(await call()).toMatchObject({ ok: true, value: 2 })
  expect(leftIn(world, p)).toEqual(NOTHING)
})

describe('C03 a probe that a later stage refuses', () => {
  const first = breaker({ consecutive: 1, openFor: '1s', jitter: 0, probes: 1 })

  /** A pipeline whose breaker has waited its time, in front of `stage`. */
  async function waited(...stage: Layer[]) {
    const world = new VirtualRuntime()
    const p = pipeline('p', [first], { runtime: world })
    await p.outcome(down)
    await world.advanceAsync('1s')
    p.reload([first, ...stage])
    return { world, p, it: p.find('breaker') as Breaker }
  }

  const variations: [string, Layer[], object, unknown][] = [
    ['a full bulkhead', [bulkhead({ slots: 0 })], {}, 'full'],
    ['an empty rate limiter', [rateLimit({ rate: 0, burst: 0 })], {}, 'rate'],
    ['a deadline with too little left', [deadline({ within: '1s', floor: 100 })], { within: 50 }, 'deadline'],
    ['another open breaker', [breaker({ consecutive: 1 })], {}, 'open'],
  ]

  test.each(variations)(
    '%s: the slot goes back, and counts neither as success nor as failure',
    async (_, stage, init, reason) => {
      const { world, p, it } = await waited(...stage)
      if (reason === 'open') (p.find('breaker-2') as Breaker).steer('open')
      for (let i = 0; i < 5; i++) {
        let ran = false
        expect(await p.outcome(() => (ran = true), init)).toMatchObject({ ran: false, rejection: { reason } })
        expect([ran, it.state(), layerOf(p, 'breaker')['probes']]).toEqual([false, 'halfOpen', probes(1)])
      }
      p.reload([first])
      expect(await p.call(() => 'healthy')).toBe('healthy')
      expect([it.state(), leftIn(world, p)]).toEqual(['closed', NOTHING])
    },
  )

  test('a signal that is aborted before the breaker is asked takes no probe at all', async () => {
    const { p, it } = await waited()
    expect(await p.outcome(() => 1, { signal: AbortSignal.abort('left') })).toMatchObject({
      ran: false,
      error: 'left',
      verdict: 'ignored',
    })
    expect([it.state(), layerOf(p, 'breaker')['opened']]).toEqual(['halfOpen', 1])
  })

  test('an abort between the breaker and the work gives the probe back', async () => {
    const aborter = new AbortController()
    const trap: Layer = {
      kind: 'trap',
      options: {},
      build: (env) => ({
        kind: 'trap',
        path: env.path,
        run(call, next, done) {
          aborter.abort('left')
          next(call, done)
        },
      }),
    }
    const { world, p, it } = await waited(trap)
    let ran = false
    expect(await p.outcome(() => (ran = true), { signal: aborter.signal })).toMatchObject({ ran: false, error: 'left' })
    expect([ran, it.state(), layerOf(p, 'breaker')['probes'], leftIn(world, p)]).toEqual([
      false,
      'halfOpen',
      probes(1),
      NOTHING,
    ])
  })

  test('a caller who leaves while the probe runs says nothing, and the next one is a new probe', async () => {
    const { world, p, it } = await waited()
    const aborter = new AbortController()
    const left = fateOf(
      p.call(() => new Promise((resolve) => void world.after(10, () => resolve(1))), { signal: aborter.signal }),
    )
    expect(codeOf(fateOf(p.call(() => 1)))).toBe('pending')
    aborter.abort('left')
    await world.settle()
    expect([left.value, layerOf(p, 'breaker')['probes']]).toEqual(['left', probes(1)])
    expect(await p.call(() => 'healthy')).toBe('healthy')
    await world.advanceAsync(10)
    expect([it.state(), leftIn(world, p)]).toEqual(['closed', NOTHING])
  })
})
