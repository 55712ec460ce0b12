import { AdaptiveLimit, type AdaptiveLimitOptions, adaptiveLimit, type Estimator, isConfigError } from 'floodwall'
import { parseLayers } from 'floodwall/rules'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { parse } from '../../src/core/schema.ts'
import { admitted, offered, rejected, VERDICTS } from '../support/asks.ts'
import { Traffic } from './adaptive-limit-traffic.ts'

const ESTIMATORS = ['gradient2', 'knee', 'vegas', 'aimd', 'fixed'] as const

function limit(options: AdaptiveLimitOptions = {}): AdaptiveLimit {
  return new AdaptiveLimit(options, new VirtualRuntime().env('shop/adaptiveLimit'))
}

/** One estimator in the hands of a test. */
class Puppet implements Estimator {
  readonly kind = 'puppet'
  limit: number
  readonly samples: unknown[] = []
  constructor(limit: number) {
    this.limit = limit
  }
  sample(...sample: unknown[]): void {
    this.samples.push(sample)
  }
  inspect() {
    return { kind: this.kind, limit: this.limit }
  }
}

describe('slots', () => {
  test('as many as the estimator says, and one too many', () => {
    const gate = limit({ estimator: 'fixed', initial: 2 })
    admitted(gate, 0)
    const last = admitted(gate, 0)
    const no = rejected(gate, 0)
    expect(no).toMatchObject({ reason: 'full', retryAfterMs: 0, value: 2, limit: 2, never: false })
    expect(no.why).toBe('2 are inside, of 2 that fixed allows')
    last.settle('success', 1, 0)
    admitted(gate, 0)
  })

  test.each([...VERDICTS, 'cancel'] as const)('a slot comes back at the end, whatever it was: %s', (end) => {
    const gate = limit({ estimator: 'fixed', initial: 1 })
    for (let i = 0; i < 3; i++) {
      const permit = admitted(gate, 0)
      expect(gate.available).toBe(0)
      if (end === 'cancel') permit.cancel(0)
      else permit.settle(end, 5, 0)
      expect(gate.available).toBe(1)
    }
  })

  test('it holds, is timed, and a refusal says what calls take', () => {
    const scene = new Traffic(limit({ initial: 4 }))
    scene.keep(100, 20, 'success', 60)
    scene.keep(100, 80, 'success', 4000)
    expect([scene.gate.holds, scene.gate.timed]).toEqual([true, true])
    offered(scene.gate, 1000, scene.now)
    expect(rejected(scene.gate, scene.now).why).toMatch(
      /^\d+ are inside, of \d+ that gradient2 allows; calls need \d+ ms, and wait \d+ ms inside$/,
    )
  })

  test.each([0, -1, 0.5, Number.NaN, Number.NEGATIVE_INFINITY])(
    'an estimator that says %s still lets the only call pass',
    (says) => {
      const gate = limit({ estimator: () => new Puppet(says) })
      admitted(gate, 0)
      expect(rejected(gate, 0).limit).toBe(1)
    },
  )

  test.each([
    [3.9, 3],
    [7, 5],
    [Number.POSITIVE_INFINITY, 5],
    [1, 2],
  ])('an estimator that says %s is kept whole and within 2 and 5: %s', (says, slots) => {
    expect(limit({ estimator: () => new Puppet(says), min: 2, max: 5 }).limit).toBe(slots)
  })

  test('a cold or idle one never refuses its only request', () => {
    for (const estimator of ESTIMATORS) {
      const gate = limit({ estimator, initial: 1 })
      for (let hour = 0; hour < 100; hour++)
        admitted(gate, hour * 3.6e6).settle('timeout', 60_000, hour * 3.6e6 + 60_000)
      admitted(gate, 1e9)
    }
  })
})

describe('what it learns from', () => {
  test.each([
    ['success', 1],
    ['timeout', 1],
    ['overload', 1],
    ['failure', 0],
    ['ignored', 0],
  ] as const)('%s: %s samples', (verdict, samples) => {
    const puppet = new Puppet(10)
    const gate = limit({ estimator: () => puppet })
    admitted(gate, 0)
    admitted(gate, 0).settle(verdict, 12, 34)
    expect(puppet.samples).toEqual(samples === 1 ? [[12, 2, verdict, 34]] : [])
    expect(gate.inspect(34)).toMatchObject({ samples, drops: samples === 1 && verdict !== 'success' ? 1 : 0 })
  })

  test('a success that took longer than slowAfter is a drop; at slowAfter it is not', () => {
    const puppet = new Puppet(10)
    const gate = limit({ estimator: () => puppet, slowAfter: '100ms' })
    admitted(gate, 0).settle('success', 100, 100)
    admitted(gate, 0).settle('success', 100.001, 100)
    expect(puppet.samples).toEqual([
      [100, 1, 'success', 100],
      [100.001, 1, 'timeout', 100],
    ])
  })

  test('at a limit of 1 whoever was refused counts as the second, once', () => {
    const puppet = new Puppet(1)
    const gate = limit({ estimator: () => puppet })
    const alone = admitted(gate, 0)
    rejected(gate, 0)
    alone.settle('success', 5, 5)
    admitted(gate, 5).settle('success', 5, 10)
    expect(puppet.samples).toEqual([
      [5, 2, 'success', 5],
      [5, 1, 'success', 10],
    ])
  })
})

