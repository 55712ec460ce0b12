import { envOf, systemRuntime } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { Cluster } from '../../src/algorithms/cluster/cluster.ts'
import { type CheckOptions, checks } from '../../src/client/index.ts'
import { one, Ward } from './support/ward.ts'

const two = [{ id: 'a' }, { id: 'b' }]

describe('in choice', () => {
  test('the first checks lie anywhere in the first interval, and a minute later they still do', () => {
    const fleet = Array.from({ length: 200 }, (_, i) => ({ id: `h${i}` }))
    const ward = new Ward(fleet, {}, { interval: '5s' })
    const first = ward.pass(5000)
    expect(new Set(first.map(({ id }) => id)).size).toBe(200)
    ward.pass(60_000)
    const from = ward.world.now()
    const later = ward.pass(5000)
    for (const [start, log] of [[1000, first] as const, [from, later] as const]) {
      const buckets = Array.from({ length: 10 }, (_, i) => log.filter((c) => Math.floor((c.at - start) / 500) === i))
      for (const bucket of buckets) {
        expect(bucket.length).toBeGreaterThan(5)
        expect(bucket.length).toBeLessThan(45)
      }
    }
  })

  test('one endpoint is looked at each interval, a tenth more or less', () => {
    const ward = new Ward(one, {}, { interval: '5s' })
    const times = ward.pass(300_000).map(({ at }) => at)
    const gaps = times.slice(1).map((at, i) => at - (times[i] ?? 0))
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(4500)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(5500)
    expect(new Set(gaps).size).toBeGreaterThan(10)
  })

  test('`fall` failures in a row isolate, one pass between them does not', () => {
    const ward = new Ward(one, {}, { interval: '1s', fall: 3 })
    ward.moods.set('a', 'ill')
    while (ward.of().failures !== 2) ward.pass(100)
    ward.moods.set('a', 'well')
    ward.pass(2000)
    ward.moods.set('a', 'ill')
    while (ward.of().failures !== 4) ward.pass(100)
    expect(ward.state()).toBe('closed')
    while (ward.of().failures !== 5) ward.pass(100)
    expect(ward.state()).toBe('open')
    const [isolated] = ward.world.events
    expect(isolated).toMatchObject({ path: 'shop/a', to: 'open', why: '3 checks failed, the last: the check says no' })
  })

  test('isolation by checks does not know the cap: all can be out', () => {
    const ward = new Ward(two, { isolatedAtMost: 0 }, { interval: '1s', fall: 1 })
    for (const { id } of two) ward.moods.set(id, 'ill')
    ward.pass(1100)
    expect(two.map(({ id }) => ward.state(id))).toEqual(['open', 'open'])
    expect(ward.call()).toBe('unreachable')
  })

  test('what an operator has disabled or forced open stays as it is', () => {
    const ward = new Ward(two, {}, { interval: '1s', fall: 1 })
    for (const { id } of two) ward.moods.set(id, 'ill')
    ward.steer('a', 'disabled')
    ward.steer('b', 'forcedOpen')
    expect(ward.pass(10_000).length).toBeGreaterThan(15)
    expect([ward.state('a'), ward.state('b')]).toEqual(['disabled', 'forcedOpen'])
    ward.steer('b', 'closed')
    ward.pass(1100)
    expect(ward.state('b')).toBe('open')
  })
})

