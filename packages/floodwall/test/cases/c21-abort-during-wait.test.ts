import { getEventListeners } from 'node:events'
import { breaker, pipeline, retry, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { fateOf, hangs, layerOf, leftIn, NOTHING } from '../core/fate.ts'
import { child } from './children/child.ts'

// The wait between tries could not be interrupted, so cancelling took the whole delay; and each try left a listener on a long-lived signal.
// (openai-node #2580, vercel/ai #7661, cockatiel #81, #69)

/** Tries that fail, with waits of 3 s exactly: the target says so, and the jitter on top is less than 1 ms. */
function house() {
  const world = new VirtualRuntime()
  const p = pipeline(
    'p',
    [retry({ attempts: 3, backoff: { first: 1, atMost: 1 } }), timeout({ after: '10s' }), breaker()],
    { runtime: world },
  )
  const aborter = new AbortController()
  let tries = 0
  const fail = () => {
    tries++
    return Promise.reject(Object.assign(new Error('down'), { retryAfterMs: 3000 }))
  }
  const call = () => fateOf(p.call(fail, { idempotent: true, signal: aborter.signal }), world)
  return { world, p, aborter, call, tries: () => tries }
}

describe('C21 an abort', () => {
  test('during the wait ends it at once, with the reason by identity, and clears the timer', async () => {
    const { world, p, aborter, call, tries } = house()
    const reason = { custom: true }
    const fate = call()
    await world.advanceAsync(100)
    expect(layerOf(p, 'retry')['waiting']).toBe(1)
    aborter.abort(reason)
    await world.settle()
    expect([fate.value === reason, fate.at, tries()]).toEqual([true, 100, 1])
    expect(leftIn(world, p)).toEqual(NOTHING)
    await world.advanceAsync('1m')
    expect(tries()).toBe(1)
  })

  test('in the same tick as the timer, before it and after it: one settling, nothing left', async () => {
    for (const first of ['abort', 'timer']) {
      const world = new VirtualRuntime()
      ;(world as { random: () => number }).random = () => 0.5
      const p = pipeline('p', [retry({ backoff: { first: 200, atMost: 200 } })], { runtime: world })
      const aborter = new AbortController()
      let tries = 0
      if (first === 'abort') world.after(100, () => aborter.abort('left'))
      const fate = fateOf(
        p.call(() => (++tries === 1 ? Promise.reject(new Error('x')) : hangs()), {
          idempotent: true,
          signal: aborter.signal,
        }),
        world,
      )
      await world.settle()
      if (first === 'timer') world.after(100, () => aborter.abort('left'))
      await world.advanceAsync(100)
      expect([fate.value, fate.at, tries]).toEqual(['left', 100, first === 'abort' ? 1 : 2])
      expect([leftIn(world, p).waiting, world.timers, getEventListeners(aborter.signal, 'abort').length]).toEqual([
        0, 0, 0,
      ])
    }
  })

  test('before the first try: no try at all', async () => {
    const { world, p, aborter, call, tries } = house()
    aborter.abort('left')
    const fate = call()
    await world.settle()
    expect([fate.value, fate.at, tries(), leftIn(world, p)]).toEqual(['left', 0, 0, NOTHING])
  })

  test('in mid-try: the signal of the try fires, with the reason by identity', async () => {
    const { world, p, aborter } = house()
    const reason = Symbol('left')
    let inner: AbortSignal | undefined
    const fate = fateOf(
      p.call(
        (call) => {
          inner = call.signal
          return hangs()
        },
        { idempotent: true, signal: aborter.signal },
      ),
      world,
    )
    await world.advanceAsync(100)
    aborter.abort(reason)
    await world.settle()
    expect([fate.value, fate.at, inner?.reason]).toEqual([reason, 100, reason])
    expect([leftIn(world, p).waiting, world.timers]).toEqual([0, 0])
  })
})

describe('C21 10,000 executions through retry, timeout and breaker', () => {
  test('on one long-lived signal leave no listener and no timer, and warn of nothing', async () => {
    const warnings: Error[] = []
    const note = (warning: Error) => void warnings.push(warning)
    process.on('warning', note)
    const { world, p, aborter, tries } = house()
    let n = 0
    const work = async () => {
      if (++n % 100 === 0) throw Object.assign(new Error('x'), { noRetry: true })
      return n
    }
    for (let i = 0; i < 10_000; i += 100) {
      // A hundred at once, a hundred times.
      await Promise.allSettled(
        Array.from({ length: 100 }, () => p.call(work, { signal: aborter.signal, idempotent: true })),
      )
    }
    await world.settle()
    process.off('warning', note)
    expect([n, tries(), getEventListeners(aborter.signal, 'abort').length, warnings]).toEqual([10_000, 0, 0, []])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test.each(['signal', 'none'])('in a script (%s): no listener, no timer, and it ends by itself', async (mode) => {
    expect(await child('./ends-by-itself.mjs', [mode])).toEqual({ tries: true, failed: 0, listeners: 0, timers: 0 })
  })
})
