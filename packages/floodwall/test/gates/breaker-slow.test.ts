import { Breaker, type BreakerOptions, breaker, isConfigError, type Verdict } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { admitted, ask, offered, rejected } from '../support/asks.ts'
import { Scene } from '../support/breakers.ts'

/** Slow calls only: half of four that took longer than 80 ms. */
const SLOW: BreakerOptions = {
  slowRate: 0.5,
  slowAfter: 80,
  lastCalls: 4,
  atLeast: 4,
  openFor: 1000,
  growth: 2,
  jitter: 0,
  probes: 3,
}

/** One call that took so long; the clock stands. */
function took(scene: Scene, tookMs: number, verdict: Verdict = 'success'): void {
  admitted(scene.gate, scene.now).settle(verdict, tookMs, scene.now)
}

describe('the conditions of a breaker', () => {
  test.each([
    ['slowRate alone has no failure rate beside it', {}, 'closed'],
    ['with one named, either opens: failures', { failureRate: 0.5 }, 'open'],
    ['errorCount alone has none either', { slowRate: undefined, errorCount: 5, lastCalls: 9 }, 'closed'],
    ['errorCount is reached', { slowRate: undefined, errorCount: 4 }, 'open'],
    ['consecutive comes on top of either', { consecutive: 4 }, 'open'],
    ['what errors cost comes beside slowRate', { errorCost: { short: { minEvidence: 4 } } }, 'open'],
  ] as const)('%s', (_, more, state) => {
    const scene = new Scene({ ...SLOW, ...more } as BreakerOptions)
    for (let i = 0; i < 4; i++) took(scene, 5, 'failure')
    expect(scene.state).toBe(state)
  })

  test('the defaults of the settings say so', () => {
    const rateOf = (options: BreakerOptions) => (breaker(options).options as { failureRate?: number }).failureRate
    expect(rateOf({})).toBe(0.5)
    expect(rateOf({ consecutive: 3 })).toBe(0.5)
    for (const named of [{ slowRate: 1, slowAfter: 1 }, { errorCount: 1 }, { errorCost: {} }]) {
      expect(rateOf(named)).toBeUndefined()
      expect(rateOf({ ...named, failureRate: 0.7 })).toBe(0.7)
      // Settings are options: made of them, a breaker is the same.
      expect(breaker(breaker(named).options as BreakerOptions).options).toEqual(breaker(named).options)
    }
  })

  test('a slow-ratio rule of Sentinel, said in these words', () => {
    // strategy 0, maxAllowedRtMs 50, threshold 0.5, minRequestAmount 10, statIntervalMs 1000, retryTimeoutMs 3000, one bucket.
    const scene = new Scene({
      slowRate: 0.5,
      slowAfter: 50,
      atLeast: 10,
      over: 1000,
      buckets: 1,
      openFor: 3000,
      growth: 1,
      jitter: 0,
    })
    for (let i = 0; i < 50; i++) took(scene, 50, 'failure')
    expect(scene.state).toBe('closed')
    scene.world.advance(1000)
    for (let i = 0; i < 10; i++) took(scene, i % 2 === 0 ? 5 : 51)
    expect([scene.state, rejected(scene.gate, scene.now).retryAfterMs]).toEqual(['open', 3000])
  })

  test('the window in time is one for all, and forgets', () => {
    const { lastCalls: _, ...rest } = SLOW
    const scene = new Scene({ ...rest, over: 1000, buckets: 10, atLeast: 4 })
    for (let i = 0; i < 3; i++) took(scene, 81)
    scene.world.advance(1000)
    took(scene, 81)
    expect([scene.state, scene.snapshot.slowShare]).toEqual(['closed', 1])
    for (let i = 0; i < 3; i++) took(scene, 81)
    expect(scene.state).toBe('open')
  })

  test.each([
    [{ slowRate: 0.5 }, 'breaker.slowAfter', 'undefined', /slowRate needs to know what is slow/],
    [{ errorCount: 21, lastCalls: 20 }, 'breaker.errorCount', '21', /at most lastCalls \(20\)/],
  ] as const)('%o is refused', (options, path, value, expected) => {
    let caught: unknown
    try {
      breaker(options as BreakerOptions)
    } catch (error) {
      caught = error
    }
    if (!isConfigError(caught)) throw new Error('nothing was refused')
    expect(caught.issues).toEqual([{ path, value, expected: expect.stringMatching(expected) }])
  })
})

