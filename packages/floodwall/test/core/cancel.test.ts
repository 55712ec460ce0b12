import {
  type Ask,
  answered,
  breaker,
  bulkhead,
  failed,
  type Gate,
  gate,
  type Outcome,
  Permit,
  pipeline,
  Rejection,
  rateLimit,
  retry,
  type Verdict,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { layerOf, leftIn, NOTHING } from './fate.ts'

// What never ran is cancelled: token, slot and probe go back. What ran is settled, whatever became of it.

/** A gate that writes down what it is asked and told. */
class Diary implements Gate {
  readonly kind = 'diary'
  readonly path: string
  readonly holds: boolean
  refuses = false
  private readonly lines: string[]

  constructor(path: string, lines: string[], holds = false) {
    this.path = path
    this.lines = lines
    this.holds = holds
  }

  tryAcquire(_ask: Ask): Permit | Rejection {
    this.lines.push(`${this.path}: ${this.refuses ? 'no' : 'yes'}`)
    return this.refuses ? new Rejection(this, 'full', 0, 0, 0) : new Permit(this, 0)
  }

  settled(_permit: Permit, verdict: Verdict): void {
    this.lines.push(`${this.path}: ${verdict}`)
  }

  cancelled(): void {
    this.lines.push(`${this.path}: cancelled`)
  }

  inspect() {
    return { kind: this.kind, path: this.path }
  }
}

function diary(...names: string[]) {
  const lines: string[] = []
  const gates = names.map((name) => new Diary(name, lines))
  return { lines, gates, layers: gates.map((one) => gate(one)) }
}

describe('a group of gates', () => {
  test('is asked outermost first, and all are settled', async () => {
    const { lines, layers } = diary('a', 'b', 'c')
    await pipeline('p', layers, { runtime: new VirtualRuntime() }).call(() => 1)
    expect(lines).toEqual(['a: yes', 'b: yes', 'c: yes', 'c: success', 'b: success', 'a: success'])
  })

  test.each([0, 1, 2])('gives back everything when gate %i says no, and asks nobody further in', async (at) => {
    const { lines, gates, layers } = diary('a', 'b', 'c')
    ;(gates[at] as Diary).refuses = true
    const p = pipeline('p', layers, { runtime: new VirtualRuntime() })
    let ran = false
    const outcome = await p.outcome(() => (ran = true))
    expect([ran, outcome.ran, outcome.verdict, outcome.rejection?.gate]).toEqual([false, false, 'ignored', gates[at]])
    const names = ['a', 'b', 'c'].slice(0, at + 1)
    const taken = names.slice(0, at).reverse()
    expect(lines).toEqual([
      ...names.map((name, i) => `${name}: ${i === at ? 'no' : 'yes'}`),
      ...taken.map((name) => `${name}: cancelled`),
    ])
  })

  test('a refusal behind a policy gives back the permits before it', async () => {
    const { lines, gates, layers } = diary('a', 'b')
    ;(gates[1] as Diary).refuses = true
    const p = pipeline('p', [layers[0] as never, retry(), layers[1] as never], { runtime: new VirtualRuntime() })
    const outcome = await p.outcome(() => 1)
    expect([outcome.ran, lines]).toEqual([false, ['a: yes', 'b: no', 'a: cancelled']])
  })

  test('takes no token, slot or probe when a later gate refuses', async () => {
    const world = new VirtualRuntime()
    const full = bulkhead({ slots: 0 })
    const layers = [
      rateLimit({ rate: 10 }),
      breaker({ consecutive: 1, openFor: 100, jitter: 0, probes: 1 }),
      bulkhead({ slots: 4 }),
    ]
    const p = pipeline('p', layers, { runtime: world })
    await p.call(() => Promise.reject(new Error('down'))).catch(() => {})
    await world.advanceAsync(1000)
    p.reload([...layers, full])
    const before = [layerOf(p, 'rateLimit')['tokens'], layerOf(p, 'bulkhead')['used']]
    for (let i = 0; i < 20; i++) await p.outcome(() => 1)
    expect([layerOf(p, 'rateLimit')['tokens'], layerOf(p, 'bulkhead')['used']]).toEqual(before)
    expect([layerOf(p, 'breaker')['probes'], leftIn(world, p)]).toEqual([
      { size: 1, free: 1, running: 0, good: 0, bad: 0 },
      NOTHING,
    ])
  })
})

describe('ran', () => {
  const ends: [string, Outcome<unknown>, string][] = [
    ['an answer', answered(1), 'success'],
    ['an answer found wanting', answered(1, 'failure'), 'failure'],
    ['an error', failed(new Error('x')), 'failure'],
    ['overload', failed(new Error('x'), 'overload'), 'overload'],
    ['no evidence', failed(new Error('x'), 'ignored'), 'ignored'],
    ['a timeout', failed(new Error('x'), 'timeout'), 'timeout'],
    ['work that knows that nothing was executed', failed(new Error('x'), 'failure', false), 'cancelled'],
  ]

  test.each(ends)('%s: every gate hears the same', (_, outcome, heard) => {
    const { lines, layers } = diary('a', 'b')
    const p = pipeline('p', [layers[0] as never, retry({ attempts: 1 }), layers[1] as never], {
      runtime: new VirtualRuntime(),
    })
    let got: Outcome<unknown> | undefined
    p.start(
      (_call, done) => done(outcome),
      (o) => (got = o),
    )
    expect([lines.slice(2), got?.ran]).toEqual([[`b: ${heard}`, `a: ${heard}`], outcome.ran])
  })

  test('abort before the work: nothing ran, permits are cancelled', async () => {
    const { lines, layers } = diary('a')
    const world = new VirtualRuntime()
    const aborter = new AbortController()
    const p = pipeline('p', layers, { runtime: world })
    // Aborted while the gates are asked: by a listener, or by a gate.
    const trap: Gate = {
      kind: 'trap',
      path: 'trap',
      tryAcquire: () => {
        aborter.abort('left')
        return new Permit(trap, 0)
      },
      settled: () => lines.push('trap: settled'),
      cancelled: () => lines.push('trap: cancelled'),
      inspect: () => ({ kind: 'trap', path: 'trap' }),
    }
    p.reload([...layers, gate(trap)])
    let ran = false
    const outcome = await p.outcome(() => (ran = true), { signal: aborter.signal })
    expect([ran, outcome.ran, outcome.error]).toEqual([false, false, 'left'])
    expect(lines).toEqual(['a: yes', 'trap: cancelled', 'a: cancelled'])
  })

  test('abort of running work: it ran, and is no evidence', async () => {
    const { lines, layers } = diary('a')
    const aborter = new AbortController()
    const p = pipeline('p', layers, { runtime: new VirtualRuntime() })
    const outcome = p.outcome(() => new Promise(() => {}), { signal: aborter.signal })
    aborter.abort('left')
    expect(await outcome).toMatchObject({ ok: false, ran: true, verdict: 'ignored', error: 'left' })
    expect(lines).toEqual(['a: yes', 'a: ignored'])
  })

  test('an abort in the wait between attempts: the operation ran', async () => {
    const world = new VirtualRuntime()
    const { lines, layers } = diary('a')
    const aborter = new AbortController()
    const p = pipeline('p', [...layers, retry()], { runtime: world })
    const outcome = p.outcome(() => Promise.reject(new Error('x')), { idempotent: true, signal: aborter.signal })
    await world.settle()
    aborter.abort('left')
    expect(await outcome).toMatchObject({ ok: false, ran: true, error: 'left' })
    expect([lines, leftIn(world, p)]).toEqual([['a: yes', 'a: ignored'], NOTHING])
  })

  test('an attempt that ran and one that did not: the operation ran', () => {
    const world = new VirtualRuntime()
    const { lines, layers } = diary('a')
    const p = pipeline('p', [...layers, retry({ attempts: 2 })], { runtime: world })
    let tries = 0
    let got: Outcome<unknown> | undefined
    const second = new Error('refused')
    p.start(
      (_call, done) => done(++tries === 1 ? failed(new Error('reset')) : failed(second, 'failure', false)),
      (o) => (got = o),
      {
        idempotent: true,
      },
    )
    world.run()
    expect(got).toMatchObject({ ran: true, verdict: 'failure', error: second })
    expect(lines).toEqual(['a: yes', 'a: failure'])
  })
})
