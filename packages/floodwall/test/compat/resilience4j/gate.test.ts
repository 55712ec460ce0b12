import { ConfigError, type FloodEvent, type Gate, isRejected, keyed, pipeline, shadow } from 'floodwall'
import { builtIn, kindsOf, parseLayers } from 'floodwall/rules'
import { gateContract, VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import {
  IntervalFunction,
  Resilience4jBreaker,
  type Resilience4jEvent,
  type Resilience4jOptions,
  resilience4jBreaker,
  resilience4jClassify,
} from '../../../src/compat/resilience4j/index.ts'
import { LockFreeTimeWindow } from '../../../src/compat/resilience4j/window.ts'
import { parse } from '../../../src/core/schema.ts'
import { admitted, ask, rejected } from '../../support/asks.ts'

const FOUR: Resilience4jOptions = { slidingWindowSize: 4, minimumNumberOfCalls: 4, waitDurationInOpenState: '1s' }

class Scene {
  readonly world = new VirtualRuntime()
  readonly gate: Resilience4jBreaker

  constructor(options: Resilience4jOptions = FOUR) {
    this.gate = new Resilience4jBreaker(options, this.world.env('peer/resilience4jBreaker'))
  }

  fail(times: number): void {
    for (let i = 0; i < times; i++) admitted(this.gate, this.world.now()).settle('failure', 1, this.world.now())
  }

  get state(): string {
    return this.gate.state(this.world.now())
  }
}

describe('it keeps the promises of a gate', () => {
  const settings: Readonly<Record<string, Resilience4jOptions>> = {
    'by default': {},
    'over four calls': FOUR,
    'over two seconds': { slidingWindowType: 'TIME_BASED', slidingWindowSize: 2, minimumNumberOfCalls: 2 },
    'with timers': {
      ...FOUR,
      automaticTransitionFromOpenToHalfOpenEnabled: true,
      maxWaitDurationInHalfOpenState: '1s',
      permittedNumberOfCallsInHalfOpenState: 1,
    },
    'half-open from the start': { initialState: 'HALF_OPEN', permittedNumberOfCallsInHalfOpenState: 2 },
    'with a wait that is none': {
      ...FOUR,
      waitDurationInOpenState: undefined,
      waitIntervalFunctionInOpenState: () => Number.NaN,
    },
  }
  describe.each(Object.entries(settings))('%s', (_, options) => {
    const layer = resilience4jBreaker(options)
    for (const of of [layer, keyed({ of: layer, max: 2 }), shadow({ of: layer })])
      for (const check of gateContract((env) => of.build(env) as Gate)) test(`${of.kind}: ${check.name}`, check.run)
  })
})

describe('verdicts', () => {
  test.each([
    ['success', [1, 0]],
    ['failure', [1, 1]],
    ['timeout', [1, 1]],
    // There every error is one, unless somebody takes it out.
    ['overload', [1, 1]],
    ['ignored', [0, 0]],
  ] as const)('%s counts as %o calls and errors', (verdict, counted) => {
    const { gate, world } = new Scene()
    admitted(gate, 0).settle(verdict, 1, world.now())
    const { bufferedCalls, failedCalls } = gate.metrics(0)
    expect([bufferedCalls, failedCalls]).toEqual(counted)
  })

  test('the refusals say why', () => {
    const { gate, world } = new Scene({ ...FOUR, permittedNumberOfCallsInHalfOpenState: 1 })
    for (let i = 0; i < 4; i++) admitted(gate, 0).settle('failure', 1, 0)
    const open = rejected(gate, 400)
    expect([open.reason, open.retryAfterMs, open.why]).toEqual([
      'open',
      601,
      'OPEN, attempt 1, 100 % failed (limit 50 %)',
    ])
    world.advance(1001)
    admitted(gate, 1001)
    const probing = rejected(gate, 1001)
    expect([probing.reason, probing.why]).toEqual(['probing', 'HALF_OPEN, all 1 permitted calls are out'])
    gate.transitionTo('FORCED_OPEN', 1001)
    expect(rejected(gate, 1001).reason).toBe('forced')
  })

  test('idle is closed, empty, and nobody on his way', () => {
    const { gate } = new Scene()
    expect(gate.idle(0)).toBe(true)
    const permit = admitted(gate, 0)
    expect(gate.idle(0)).toBe(false)
    permit.cancel(0)
    expect(gate.idle(0)).toBe(true)
    admitted(gate, 0).settle('success', 1, 0)
    expect(gate.idle(0)).toBe(false)
  })

  test('inspect() is as published, in every state', () => {
    const { gate } = new Scene()
    for (const state of ['CLOSED', 'OPEN', 'HALF_OPEN', 'DISABLED', 'FORCED_OPEN', 'METRICS_ONLY'] as const) {
      gate.transitionTo(state, 0)
      expect(parse(resilience4jBreaker.snapshot, gate.inspect(0), 'inspect()')).toMatchObject({ state })
    }
  })
})

test('in a pipeline, with their classification', async () => {
  class NotFound extends Error {}
  const shop = pipeline('shop', [resilience4jBreaker({ ...FOUR, slidingWindowSize: 2, minimumNumberOfCalls: 2 })], {
    classify: resilience4jClassify({ ignoreExceptions: [NotFound] }),
  })
  const gate = shop.find('resilience4jBreaker') as Resilience4jBreaker
  const fail = async (error: Error) => {
    throw error
  }
  for (let i = 0; i < 5; i++) await shop.call(() => fail(new NotFound())).catch(() => {})
  expect(gate.attempt).toBe(0)
  for (let i = 0; i < 2; i++) await shop.call(() => fail(new Error('reset'))).catch(() => {})
  expect(isRejected(await shop.call(() => fail(new Error('no'))).catch((error: unknown) => error))).toBe(true)
})

test('the classifier: ignored wins, and what nobody records is a success', () => {
  const classify = resilience4jClassify({
    recordExceptions: [TypeError],
    recordException: (error) => error === 'this',
    ignoreException: (error) => error instanceof TypeError && error.message === 'but not this',
    recordResult: (value) => value === 503,
  })
  const of = (ok: boolean, value: unknown) => classify(ok, value, undefined as never)
  expect([of(true, 200), of(true, 503)]).toEqual(['success', 'failure'])
  expect([of(false, new TypeError('x')), of(false, 'this')]).toEqual(['failure', 'failure'])
  expect([of(false, new TypeError('but not this')), of(false, new Error('other'))]).toEqual(['ignored', 'success'])
  const left = Object.assign(new Error('left'), { name: 'AbortError' })
  expect([of(false, left), resilience4jClassify()(false, left, undefined as never)]).toEqual(['ignored', 'ignored'])
})

describe('what no recording says', () => {
  test('a document may name it', () => {
    const kinds = kindsOf(...builtIn.values(), resilience4jBreaker)
    const [layer] = parseLayers([{ kind: 'resilience4jBreaker', waitDurationInOpenState: '5s' }], 'layers', kinds)
    expect(layer?.options).toMatchObject({ waitDurationInOpenState: 5000, slidingWindowSize: 100 })
  })

  test('a reload keeps state and results, and what is another window begins empty', () => {
    const { gate, world } = new Scene()
    const reload = (options: Resilience4jOptions) =>
      expect(resilience4jBreaker(options).build(world.env(), gate)).toBe(gate)
    admitted(gate, 0).settle('failure', 1, 0)
    reload({ ...FOUR, minimumNumberOfCalls: 2 })
    admitted(gate, 0).settle('failure', 1, 0)
    expect(gate.state(0)).toBe('OPEN')
    reload({ ...FOUR, slidingWindowSize: 5 })
    expect([gate.state(0), gate.metrics(0).bufferedCalls, gate.attempt]).toEqual(['OPEN', 0, 1])
  })

  test('the buckets begin with the seconds of the wall clock, where it is given', () => {
    // 0 of the runtime's clock was 300 ms into a second.
    const { gate } = new Scene({ slidingWindowType: 'TIME_BASED', slidingWindowSize: 2, epochMs: 1_700_000_000_300 })
    gate.onSuccess(1, 600)
    expect(gate.metrics(1699).bufferedCalls).toBe(1)
    expect(gate.metrics(1700).bufferedCalls).toBe(0)
    gate.transitionToOpenStateUntil(1_700_000_005_300, 1700)
    expect([gate.tryAcquirePermission(5000), gate.tryAcquirePermission(5001)]).toEqual([false, true])
  })

  test('a lock-free window begins anew only after a gap of its size and a second', () => {
    const window = new LockFreeTimeWindow(2, 0)
    const calls = (at: number) => window.total(0, at)
    window.record(false, false, 1, 2999)
    expect([calls(3999), calls(4000)]).toEqual([1, 0])
    const other = new LockFreeTimeWindow(2, 0)
    other.record(false, false, 1, 3500)
    expect([other.total(0, 5499), other.total(0, 5500)]).toEqual([1, 0])
  })

  test("a user's function that throws opens and closes nothing for ever", () => {
    const { gate, world } = new Scene({
      ...FOUR,
      waitDurationInOpenState: undefined,
      waitIntervalFunctionInOpenState: () => {
        throw new Error('no idea')
      },
      transitionOnResult: () => {
        throw new Error('nor this')
      },
    })
    for (let i = 0; i < 4; i++) admitted(gate, 0).settle('failure', 1, 0)
    const warnings = world.events.flatMap((event) => (event.type === 'warning' ? [event.why] : []))
    expect(warnings.slice(-1)).toEqual(['waitIntervalFunctionInOpenState: Error: no idea'])
    expect(warnings[0]).toBe('transitionOnResult: Error: nor this')
    expect([gate.tryAcquirePermission(60_000), gate.tryAcquirePermission(60_001)]).toEqual([false, true])
  })

  test('a time that is none opens for the usual wait, and by hand it is refused', () => {
    const { gate } = new Scene({ ...FOUR, transitionOnResult: () => ({ waitMs: Number.NaN }) })
    gate.onError(1, 0, { ok: false, result: 'odd' })
    expect([gate.state(0), gate.inspect(0)['probeInMs']]).toEqual(['OPEN', 1001])
    for (const wait of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => gate.transitionToOpenStateFor(wait, 0)).toThrow('expected milliseconds')
      expect(() => gate.transitionToOpenStateUntil(wait, 0)).toThrow(RangeError)
    }
    expect([gate.attempt, gate.tryAcquirePermission(1001)]).toEqual([1, true])
  })

  test('a listener that throws changes nothing, and one that has gone hears nothing', () => {
    const { gate } = new Scene()
    const heard: Resilience4jEvent['type'][] = []
    gate.onEvent(() => {
      throw new Error('no')
    })
    const { [Symbol.dispose]: stop } = gate.onEvent(({ type }) => heard.push(type))
    gate.onSuccess(1, 0)
    stop()
    gate.onSuccess(1, 0)
    expect(heard).toEqual(['SUCCESS'])
  })

  test('turns that nobody has looked at for a month are not all told, and it can be asked', () => {
    const options = { automaticTransitionFromOpenToHalfOpenEnabled: true, maxWaitDurationInHalfOpenState: 1 }
    const { gate, world } = new Scene({ ...options, waitDurationInOpenState: 1, initialState: 'OPEN' })
    expect(['OPEN', 'HALF_OPEN']).toContain(gate.state(2_592_000_000))
    expect(world.events.length).toBeLessThan(1100)
    expect(gate.tryAcquire(ask(2_592_000_002)).ok).toBe(true)
  })

  test('chance comes from the runtime', () => {
    const waits = [1, 2].map((seed) => {
      const world = new VirtualRuntime({ seed })
      const gate = new Resilience4jBreaker(
        { waitIntervalFunctionInOpenState: IntervalFunction.ofRandomized(10_000) },
        world.env(),
      )
      gate.transitionTo('OPEN', 0)
      return gate.inspect(0)['probeInMs']
    })
    expect(waits[0]).not.toBe(waits[1])
  })

  const events = (world: VirtualRuntime): string[] =>
    world.events.flatMap((event: FloodEvent) =>
      event.type === 'state' ? [`${event.from} -> ${event.to}: ${event.why}`] : [],
    )

  test('changes of state are told to the pipeline too', () => {
    const scene = new Scene()
    scene.fail(4)
    expect(events(scene.world)).toEqual(['CLOSED -> OPEN: attempt 1; 4 of 4 calls failed, 0 were slow'])
  })

  test.each<[Resilience4jOptions, string]>([
    [{ failureRateThreshold: 0 }, 'failureRateThreshold: expected a percentage above 0 and at most 100'],
    [{ failureRateThreshold: 0.5, slowCallRateThreshold: 101 }, 'slowCallRateThreshold'],
    [{ waitDurationInOpenState: 1, waitIntervalFunctionInOpenState: () => 1 }, 'not both'],
    [{ slidingWindowType: 'TIME_BASED', slidingWindowSize: 65_537 }, 'slidingWindowSize of at most 65536'],
    [{ slidingWindowSize: 16_777_217 }, 'slidingWindowSize of at most 16777216'],
    [
      { slidingWindowType: 'TIME_BASED', slidingWindowSize: 1, slidingWindowSynchronizationStrategy: 'LOCK_FREE' },
      'slidingWindowSize of at least 2',
    ],
    [
      { recordExceptions: [TypeError] } as never,
      'resilience4jBreaker.recordExceptions: expected nothing here: a gate sees verdicts',
    ],
    [{ failureRate: 0.5 } as never, 'resilience4jBreaker.failureRate: expected no such field'],
  ])('%o is refused', (options, message) => {
    expect(() => resilience4jBreaker(options)).toThrow(ConfigError)
    expect(() => resilience4jBreaker(options)).toThrow(message)
  })
})
