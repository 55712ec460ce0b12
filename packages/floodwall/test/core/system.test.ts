import { AsyncLocalStorage } from 'node:async_hooks'
import { systemRuntime } from 'floodwall'
import { describe, expect, test } from 'vitest'

const { now, precise, soon, after, bind, random, emit } = systemRuntime

const turnOver = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Keeps the loop where it is. */
const block = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

describe('the clock', () => {
  test('is the monotonic one, and never goes back, whichever way it is read', () => {
    const reads = Array.from({ length: 10_000 }, (_, i) => (i % 7 === 0 ? precise() : now()))
    expect(reads.every((read, i) => i === 0 || read >= (reads[i - 1] as number))).toBe(true)
    expect(reads.at(-1)).toBeLessThanOrEqual(performance.now())
  })

  test('stands still within a turn, for some uses', async () => {
    await turnOver()
    const first = now()
    block(5)
    expect([now(), now()]).toEqual([first, first])
    expect(precise()).toBeGreaterThan(first)
    await turnOver()
    expect(now()).toBeGreaterThan(first)
  })

  test('moves on in a turn that does not end: a chain of microtasks must not stop time', async () => {
    await turnOver()
    const first = now()
    block(5)
    let uses = 0
    while (now() === first) {
      uses++
      await Promise.resolve()
    }
    expect(uses).toBeLessThan(64)
  })

  test('is not read again after precise() within the turn, but is not behind it either', () => {
    const exact = precise()
    expect(now()).toBeGreaterThanOrEqual(exact)
  })
})

describe('soon', () => {
  test('runs after every promise reaction of the turn, in order, once', async () => {
    const log: string[] = []
    soon(() => {
      log.push('chore 1')
      soon(() => log.push('chore of a chore'))
    })
    soon(() => log.push('chore 2'))
    void Promise.resolve()
      .then(() => Promise.resolve())
      .then(() => log.push('reaction'))
    expect(log).toEqual([])
    await turnOver()
    await turnOver()
    expect(log).toEqual(['reaction', 'chore 1', 'chore 2', 'chore of a chore'])
  })
})

describe('after', () => {
  test('fires once, and its cancel is harmless before, after and twice', async () => {
    let fired = 0
    const cancelLate = after(1, () => fired++)
    const cancelEarly = after(1, () => fired++)
    cancelEarly()
    cancelEarly()
    await new Promise((resolve) => setTimeout(resolve, 10))
    cancelLate()
    expect(fired).toBe(1)
  })
})

test('bind keeps the async context of who asked for it', () => {
  const als = new AsyncLocalStorage<string>()
  const seen: unknown[] = []
  const bound = als.run('mine', () => bind(() => seen.push(als.getStore())))
  als.run('other', bound)
  bound()
  expect(seen).toEqual(['mine', 'mine'])
})

test('chance is uniform in [0, 1), and an event that nobody hears is nothing', () => {
  const numbers = Array.from({ length: 1000 }, random)
  expect(numbers.every((n) => n >= 0 && n < 1)).toBe(true)
  expect(() => emit({ type: 'lapsed', at: 0, path: 'p', why: 'x' })).not.toThrow()
})
