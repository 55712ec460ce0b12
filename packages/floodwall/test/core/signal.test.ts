import { getEventListeners } from 'node:events'
import { bulkhead, type Call, deadline, pipeline, queue, retry, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, fateOf, hangs, leftIn, NOTHING, takes } from './fate.ts'

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

describe('call.signal', () => {
  test('is the same each time, and not aborted on success', async () => {
    const p = pipeline('p', [timeout({ after: 100 })], { runtime: new VirtualRuntime() })
    let call: Call | undefined
    await p.call((c) => void (call = c))
    expect(call?.signal).toBe(call?.signal)
    expect(call?.signal.aborted).toBe(false)
  })

  test('is not aborted on failure either', async () => {
    const p = pipeline('p', [deadline({ within: 100 })], { runtime: new VirtualRuntime() })
    let signal: AbortSignal | undefined
    await fateOf(
      p.call((c) => {
        signal = c.signal
        throw new Error('x')
      }),
    )
    expect(signal?.aborted).toBe(false)
  })

  test('is aborted by a timeout, with the error that the caller gets', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [timeout({ after: 100 })], { runtime: world })
    let call: Call | undefined
    const fate = fateOf(
      p.call((c) => {
        call = c
        void c.signal
        return hangs()
      }),
    )
    await world.advanceAsync(100)
    expect([call?.signal.aborted, call?.signal.reason === fate.value, codeOf(fate)]).toEqual([true, true, 'timeout'])
  })

  test('read for the first time after the end, it is aborted already', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [timeout({ after: 100 })], { runtime: world })
    let call: Call | undefined
    const fate = fateOf(
      p.call((c) => {
        call = c
        return hangs()
      }),
    )
    await world.advanceAsync(100)
    expect([call?.signal.aborted, call?.signal.reason === fate.value]).toEqual([true, true])
  })

  test('belongs to the attempt: the next one has a fresh signal', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [retry({ attempts: 2 }), timeout({ after: 100 })], { runtime: world })
    const signals: AbortSignal[] = []
    const fate = fateOf(
      p.call(
        (c) => {
          signals.push(c.signal)
          return signals.length === 1 ? hangs() : 'b'
        },
        { idempotent: true },
      ),
    )
    await world.advanceAsync(1000)
    expect([fate.value, signals.map((s) => s.aborted)]).toEqual(['b', [true, false]])
  })

  test('parts of an earlier attempt that still run hear of the end of the operation', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [deadline({ within: 1000 }), retry({ attempts: 2, backoff: { first: 1 } })], {
      runtime: world,
    })
    const signals: AbortSignal[] = []
    const fate = fateOf(
      p.call(
        (c) => {
          signals.push(c.signal)
          return signals.length === 1 ? Promise.all([hangs(), Promise.reject(new Error('a part'))]) : hangs()
        },
        { idempotent: true },
      ),
    )
    await world.advanceAsync(1000)
    expect([codeOf(fate), signals.map((s) => s.reason === fate.value)]).toEqual(['deadline', [true, true]])
  })

  test('a listener that ends the work at once does not change the reason', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [timeout({ after: 100 })], { runtime: world })
    const fate = fateOf(
      p.call(
        ({ signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => resolve('too late'))
          }),
      ),
    )
    await world.advanceAsync(100)
    expect(codeOf(fate)).toBe('timeout')
  })
})