describe('what is slow', () => {
  test.each([
    // verdict, at 79, 80 and 81 ms
    ['success', [false, false, true]],
    ['failure', [false, false, true]],
    ['timeout', [false, true, true]],
    ['ignored', [false, true, true]],
    ['overload', [false, false, false]],
  ] as const)('%s around a limit of 80 ms', (verdict, slow) => {
    const seen = [79, 80, 81].map((ms) => {
      const scene = new Scene({ ...SLOW, lastCalls: 1, atLeast: 1 })
      took(scene, ms, verdict)
      return scene.state === 'open'
    })
    expect(seen).toEqual(slow)
  })

  test('the event and the refusal say which condition, the numbers and the window', () => {
    const scene = new Scene({ ...SLOW, failureRate: 0.9 })
    for (const ms of [5, 5, 81, 200]) took(scene, ms)
    const why = '2 of 4 calls took longer than 80ms of the last 4 calls (50 %, limit 50 %)'
    expect(scene.events).toMatchObject([{ type: 'state', to: 'open', why }])
    expect(rejected(scene.gate, scene.now)).toMatchObject({
      reason: 'open',
      why: `open: ${why}`,
      value: 0.5,
      limit: 0.5,
      retryAfterMs: 1000,
    })
  })
})

describe('calls that hang count as slow while they do', () => {
  /** Sentinel #1405, resilience4j #1597: nobody answers, nobody has a timeout. */
  function dead(options: BreakerOptions = {}) {
    const scene = new Scene({ ...SLOW, ...options })
    return { scene, out: offered(scene.gate, 4, scene.now) }
  }

  test('a dead target without timeouts opens it at the next call, an eighth after the limit at the latest', () => {
    const { scene } = dead()
    scene.world.advance(89)
    admitted(scene.gate, scene.now).cancel(scene.now)
    expect(scene.snapshot).toMatchObject({ state: 'closed', hanging: 0, slowShare: 0 })
    scene.world.advance(1)
    expect(scene.snapshot).toMatchObject({ state: 'closed', hanging: 4, slowShare: 1 })
    const no = rejected(scene.gate, scene.now)
    expect(no).toMatchObject({ reason: 'open', retryAfterMs: 1000 })
    expect(no.why).toBe(
      'open: 4 of 4 calls took longer than 80ms of the last 4 calls, 4 of them still running (100 %, limit 50 %)',
    )
    // Nothing runs on a timer.
    expect(scene.world.timers).toBe(0)
  })

  test('without slowRate they do not: only results are evidence', () => {
    const { slowRate: _, ...rest } = SLOW
    const scene = new Scene(rest)
    offered(scene.gate, 100, scene.now)
    scene.world.advance('1h')
    admitted(scene.gate, scene.now)
    expect(scene.snapshot).toMatchObject({ state: 'closed', hanging: 0, slowShare: 0 })
  })

  test('they take part in the minimum: three of them are no verdict, with one result more they are', () => {
    const { scene, out } = dead()
    out.pop()?.cancel(scene.now)
    scene.world.advance(500)
    const fast = admitted(scene.gate, scene.now)
    expect(scene.state).toBe('closed')
    fast.settle('success', 5, scene.now)
    expect(scene.changes).toEqual(['closed -> open'])
  })

  test.each([
    ['success', 1],
    ['failure', 1],
    ['timeout', 1],
    ['ignored', 1],
    ['overload', 0],
    ['cancel', 0],
  ] as const)('one that ends late (%s) is counted once: %i', (end, counted) => {
    const scene = new Scene({ ...SLOW, lastCalls: 10, atLeast: 10, slowRate: 1 })
    const late = admitted(scene.gate, scene.now)
    scene.world.advance(100)
    took(scene, 5)
    expect(scene.snapshot).toMatchObject({ hanging: 1, slowShare: 0.5 })
    if (end === 'cancel') late.cancel(scene.now)
    else late.settle(end, 100, scene.now)
    expect(scene.snapshot).toMatchObject({ hanging: 0, slowShare: counted / (1 + counted) })
    scene.world.advance('1h')
    expect(scene.snapshot.hanging).toBe(0)
  })

  test('a timeout that was too short to be evidence leaves no trace', () => {
    const { scene, out } = dead()
    for (const permit of out) permit.settle('timeout', 10, scene.now)
    scene.world.advance('1h')
    expect(scene.snapshot).toMatchObject({ hanging: 0, slowShare: 0 })
    expect(scene.gate.idle(scene.now)).toBe(true)
  })

  test('those of before a change of state do not count after it', () => {
    const { scene, out } = dead()
    scene.world.advance(500)
    scene.gate.steer('closed')
    expect(scene.snapshot.hanging).toBe(0)
    for (const permit of out) permit.settle('success', 500, scene.now)
    scene.world.advance(500)
    expect(scene.snapshot).toMatchObject({ state: 'closed', hanging: 0, slowShare: 0 })
  })

  test('a target that is back is not opened for those who still wait for the old answers', () => {
    const { scene } = dead()
    scene.world.advance(100)
    rejected(scene.gate, scene.now)
    scene.world.advance(1000)
    for (const probe of offered(scene.gate, 2, scene.now)) probe.settle('success', 5, scene.now)
    for (let i = 0; i < 20; i++) took(scene, 5)
    expect(scene.changes).toEqual(['closed -> open', 'open -> halfOpen', 'halfOpen -> closed'])
  })

  test('metricsOnly tells of them once, and lets pass', () => {
    const scene = new Scene(SLOW)
    scene.gate.steer('metricsOnly')
    offered(scene.gate, 4, scene.now)
    scene.world.advance(100)
    offered(scene.gate, 10, scene.now)
    expect(scene.events.slice(1)).toMatchObject([
      { from: 'metricsOnly', to: 'metricsOnly', why: /^would open: 4 of 4/ },
    ])
  })

  test('a veto of an owner leaves it closed, and calls pass', () => {
    class Vetoed extends Breaker {
      protected override open(): void {}
    }
    const world = new VirtualRuntime()
    const gate = new Vetoed(SLOW, world.env())
    offered(gate, 4, world.now())
    world.advance(500)
    expect(gate.tryAcquire(ask(world.now())).ok).toBe(true)
  })

  test('methods and their normal latencies go on beside it', () => {
    const scene = new Scene({ ...SLOW, slowRate: 1, errorCost: { short: { minEvidence: 5 } }, lastCalls: 1000 })
    const call = (method: string, verdict: Verdict, ms: number) =>
      admitted(scene.gate, scene.now, { method }).settle(verdict, ms, scene.now)
    for (let i = 0; i < 200; i++) {
      call('slow', 'success', 60)
      call('fast', 'success', 1)
    }
    // 60 ms is normal for the one: a failure costs one call. For the other it would be two.
    for (let i = 0; i < 3; i++) call('slow', 'failure', 60)
    const once = scene.snapshot.nearness
    for (let i = 0; i < 3; i++) call('fast', 'failure', 60)
    expect(scene.snapshot.nearness).toBeGreaterThan(2.5 * once)
  })
})

