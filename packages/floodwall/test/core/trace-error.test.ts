import {
  answered,
  around,
  breaker,
  bulkhead,
  type Call,
  type Classify,
  type Done,
  failed,
  type Layer,
  type Outcome,
  type Pipeline,
  pipeline,
  RejectedError,
  retry,
  Semaphore,
  TimeoutError,
  timeout,
  type Verdict,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { codeOf, fateOf, layerOf, leftIn, NOTHING, takes } from './fate.ts'

// Work that answers although it failed says so itself: the caller gets the answer, the layers hear of a failure.

const SHAPES: Readonly<Record<string, readonly Layer[]>> = {
  'no layers': [],
  'gates alone': [breaker({ consecutive: 1 }), bulkhead({ slots: 1 })],
  'gates and policies': [breaker({ consecutive: 1 }), bulkhead({ slots: 1 }), timeout({ after: 100 })],
  'an async policy': [breaker({ consecutive: 1 }), around((call, next) => next(call))],
}

type Work = (call: Call) => unknown
/** Runs `work` through one of the doors; the answer. */
type Door = (p: Pipeline, work: Work) => Promise<unknown>

/** The work in callback style. */
async function answer(work: Work, call: Call, done: Done): Promise<void> {
  let outcome: Outcome<unknown>
  try {
    outcome = answered(await work(call))
  } catch (error) {
    outcome = failed(error)
  }
  done(outcome)
}

const startOf = (p: Pipeline, work: Work): Promise<Outcome<unknown>> =>
  new Promise((resolve) => {
    p.start((call, done) => void answer(work, call, done), resolve)
  })

const DOORS: Readonly<Record<string, Door>> = {
  call: (p, work) => p.call(work),
  outcome: async (p, work) => (await p.outcome(work)).value,
  start: async (p, work) => (await startOf(p, work)).value,
  wrapCall: (p, work) => p.wrapCall(work)(),
  'call, with something said of the call': (p, work) => p.call(work, { key: 'a' }),
}

const WORKS: Readonly<Record<string, (error: unknown) => Work>> = {
  synchronous: (error) => (call) => {
    call.traceError(error)
    return 'value'
  },
  asynchronous: (error) => async (call) => {
    await Promise.resolve()
    call.traceError(error)
    return 'value'
  },
}

const open = (p: Pipeline): unknown => (p.find('breaker') === undefined ? 'open' : layerOf(p, 'breaker')['state'])

describe.each(Object.entries(SHAPES))('%s', (_, layers) => {
  describe.each(Object.entries(DOORS))('%s', (_, door) => {
    test.each(Object.entries(WORKS))('%s work: the caller has his answer, the breaker a failure', async (_, work) => {
      const world = new VirtualRuntime()
      const p = pipeline('p', layers, { runtime: world })
      expect(await door(p, work(new Error('out of stock')))).toBe('value')
      expect(p.inspect()['calls']).toMatchObject({ success: 0, failure: 1 })
      expect([open(p), leftIn(world, p)]).toEqual(['open', NOTHING])
    })
  })

  test('an outcome shows the error beside the answer', async () => {
    const error = new Error('out of stock')
    const p = pipeline('p', layers, { runtime: new VirtualRuntime() })
    const shown = { ok: true, value: 'value', error, verdict: 'failure', ran: true, rejection: undefined }
    expect(await p.outcome(WORKS['asynchronous']!(error))).toMatchObject(shown)
    const other = pipeline('p', layers, { runtime: new VirtualRuntime() })
    expect(await startOf(other, WORKS['synchronous']!(error))).toMatchObject(shown)
  })

  test('work that traces nothing is as it was', async () => {
    const p = pipeline('p', layers, { runtime: new VirtualRuntime() })
    expect(await p.outcome((call) => call.traceError(undefined))).toMatchObject({
      verdict: 'success',
      error: undefined,
    })
    expect(await p.outcome((call) => call.traceError(null))).toMatchObject({ verdict: 'success', error: undefined })
    expect(await p.outcome(() => 1)).toMatchObject({ verdict: 'success', error: undefined })
  })

  test('the first error counts', async () => {
    const p = pipeline('p', layers, { runtime: new VirtualRuntime() })
    const outcome = await p.outcome((call) => {
      call.traceError('first')
      call.traceError('second')
    })
    expect(outcome).toMatchObject({ ok: true, error: 'first', verdict: 'failure' })
  })

  test('an answer that throws wins', async () => {
    const p = pipeline('p', layers, { runtime: new VirtualRuntime() })
    const work = async (call: Call) => {
      call.traceError('traced')
      throw new DOMException('left', 'AbortError')
    }
    expect(await p.outcome(work)).toMatchObject({ ok: false, verdict: 'ignored', error: { message: 'left' } })
    const fate = fateOf(p.call(work))
    await new Promise(setImmediate)
    expect([fate.state, fate.value]).toMatchObject(['failed', { message: 'left' }])
    expect(p.inspect()['calls']).toMatchObject({ ignored: 2, failure: 0 })
  })

  test('after the answer nothing does', async () => {
    const p = pipeline('p', layers, { runtime: new VirtualRuntime() })
    let kept: Call | undefined
    const outcome = await p.outcome((call) => {
      kept = call
      return 'value'
    })
    kept?.traceError('late')
    expect(outcome).toMatchObject({ verdict: 'success', error: undefined })
    expect(p.inspect()['calls']).toMatchObject({ success: 1, failure: 0 })
    expect(await p.call(() => 'next')).toBe('next')
  })
})

describe('the error is judged as if it had been thrown', () => {
  const full = new Semaphore({ slots: 0 }).tryAcquire()
  const table: [string, unknown, Verdict][] = [
    ['an error', new Error('x'), 'failure'],
    ['a string', 'x', 'failure'],
    ['false', false, 'failure'],
    ['a refusal of another pipeline', full.ok ? 0 : new RejectedError(full), 'ignored'],
    ['a timeout of another pipeline', new TimeoutError('timeout', 'p', 1), 'timeout'],
    ['an abort', AbortSignal.abort().reason, 'ignored'],
  ]

  test.each(table)('by default: %s', async (_, error, verdict) => {
    for (const layers of [[], [bulkhead({ slots: 1 })], [timeout({ after: 100 })]]) {
      const p = pipeline('p', layers, { runtime: new VirtualRuntime() })
      expect(await p.outcome((call) => call.traceError(error))).toMatchObject({ ok: true, verdict, error })
      await p.call((call) => call.traceError(error))
      expect(p.inspect()['calls']).toMatchObject({ [verdict]: 2 })
    }
  })

  test.each<[string, Classify, Verdict, number]>([
    ['is asked about the error', (ok) => (ok ? 'success' : 'overload'), 'overload', 2],
    ['may find nothing in it', () => 'success', 'success', 2],
    ['stands where it has found the answer bad', (ok) => (ok ? 'overload' : 'failure'), 'overload', 1],
    ['stands where the answer is no evidence', (ok) => (ok ? 'ignored' : 'failure'), 'ignored', 1],
  ])('a classifier %s', async (_, classify, verdict, times) => {
    for (const layers of [[], [bulkhead({ slots: 1 })], [timeout({ after: 100 })]]) {
      let asked = 0
      const counting: Classify = (...given) => (asked++, classify(...given))
      const p = pipeline('p', layers, { runtime: new VirtualRuntime(), classify: counting })
      expect(await p.call((call) => (call.traceError('x'), 'value'))).toBe('value')
      expect([p.inspect()['calls'], asked]).toMatchObject([{ [verdict]: 1 }, times])
    }
  })

  test('a classifier may trace, too', async () => {
    const p = pipeline('p', [breaker({ consecutive: 1 })], {
      runtime: new VirtualRuntime(),
      classify: (ok, value, call) => {
        if (ok && value === 'sold out') call.traceError(value)
        return ok ? 'success' : 'failure'
      },
    })
    expect(await p.call(() => 'sold out')).toBe('sold out')
    expect(layerOf(p, 'breaker')['state']).toBe('open')
  })

  test('what it asks for is heard', async () => {
    const p = pipeline('p', [], { runtime: new VirtualRuntime() })
    const error = Object.assign(new Error('busy'), { retryAfterMs: 70, noRetry: true })
    const outcome = await p.outcome((call) => call.traceError(error))
    expect(outcome).toMatchObject({ ok: true, retryAfterMs: 70, noRetry: true })
  })
})

describe('a retry', () => {
  type Told = { attempts: number; value: unknown; verdict: Verdict }
  const told = async (idempotent: boolean, failures: number, error: unknown = 'x'): Promise<Told> => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [retry({ attempts: 3, backoff: { first: 1 } })], { runtime: world })
    let attempts = 0
    const work = (call: Call) => {
      if (attempts++ < failures) call.traceError(error)
      return `answer ${attempts}`
    }
    const fate = fateOf(Promise.resolve(p.outcome(work, { idempotent })))
    await world.advanceAsync('1s')
    const { value, verdict } = fate.value as Outcome<unknown>
    expect(leftIn(world, p)).toEqual(NOTHING)
    return { attempts, value, verdict }
  }

  test.each<[string, [boolean, number, unknown?], Told]>([
    ['tries again what is idempotent', [true, 1], { attempts: 2, value: 'answer 2', verdict: 'success' }],
    ['hands over the last answer', [true, 9], { attempts: 3, value: 'answer 3', verdict: 'failure' }],
    ['leaves alone what is not idempotent: it ran', [false, 1], { attempts: 1, value: 'answer 1', verdict: 'failure' }],
    [
      'hears the wish of the error',
      [true, 1, { noRetry: true }],
      { attempts: 1, value: 'answer 1', verdict: 'failure' },
    ],
    [
      'takes an abort for no failure',
      [true, 1, AbortSignal.abort().reason],
      { attempts: 1, value: 'answer 1', verdict: 'ignored' },
    ],
  ])('%s', async (_, given, expected) => {
    expect(await told(...given)).toEqual(expected)
  })

  test('an attempt that was given up marks no other', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [retry({ attempts: 2, backoff: { first: 1 } }), timeout({ after: 50 })], { runtime: world })
    const work = async (call: Call) => {
      const value = await takes(world, call.attempt === 0 ? 80 : 40, call.attempt)()
      if (call.attempt === 0) call.traceError('of the first')
      return value
    }
    const fate = fateOf(Promise.resolve(p.outcome(work, { idempotent: true })))
    await world.advanceAsync('1s')
    expect(fate.value).toMatchObject({ ok: true, value: 1, verdict: 'success', error: undefined })
    expect(leftIn(world, p)).toEqual(NOTHING)
  })
})