describe('waiting rooms', () => {
  test('a limit that grows wakes more than one for a slot that came back', () => {
    const puppet = new Puppet(1)
    const gate = limit({ estimator: () => puppet })
    const first = admitted(gate, 0)
    let inside = 0
    for (let room = 0; room < 3; room++) gate.onFree(() => void (inside += offered(gate, 1, 0).length))
    puppet.limit = 3
    first.settle('success', 1, 1)
    expect([inside, gate.available]).toEqual([3, 0])
  })

  test('a limit that fell wakes nobody until it has drained', () => {
    const puppet = new Puppet(3)
    const gate = limit({ estimator: () => puppet })
    const inside = offered(gate, 3, 0)
    let woken = 0
    const stop = gate.onFree(() => woken++)
    puppet.limit = 1
    for (const permit of inside.slice(1)) permit.settle('overload', 1, 1)
    expect([woken, gate.available]).toEqual([0, 0])
    inside[0]?.settle('overload', 1, 1)
    expect([woken, gate.available]).toEqual([1, 1])
    stop()
    expect(gate.inspect(1)).toMatchObject({ rooms: 0, used: 0, most: 3 })
  })
})

describe('a reload', () => {
  const env = new VirtualRuntime().env('shop/adaptiveLimit')
  const built = (options: AdaptiveLimitOptions, previous?: AdaptiveLimit) =>
    adaptiveLimit(options).build(env, previous) as AdaptiveLimit

  test('keeps the calls inside, the limit and what was learnt', () => {
    const gate = built({ estimator: 'vegas' })
    const scene = new Traffic(gate)
    scene.keep(100, 20, 'success', 400)
    const learnt = gate.limit
    const permit = admitted(gate, scene.now)
    expect(built({ estimator: 'vegas', backoff: 0.5 }, gate)).toBe(gate)
    expect([gate.limit, gate.available, scene.baselineMs]).toEqual([learnt, learnt - 1, 20])
    built({ estimator: 'vegas', max: 5 }, gate)
    expect([gate.limit, scene.baselineMs]).toEqual([5, 20])
    permit.settle('success', 1, scene.now)
    expect(gate.available).toBe(5)
  })

  test.each(ESTIMATORS)('another estimator begins where the last one was: %s', (estimator) => {
    const gate = built({ estimator: 'aimd', initial: 37 })
    built({ estimator, initial: 9 }, gate)
    expect(gate.limit).toBe(estimator === 'aimd' ? 37 : estimator === 'fixed' ? 9 : 37)
  })

  test('a larger maximum, a higher minimum and more slots take effect at once, and wake', () => {
    for (const estimator of ESTIMATORS) {
      const gate = built({ estimator, initial: 2, max: 2 })
      offered(gate, 2, 0)
      let woken = 0
      gate.onFree(() => woken++)
      built({ estimator, initial: 2, min: 6, max: 9 }, gate)
      expect([gate.limit, woken, gate.available]).toEqual([6, 1, 4])
    }
  })

  test('the same function keeps its estimator, another one makes another', () => {
    const puppet = new Puppet(4)
    const choice = () => puppet
    const gate = built({ estimator: choice })
    built({ estimator: choice, max: 3 }, gate)
    admitted(gate, 0).settle('success', 1, 1)
    expect([gate.limit, puppet.samples.length]).toEqual([3, 1])
    built({ estimator: () => new Puppet(8) }, gate)
    expect(gate.limit).toBe(8)
  })
})

describe('options and documents', () => {
  test('a document says it by name', () => {
    const [layer] = parseLayers([{ kind: 'adaptiveLimit', estimator: 'vegas', max: 64, slowAfter: '2s' }])
    expect(layer?.options).toEqual({ estimator: 'vegas', min: 1, max: 64, backoff: 0.7, slowAfter: 2000 })
  })

  test.each([
    [{ estimator: 'gradient3' }, 'estimator'],
    [{ estimator: 'toString' }, 'estimator'],
    [{ initial: 0 }, 'initial'],
    [{ min: 0 }, 'min'],
    [{ max: 0 }, 'max'],
    [{ min: 5, max: 4 }, 'min of at most max'],
    [{ backoff: 0 }, 'backoff'],
    [{ slowAfter: 0 }, 'slowAfter'],
  ])('%j is refused', (options, named) => {
    let thrown: unknown
    try {
      adaptiveLimit(options as AdaptiveLimitOptions)
    } catch (error) {
      thrown = error
    }
    expect(isConfigError(thrown) && thrown.message).toContain(named)
  })

  test('inspect() keeps the schema, for every estimator', () => {
    for (const estimator of ESTIMATORS) {
      const scene = new Traffic(limit({ estimator }))
      parse(adaptiveLimit.snapshot, scene.gate.inspect(scene.now), 'inspect()')
      scene.keep(30, 20, 'success', 1000)
      scene.keep(30, 20, 'overload', 100)
      parse(adaptiveLimit.snapshot, scene.gate.inspect(scene.now), 'inspect()')
      expect(scene.gate.inspect(scene.now)['estimator']).toMatchObject({ kind: estimator })
    }
  })

  test('it is idle when nobody is inside and what it learnt is a minute old', () => {
    const gate = limit()
    expect(gate.idle(0)).toBe(true)
    const permit = admitted(gate, 0)
    expect(gate.idle(1e6)).toBe(false)
    permit.settle('success', 1, 1e6)
    expect([gate.idle(1e6 + 59_999), gate.idle(1e6 + 60_000)]).toEqual([false, true])
  })
})