describe('slow probes', () => {
  function halfOpen(options: BreakerOptions = {}): Scene {
    const scene = new Scene({ ...SLOW, ...options })
    scene.gate.steer('open')
    scene.world.advance(1000)
    return scene
  }

  test.each([
    // probes, slowRate, probeFailureRate; results: s, S, f, F as ever; decided by, to
    [3, 0.5, 0.5, 'SS', 'open'],
    [3, 0.5, 0.5, 'ss', 'closed'],
    [3, 0.5, 0.5, 'ff', 'open'],
    [3, 0.5, 0.5, 'FF', 'open'],
    // One slow and one failed: neither share is met, as it would be closed.
    [3, 0.5, 0.5, 'Sf', 'halfOpen'],
    [3, 0.5, 0.5, 'Sfs', 'closed'],
    [3, 0.5, 0.5, 'SfS', 'open'],
    [3, 1, 0.5, 'SSS', 'open'],
    [3, 1, 0.5, 'SSs', 'closed'],
    [3, 0.1, 0.5, 'S', 'open'],
    [3, 1, 1, 'ffS', 'closed'],
    [1, 0.5, 0.5, 'S', 'open'],
    [1, 0.5, 0.5, 's', 'closed'],
  ] as const)('%i probes, slowRate %d, probeFailureRate %d, results %s: %s', (probes, slowRate, rate, results, to) => {
    const scene = halfOpen({ probes, slowRate, probeFailureRate: rate })
    const out = offered(scene.gate, probes, scene.now)
    for (const [i, letter] of [...results].entries()) {
      const verdict = letter.toLowerCase() === 's' ? 'success' : 'failure'
      const ms = letter === letter.toUpperCase() ? 81 : 5
      out[i]?.settle(verdict, ms, scene.now)
      const [sum, size] = scene.probes
      expect(sum).toBe(size)
    }
    expect(scene.state).toBe(to)
  })

  test('say what they were: slow, and by which limit', () => {
    const scene = halfOpen()
    for (const probe of offered(scene.gate, 2, scene.now)) probe.settle('success', 81, scene.now)
    expect(scene.snapshot.why).toBe('2 of 3 probes took longer than 80ms (66.7 %, limit 50 %)')
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(2000)
  })

  test('without slowRate a slow probe is a good one', () => {
    const { slowRate: _, ...rest } = SLOW
    const scene = new Scene(rest)
    scene.gate.steer('halfOpen')
    for (const probe of offered(scene.gate, 2, scene.now)) probe.settle('success', 1e6, scene.now)
    expect(scene.state).toBe('closed')
  })

  test('probes that hang are slow while they do: the next call finds it open again, for longer', () => {
    const scene = halfOpen()
    const out = offered(scene.gate, 2, scene.now)
    scene.world.advance(80)
    admitted(scene.gate, scene.now).cancel(scene.now)
    scene.world.advance(1)
    expect(rejected(scene.gate, scene.now)).toMatchObject({
      reason: 'open',
      retryAfterMs: 2000,
      why: 'open: 2 of 3 probes took longer than 80ms, 2 of them still running (66.7 %, limit 50 %)',
    })
    out[0]?.settle('success', 500, scene.now)
    expect(scene.state).toBe('open')
  })

  test('... or the end of another probe does', () => {
    const scene = halfOpen({ probeFailureRate: 1 })
    const [, , third] = offered(scene.gate, 3, scene.now)
    scene.world.advance(81)
    third?.settle('failure', 5, scene.now)
    expect(scene.state).toBe('open')
  })

  test('a lease that lapses first is no slow probe: nobody knows what became of it', () => {
    const scene = halfOpen({ probeLapse: 50 })
    offered(scene.gate, 3, scene.now)
    scene.world.advance(90)
    expect(offered(scene.gate, 9, scene.now)).toHaveLength(3)
    expect(scene.state).toBe('halfOpen')
  })
})