describe('isolated', () => {
  test('it sleeps first, must pass `rise` checks, and then calls may probe it', () => {
    const ward = new Ward(one, {}, { interval: '500ms', rise: 2 })
    ward.pass(3000)
    ward.cluster.isolate('a', undefined, 'the test says so')
    expect(ward.pass(999)).toEqual([])
    expect(ward.pass(1)).toHaveLength(1)
    expect(ward.call()).toBe('unreachable')
    expect(ward.state()).toBe('open')
    expect(ward.pass(550)).toHaveLength(1)
    expect(ward.state()).toBe('halfOpen')
    expect(ward.call()).toBe('a')
    expect(ward.state()).toBe('closed')
    expect(ward.of()).toMatchObject({ returns: 1, isolations: 0 })
  })

  test('each failed check isolates it again, for a time that grows as the breaker says', () => {
    const ward = new Ward(one, {}, { interval: '500ms' })
    ward.moods.set('a', 'ill')
    ward.cluster.isolate('a', undefined, 'the test says so')
    const from = ward.world.now()
    const times = ward.pass(40_000).map(({ at }) => at - from)
    expect(times.slice(0, 7)).toEqual([1000, 3000, 7000, 15_000, 23_000, 31_000, 39_000])
  })

  test('a failure between two passes begins anew, and the time has grown', () => {
    const ward = new Ward(one, {}, { interval: '500ms', rise: 2 })
    ward.cluster.isolate('a', undefined, 'the test says so')
    ward.pass(1000)
    ward.moods.set('a', 'ill')
    while (ward.log.length < 2) ward.pass(1)
    ward.moods.set('a', 'well')
    expect(ward.pass(1998)).toEqual([])
    expect(ward.pass(2)).toHaveLength(1)
    expect(ward.state()).toBe('open')
    expect(ward.pass(550)).toHaveLength(1)
    expect(ward.state()).toBe('halfOpen')
  })

  test('probes that fail isolate it again, and the checks begin anew', () => {
    const ward = new Ward(one, {}, { interval: '500ms', rise: 1 })
    ward.cluster.isolate('a', undefined, 'the test says so')
    ward.pass(1000)
    expect(ward.call('failure')).toBe('a')
    expect(ward.state()).toBe('open')
    expect(ward.pass(1999)).toEqual([])
    expect(ward.pass(1)).toHaveLength(1)
    expect(ward.state()).toBe('halfOpen')
  })

  test('a check that began before the isolation says nothing about it', () => {
    for (const well of [true, false]) {
      const ward = new Ward(one, {}, { interval: '500ms', timeout: '2s', rise: 1, fall: 1 })
      ward.moods.set('a', 'hang')
      ward.pass(500)
      ward.cluster.isolate('a', undefined, 'the test says so')
      ward.pass(500)
      ward.answers[0]?.(well)
      expect(ward.pass(499)).toEqual([])
      expect(ward.pass(1)).toHaveLength(1)
      expect(ward.call()).toBe('unreachable')
      ward.answers[1]?.(true)
      expect(ward.call()).toBe('a')
    }
  })

  test('a timer that comes early is no reason to look early', () => {
    const ward = new Ward(one, {}, { interval: '500ms' })
    const { world } = ward
    ward.checks.close()
    const early = { ...world, after: (ms: number, fn: () => void) => world.after(Math.max(0, ms - 1), fn) }
    const again = checks(ward.cluster, { kind: () => void ward.log.push({ id: 'a', at: world.now() }) }, early)
    const until = world.now() + 1000
    ward.cluster.isolate('a', undefined, 'the test says so')
    ward.pass(5000)
    expect(ward.log[0]?.at).toBeGreaterThanOrEqual(until)
    expect(ward.log[0]?.at).toBeLessThan(until + 2)
    again.close()
  })

  test('who waits for checks costs the calls nothing', () => {
    const fleet = Array.from({ length: 100 }, (_, i) => ({ id: `h${i}` }))
    const ward = new Ward(fleet)
    let asked = 0
    const mayProbe = () => {
      asked++
      return false
    }
    ward.checks.close()
    ward.cluster.watch({ mayProbe })
    for (const { id } of fleet.slice(1)) ward.cluster.isolate(id, 10, 'the test says so')
    ward.pass(20)
    asked = 0
    for (let i = 0; i < 100; i++) expect(ward.call()).toBe('h0')
    expect(asked).toBeLessThan(1000)
  })

  test('a named time counts, also when it is named anew and when it is very long', () => {
    const ward = new Ward(one, {}, { interval: '500ms', rise: 1 })
    ward.cluster.isolate('a', 60_000, 'another process says so')
    ward.pass(30_000)
    ward.cluster.isolate('a', 5_000_000_000, 'an operator says so')
    expect(ward.pass(4_999_999_999)).toHaveLength(0)
    expect(ward.pass(1)).toHaveLength(1)
  })

  test('passes checks, fails calls: isolated at most log2(max/min) + t/max + 2 times in t', () => {
    for (const seconds of [10, 100, 1000]) {
      const ward = new Ward(one, { isolatedAtMost: 1 }, { interval: '200ms', rise: 1 })
      for (let t = 0; t < seconds * 20; t++) {
        for (let i = 0; i < 5; i++) ward.call('failure')
        ward.pass(50)
      }
      const opened = ward.world.events.filter((e) => e.type === 'state' && e.to === 'open').length
      expect(opened).toBeGreaterThan(Math.log2(8))
      expect(opened).toBeLessThanOrEqual(Math.log2(8) + seconds / 8 + 2)
    }
  })
})

