import {
  type AdaptiveLimit,
  adaptiveLimit,
  answered,
  bulkhead,
  failed,
  type Next,
  pipeline,
  queue,
  type Snapshot,
  timeout,
  type Verdict,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { VERDICTS } from '../support/asks.ts'

/** Work that takes `ms`, whatever becomes of its caller. */
function stubborn(world: VirtualRuntime, ms: number, verdict: Verdict = 'success'): Next {
  return (call, done) => {
    const end = call.hold()
    world.after(ms, () => {
      done(verdict === 'success' ? answered('done') : failed(new Error(verdict), verdict))
      end(verdict)
    })
  }
}

const work =
  (world: VirtualRuntime, ms: number): Next =>
  (_, done) =>
    void world.after(ms, () => done(answered('done')))

function known(limit: AdaptiveLimit): Record<string, number> {
  return limit.inspect(0)['estimator'] as Record<string, number>
}

describe('in a pipeline', () => {
  test('latency counts from the start of the work: what waited in a queue before it does not', () => {
    const world = new VirtualRuntime()
    const p = pipeline('shop', [queue({ size: 1000, atMost: '1h' }), adaptiveLimit({ min: 2, max: 2 })], {
      runtime: world,
    })
    let answers = 0
    for (let i = 0; i < 200; i++) p.start(work(world, 20), ({ ok }) => (answers += Number(ok)))
    world.advance('10s')
    const limit = p.find('adaptiveLimit') as AdaptiveLimit
    expect(answers).toBe(200)
    // The last one waited for 1980 ms.
    expect(known(limit)).toMatchObject({ baselineMs: 20, latencyMs: 20 })
    expect(limit.inspect(0)).toMatchObject({ used: 0, most: 2, samples: 200, drops: 0, rooms: 0 })
  })

  test('a limit that grows lets waiting calls in, more than one for each that ends', () => {
    const world = new VirtualRuntime()
    const p = pipeline('shop', [queue({ size: 1000, atMost: '1h' }), adaptiveLimit({ initial: 2 })], { runtime: world })
    for (let i = 0; i < 500; i++) p.start(work(world, 20), () => {})
    world.advance('2s')
    const limit = p.find('adaptiveLimit') as AdaptiveLimit
    expect(limit.inspect(0)).toMatchObject({ used: 0, samples: 500 })
    expect(limit.inspect(0)['most']).toBeGreaterThan(16)
  })

  test('a timeout frees the caller; the slot comes back, and the drop is learnt, when the work has ended', () => {
    const world = new VirtualRuntime()
    const p = pipeline('shop', [adaptiveLimit({ initial: 4 }), timeout({ after: 100 })], { runtime: world })
    const seen: Verdict[] = []
    for (let i = 0; i < 4; i++) p.start(stubborn(world, 1000), ({ verdict }) => seen.push(verdict))
    world.advance(150)
    const limit = p.find('adaptiveLimit') as AdaptiveLimit
    expect([seen.length, limit.available, limit.limit]).toEqual([4, 0, 4])
    expect(seen).toEqual(['timeout', 'timeout', 'timeout', 'timeout'])
    world.advance(1000)
    expect(limit.inspect(0)).toMatchObject({ used: 0, samples: 4 })
  })

  test('calls that time out and stop when they are told to bring it down, to 1 at the least', () => {
    const world = new VirtualRuntime()
    const p = pipeline('shop', [adaptiveLimit(), timeout({ after: '1s' })], { runtime: world })
    const hang: Next = (call, done) => {
      call.signal.addEventListener('abort', () => done(failed(call.signal.reason)))
    }
    for (let i = 0; i < 120; i++) {
      for (let k = 0; k < 20; k++) p.start(hang, () => {})
      world.advance('1s')
    }
    const limit = p.find('adaptiveLimit') as AdaptiveLimit
    expect(limit.limit).toBe(1)
    expect(limit.inspect(0)['drops']).toBe(limit.inspect(0)['samples'])
  })

  test('what is refused further in never ran: no sample', () => {
    const world = new VirtualRuntime()
    const p = pipeline('shop', [adaptiveLimit(), bulkhead({ slots: 1 })], { runtime: world })
    for (let i = 0; i < 10; i++) p.start(work(world, 20), () => {})
    world.advance('1s')
    expect((p.find('adaptiveLimit') as AdaptiveLimit).inspect(0)).toMatchObject({ used: 0, samples: 1, drops: 0 })
  })

  test('10,000 calls of every sort, through a queue and a timeout, leave nothing in flight', () => {
    const world = new VirtualRuntime({ seed: 8 })
    const p = pipeline(
      'shop',
      [queue({ size: 20, atMost: 300 }), adaptiveLimit({ max: 30 }), timeout({ after: 200 })],
      {
        runtime: world,
      },
    )
    let ends = 0
    for (let i = 0; i < 10_000; i++) {
      const ms = world.random() * 400
      const verdict = VERDICTS[Math.floor(world.random() * 5)] as Verdict
      const gone = new AbortController()
      p.start(stubborn(world, ms, verdict), () => ends++, world.random() < 0.2 ? { signal: gone.signal } : {})
      if (world.random() < 0.5) world.after(world.random() * 300, () => gone.abort())
      if (world.random() < 0.6) world.advance(world.random() * 20)
      const limit = p.find('adaptiveLimit') as AdaptiveLimit
      expect(limit.limit).toBeLessThanOrEqual(30)
    }
    world.advance('1h')
    const layers = p.inspect()['layers'] as Snapshot[]
    expect(ends).toBe(10_000)
    expect(layers.find(({ kind }) => kind === 'adaptiveLimit')).toMatchObject({ used: 0, rooms: 0 })
  })
})