describe('init.signal', () => {
  test('aborted already: nothing runs, the reason comes through by identity', async () => {
    const reason = { my: 'reason' }
    const p = pipeline('p', [], { runtime: new VirtualRuntime() })
    let ran = false
    const fate = fateOf(p.call(() => (ran = true), { signal: AbortSignal.abort(reason) }))
    await Promise.resolve()
    await Promise.resolve()
    expect([ran, fate.value === reason]).toEqual([false, true])
    expect(p.inspect()['calls']).toMatchObject({ ignored: 1 })
  })

  test.each([
    ['undefined', undefined],
    ['null', null],
    ['0', 0],
    ['a string', 'x'],
    ['an error', new Error('x')],
  ])('a reason of %s arrives as the platform gives it', async (_, reason) => {
    const aborter = new AbortController()
    const p = pipeline('p', [], { runtime: new VirtualRuntime() })
    const fate = fateOf(p.call(hangs, { signal: aborter.signal }))
    aborter.abort(reason)
    await Promise.resolve()
    await Promise.resolve()
    expect([fate.state, fate.value === aborter.signal.reason]).toEqual(['failed', true])
  })

  test('during the work: the work hears of it, the caller is free', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [bulkhead({ slots: 1 })], { runtime: world })
    const aborter = new AbortController()
    let inner: AbortSignal | undefined
    const fate = fateOf(
      p.call(
        (c) => {
          inner = c.signal
          return takes(world, 50, 'late')()
        },
        { signal: aborter.signal },
      ),
    )
    aborter.abort('left')
    await world.settle()
    expect([fate.value, inner?.reason, listeners(aborter.signal)]).toEqual(['left', 'left', 0])
    await world.advanceAsync(50)
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('in the waiting room, and in the wait between attempts', async () => {
    const world = new VirtualRuntime()
    const room = pipeline('room', [queue(), bulkhead({ slots: 1 })], { runtime: world })
    const again = pipeline('again', [retry({ backoff: { first: '1s' } })], { runtime: world })
    const aborter = new AbortController()
    const { signal } = aborter
    const holder = fateOf(room.call(takes(world, 500, 'held')))
    const waiting = fateOf(
      room.call(() => 1, { signal }),
      world,
    )
    const failing = fateOf(
      again.call(() => Promise.reject(new Error('x')), { signal, idempotent: true }),
      world,
    )
    await world.settle()
    expect([leftIn(world, room, again).waiting, listeners(signal)]).toEqual([2, 2])
    aborter.abort('left')
    await world.settle()
    expect([waiting.value, failing.value, listeners(signal)]).toEqual(['left', 'left', 0])
    await world.advanceAsync(500)
    expect([holder.value, leftIn(world, room, again)]).toEqual(['held', NOTHING])
  })

  test('from inside the work, before it has returned', async () => {
    const aborter = new AbortController()
    const p = pipeline('p', [bulkhead({ slots: 1 })], { runtime: new VirtualRuntime() })
    const fate = fateOf(
      p.call(
        () => {
          aborter.abort('myself')
          return 'answer'
        },
        { signal: aborter.signal },
      ),
    )
    await Promise.resolve()
    await Promise.resolve()
    expect([fate.value, leftIn(undefined, p)]).toEqual(['myself', NOTHING])
  })

  test.each([
    ['an answer', () => 1],
    ['an error', () => Promise.reject(new Error('x'))],
    [
      'a throw',
      () => {
        throw new Error('x')
      },
    ],
  ])('after %s no listener is left', async (_, work) => {
    const { signal } = new AbortController()
    const p = pipeline('p', [retry({ attempts: 2 }), timeout({ after: 100 })], { runtime: new VirtualRuntime() })
    for (let i = 0; i < 20; i++) await p.call(work, { signal }).catch(() => {})
    expect(listeners(signal)).toBe(0)
  })

  test('after a refusal no listener is left', async () => {
    const { signal } = new AbortController()
    const p = pipeline('p', [bulkhead({ slots: 0 })], { runtime: new VirtualRuntime() })
    await p.outcome(() => 1, { signal })
    expect(listeners(signal)).toBe(0)
  })

  test('null is a signal that was not given', async () => {
    const p = pipeline('p', [], { runtime: new VirtualRuntime() })
    expect(await p.call(() => 1, { signal: null, parent: null, within: null } as never)).toBe(1)
  })

  test('one of many calls is one listener, and a warning of Node’s about a leak is none of ours', async () => {
    const warnings: Error[] = []
    const note = (warning: Error) => void warnings.push(warning)
    process.on('warning', note)
    const world = new VirtualRuntime()
    const aborter = new AbortController()
    const p = pipeline('p', [], { runtime: world })
    const ends = Array.from({ length: 1000 }, () => fateOf(p.call(takes(world, 10, 1), { signal: aborter.signal })))
    const hanging = Array.from({ length: 1000 }, () => fateOf(p.call(hangs, { signal: aborter.signal })))
    expect(listeners(aborter.signal)).toBe(1)
    await world.advanceAsync(10)
    expect([ends.every((f) => f.value === 1), listeners(aborter.signal)]).toEqual([true, 1])
    aborter.abort('left')
    await world.settle()
    process.off('warning', note)
    expect([hanging.every((f) => f.value === 'left'), listeners(aborter.signal), warnings]).toEqual([true, 0, []])
  })

  test('an abort after the end changes nothing', async () => {
    const world = new VirtualRuntime()
    const aborter = new AbortController()
    const p = pipeline('p', [bulkhead({ slots: 1 }), timeout({ after: 100 })], { runtime: world })
    let inner: AbortSignal | undefined
    const fate = fateOf(p.call((c) => void (inner = c.signal), { signal: aborter.signal }))
    await world.settle()
    aborter.abort('late')
    await world.settle()
    expect([fate.state, inner?.aborted, leftIn(world, p)]).toEqual(['answered', false, NOTHING])
  })
})