describe('each check', () => {
  test('has a deadline; what it says after that is not heard, and the next one comes', () => {
    const ward = new Ward(one, {}, { interval: '1s', timeout: '300ms', fall: 2 })
    ward.moods.set('a', 'hang')
    while (ward.log.length === 0) ward.pass(1)
    expect(ward.of()).toMatchObject({ checking: true, nextInMs: 0 })
    ward.pass(299)
    expect(ward.signals[0]?.aborted).toBe(false)
    ward.pass(1)
    expect(ward.signals[0]?.aborted).toBe(true)
    expect(ward.of()).toMatchObject({ checking: false, failures: 1, fault: 'no answer within 300ms' })
    ward.answers[0]?.(true)
    expect(ward.of()).toMatchObject({ checks: 1, failures: 1 })
    ward.pass(1400)
    expect(ward.state()).toBe('open')
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('a sentence')
      },
      'a sentence',
    ],
    [
      'throws with a code',
      () => {
        throw Object.assign(new Error('x'), { code: 'ECONNREFUSED' })
      },
      'ECONNREFUSED',
    ],
    [
      'throws something else',
      () => {
        throw 'words'
      },
      'words',
    ],
    [
      'throws undefined',
      () => {
        throw undefined
      },
      'undefined',
    ],
    ['rejects', () => Promise.reject(new TypeError('fetch failed', { cause: { code: 'EPIPE' } })), 'EPIPE'],
    ['resolves with false', () => Promise.resolve(false), 'the check says no'],
    ['returns nothing', () => {}, ''],
    ['resolves with an answer', () => Promise.resolve('PONG'), ''],
    [
      'has a then that throws',
      () => ({
        get then() {
          throw new Error('a trap')
        },
      }),
      'a trap',
    ],
    [
      'resolves and rejects',
      () => ({
        then: (a: () => void, b: () => void) => {
          a()
          b()
        },
      }),
      '',
    ],
  ])('a function that %s', async (_, kind, fault) => {
    const ward = new Ward(one, {}, { kind, interval: '1s' })
    await ward.world.advanceAsync(1000)
    expect(ward.of()).toMatchObject({ checks: 1, fault })
  })
})