describe('a reload', () => {
  function reload(scene: Scene, options: BreakerOptions): void {
    breaker(options).build(scene.world.env(), scene.gate)
  }

  test.each([
    ['another slow limit', { slowAfter: 800 }],
    ['no slow rate any more', { slowRate: undefined, failureRate: 0.5 }],
  ] as const)('%s: calls that are out say nothing any more, and nothing is left of them', (_, change) => {
    const scene = new Scene(SLOW)
    const out = offered(scene.gate, 10, scene.now)
    reload(scene, { ...SLOW, ...change } as BreakerOptions)
    scene.world.advance('1h')
    for (const permit of out) permit.settle('failure', 1e6, scene.now)
    expect(scene.snapshot).toMatchObject({ state: 'closed', nearness: 0, hanging: 0 })
    expect(scene.gate.idle(scene.now)).toBe(true)
  })

  test('a slow rate that is new: calls that were out already do not hang, those after it do', () => {
    const { slowRate: _, ...before } = SLOW
    const scene = new Scene({ ...before, failureRate: 1 })
    offered(scene.gate, 10, scene.now)
    reload(scene, SLOW)
    offered(scene.gate, 3, scene.now)
    scene.world.advance('1h')
    expect(scene.snapshot.hanging).toBe(3)
  })

  test('the same conditions: who hangs hangs on', () => {
    const scene = new Scene(SLOW)
    offered(scene.gate, 4, scene.now)
    reload(scene, { ...SLOW, openFor: 7000 })
    scene.world.advance(500)
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(7000)
  })

  test('probes that are out decide as before, whatever becomes of the conditions', () => {
    const scene = new Scene(SLOW)
    scene.gate.steer('halfOpen')
    const out = offered(scene.gate, 2, scene.now)
    reload(scene, { ...SLOW, slowAfter: 800 })
    for (const probe of out) probe.settle('success', 5, scene.now)
    expect(scene.state).toBe('closed')
  })
})