test('a timeout is faster: what is traced later is nobody’s', async () => {
  const world = new VirtualRuntime()
  const p = pipeline('p', [bulkhead({ slots: 1 }), timeout({ after: 50 })], { runtime: world })
  const fate = fateOf(
    p.call(async (call) => {
      await takes(world, 80, 0)()
      call.traceError('late')
    }),
  )
  await world.advanceAsync(100)
  expect([codeOf(fate), p.inspect()['calls'], leftIn(world, p)]).toMatchObject(['timeout', { failure: 0 }, NOTHING])
})

test('an answer that is only the head: the breaker hears of the error with it, the slot stays taken', async () => {
  const p = pipeline('p', [breaker({ consecutive: 1 }), bulkhead({ slots: 1 })], { runtime: new VirtualRuntime() })
  let end: ((verdict: Verdict) => void) | undefined
  await p.call((call) => {
    end = call.hold()
    call.traceError('x')
  })
  expect([layerOf(p, 'breaker')['state'], layerOf(p, 'bulkhead')['used']]).toEqual(['open', 1])
  end?.('success')
  expect(layerOf(p, 'bulkhead')['used']).toBe(0)
})

test('wrapCall passes the call, arguments and this, and keeps the types', async () => {
  const p = pipeline('p', [], { runtime: new VirtualRuntime() })
  const shop = {
    name: 'shop',
    stock: p.wrapCall(async function (this: { name: string }, call: Call, sku: string, n: number) {
      return `${this.name} ${sku} ${n} ${call.attempt}`
    }),
  }
  expectTypeOf(shop.stock).parameters.toEqualTypeOf<[string, number]>()
  expectTypeOf(shop.stock).returns.toEqualTypeOf<Promise<string>>()
  expect(await shop.stock('a', 2)).toBe('shop a 2 0')
})