describe('discovery and closing', () => {
  test('a dropped endpoint is not checked any more, and its running check is ended', () => {
    const ward = new Ward(two, {}, { interval: '1s' })
    ward.moods.set('a', 'hang')
    while (!ward.log.some(({ id }) => id === 'a')) ward.pass(10)
    const signal = ward.signals[ward.log.findIndex(({ id }) => id === 'a')]
    ward.cluster.update([{ id: 'b' }])
    expect(signal?.aborted).toBe(true)
    expect(ward.world.timers).toBe(1)
    expect(ward.pass(10_000).every(({ id }) => id === 'b')).toBe(true)
  })

  test('one that leaves while it is isolated and joins again is isolated still, and checked', () => {
    for (const away of [500, 5000]) {
      const ward = new Ward(two, {}, { interval: '1s', rise: 1 })
      ward.cluster.isolate('a', undefined, 'the test says so')
      ward.cluster.update([{ id: 'b' }])
      ward.pass(away)
      ward.cluster.update(two)
      expect(ward.state()).toBe('open')
      ward.pass(1100)
      expect(ward.state()).toBe('halfOpen')
    }
  })

  test('after close() nothing is left, and the isolated ones come back by time alone', () => {
    const ward = new Ward(two, {}, { interval: '1s' })
    ward.moods.set('b', 'hang')
    ward.pass(1500)
    ward.cluster.isolate('a', undefined, 'the test says so')
    ward.checks.close()
    ward.checks.close()
    expect(ward.world.timers).toBe(0)
    expect(ward.pass(1000)).toEqual([])
    ward.cluster.isolate('b', undefined, 'the test says so')
    expect(ward.call()).toBe('a')
  })

  test('who waited for its checks when they were closed is found by the next call', () => {
    const ward = new Ward(one, { whenOut: 'recover' })
    ward.moods.set('a', 'ill')
    ward.cluster.isolate('a', 10, 'the test says so')
    ward.pass(10)
    ward.cluster.isolate('a', 0, 'and again')
    expect(ward.call()).toBe('unreachable')
    ward.checks.close()
    expect(ward.call()).toBe('a')
  })
})

describe('when all are out', () => {
  test('with checks a cluster recovers, without them it panics; what its owner says counts more', () => {
    const outcome = (whenOut: 'recover' | 'panic' | undefined, active: boolean): string => {
      const ward = new Ward(two, whenOut && { whenOut })
      if (!active) ward.checks.close()
      for (const { id } of two) ward.cluster.isolate(id, 3_600_000, 'the test says so')
      return ward.cluster.place(
        { now: ward.world.now(), deadline: Infinity, criticality: 'critical', cost: 1, key: '' },
        () => false,
      ).ok
        ? 'sent'
        : 'refused'
    }
    expect([outcome(undefined, true), outcome(undefined, false)]).toEqual(['refused', 'sent'])
    expect([outcome('panic', true), outcome('recover', false)]).toEqual(['sent', 'refused'])
  })

  test('in a panic nobody is refused while the first ones come back: the rest goes to all', () => {
    const fleet = Array.from({ length: 5 }, (_, i) => ({ id: `h${i}` }))
    const ward = new Ward(fleet, { whenOut: 'panic' })
    for (const { id } of fleet) ward.cluster.isolate(id, 3_600_000, 'the test says so')
    ward.steer('h0', 'closed')
    const placed = Array.from({ length: 500 }, () => {
      const ask = { now: ward.world.now(), deadline: Infinity, criticality: 'critical', cost: 1, key: '' } as const
      return ward.cluster.place(ask, () => false)
    })
    expect(placed.every((p) => p.ok)).toBe(true)
    expect(placed.filter((p) => p.ok && p.member.endpoint.id === 'h0').length).toBeLessThan(350)
  })
})

test.each<[CheckOptions, RegExp]>([
  [{ kind: 'icmp' as never }, /checks\.kind: expected "tcp", "http" or a function, got "icmp"/],
  [{ interval: 0 }, /checks\.interval/],
  [{ timeout: Number.NaN }, /checks\.timeout/],
  [{ rise: 0 }, /checks\.rise: expected a whole number from 1/],
  [{ fall: 1.5 }, /checks\.fall/],
  [{ path: 'health' }, /checks\.path: expected a path that begins with "\/"/],
  [{ path: '/a b' }, /checks\.path/],
  [{ maxBody: 0 }, /checks\.maxBody/],
  [{ intervall: 3 } as never, /checks\.intervall: expected no such field/],
])('%j is refused', (options, message) => {
  const cluster = new Cluster({}, envOf(systemRuntime, 'shop'))
  expect(() => checks(cluster, options)).toThrow(message)
})
