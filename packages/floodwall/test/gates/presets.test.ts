import { breaker, ConfigError, type HystrixPreset, presets, type Resilience4jPreset } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { admitted, offered, rejected } from '../support/asks.ts'
import { Scene } from '../support/breakers.ts'

describe('hystrix: 20 calls in 10 s, 50 %, 5 s, one probe', () => {
  test('19 failures are too few, the 20th opens', () => {
    const scene = new Scene(presets.hystrix())
    scene.calls(19, 'failure')
    expect(scene.state).toBe('closed')
    scene.call('failure')
    expect(scene.state).toBe('open')
  })

  test('9 of 20 are too few, 10 of 20 open', () => {
    const healthy = new Scene(presets.hystrix())
    healthy.calls(11, 'success')
    healthy.calls(9, 'failure')
    expect(healthy.state).toBe('closed')
    const broken = new Scene(presets.hystrix())
    broken.calls(10, 'success')
    broken.calls(10, 'failure')
    expect(broken.state).toBe('open')
  })

  test('what is 10 s old counts no more', () => {
    const scene = new Scene(presets.hystrix())
    scene.calls(19, 'failure')
    scene.world.advance('10s')
    scene.call('failure')
    expect(scene.state).toBe('closed')
  })

  test('open for 5 s, then one probe; it closes, or opens for 5 s again', () => {
    const scene = new Scene(presets.hystrix())
    scene.calls(20, 'failure')
    scene.world.advance(4999)
    expect(rejected(scene.gate, scene.now)).toMatchObject({ reason: 'open', retryAfterMs: 1 })
    for (let time = 0; time < 3; time++) {
      scene.world.advance(1)
      expect(offered(scene.gate, 5, scene.now).map((probe) => probe.settle('failure', 1, scene.now))).toHaveLength(1)
      scene.world.advance(4999)
      expect(scene.state).toBe('open')
    }
    scene.world.advance(1)
    scene.call('success')
    expect(scene.state).toBe('closed')
  })

  test('their names, our options', () => {
    const options: HystrixPreset = {
      'circuitBreaker.requestVolumeThreshold': 5,
      'circuitBreaker.sleepWindowInMilliseconds': 1000,
      'circuitBreaker.errorThresholdPercentage': 30,
      'metrics.rollingStats.timeInMilliseconds': 6000,
      'metrics.rollingStats.numBuckets': 6,
    }
    const made = { failureRate: 0.3, over: 6000, buckets: 6, atLeast: 5, openFor: 1000, probes: 1, probeFailureRate: 1 }
    expect(presets.hystrix(options)).toEqual({ ...made, growth: 1, jitter: 0 })
  })
})

describe('resilience4j: 100 of the last 100 calls, 50 %, 60 s, ten probes', () => {
  test('99 failures are too few, the 100th opens for 60 s', () => {
    const scene = new Scene(presets.resilience4j())
    scene.calls(99, 'failure')
    expect(scene.state).toBe('closed')
    scene.call('failure')
    expect(scene.state).toBe('open')
    scene.world.advance('59.999s')
    expect(scene.state).toBe('open')
    scene.world.advance(1)
    const probes = offered(scene.gate, 20, scene.now)
    expect(probes).toHaveLength(10)
    for (const probe of probes) probe.settle('success', 1, scene.now)
    expect(scene.state).toBe('closed')
  })

  test('a timeout counts, however short: nothing is said about slow calls until somebody does', () => {
    const scene = new Scene(presets.resilience4j({ minimumNumberOfCalls: 10 }))
    scene.calls(10, 'timeout')
    expect(scene.state).toBe('open')
    expect(presets.resilience4j()).not.toHaveProperty('slowAfter')
    expect(presets.resilience4j({ slowCallRateThreshold: 100 })).not.toHaveProperty('slowAfter')
    expect(presets.resilience4j({ slowCallDurationThreshold: '2s' })).toMatchObject({ slowRate: 1, slowAfter: 2000 })
  })

  test('slow calls open', () => {
    const scene = new Scene(
      presets.resilience4j({ slowCallDurationThreshold: '2s', slowCallRateThreshold: 50, minimumNumberOfCalls: 4 }),
    )
    for (let i = 0; i < 4; i++) scene.call('success', 2001)
    expect(scene.state).toBe('open')
  })

  test('a window of time', () => {
    const options: Resilience4jPreset = { slidingWindowType: 'TIME_BASED', slidingWindowSize: 5 }
    expect(presets.resilience4j(options)).toMatchObject({ over: 5000, buckets: 5 })
    expect(presets.resilience4j(options)).not.toHaveProperty('lastCalls')
  })

  test('the interval function is asked with 1, 2, ..., and with 1 again after health', () => {
    const asked: number[] = []
    const scene = new Scene(
      presets.resilience4j({
        minimumNumberOfCalls: 1,
        permittedNumberOfCallsInHalfOpenState: 1,
        waitIntervalFunctionInOpenState: (attempt, random) => {
          asked.push(attempt)
          return attempt * 1000 + random()
        },
      }),
    )
    scene.call('failure')
    for (const verdict of ['failure', 'success'] as const) {
      scene.world.advance('1m')
      scene.call(verdict)
    }
    scene.world.advance('1s')
    scene.call('failure')
    // The draw is its middle.
    expect(scene.snapshot.probeInMs).toBe(1000.5)
    expect(asked).toEqual([1, 2, 1])
  })

  test('half-open has a limit where it had one, and goes where it went', () => {
    expect(presets.resilience4j()).not.toHaveProperty('halfOpenAtMost')
    const options: Resilience4jPreset = {
      maxWaitDurationInHalfOpenState: '5s',
      transitionToStateAfterWaitDuration: 'CLOSED',
      automaticTransitionFromOpenToHalfOpenEnabled: true,
      minimumNumberOfCalls: 1,
    }
    const scene = new Scene(presets.resilience4j(options))
    scene.call('failure')
    scene.world.advance('60s')
    // Without any call: it has a timer.
    expect(scene.changes).toEqual(['closed -> open', 'open -> halfOpen'])
    admitted(scene.gate, scene.now)
    scene.world.advance('5s')
    expect(scene.state).toBe('closed')
  })

  test('a probe has as long as makes a call slow there', () => {
    expect(presets.resilience4j({ slowCallDurationThreshold: 50 }).probeLapse).toBe(60_000)
    expect(presets.resilience4j({ slowCallDurationThreshold: '90s' }).probeLapse).toBe(90_000)
  })
})

describe('what has no meaning here says what to use', () => {
  test.each<[string, () => unknown, string]>([
    [
      'a predicate',
      () => presets.resilience4j({ recordException: () => true } as never),
      'presets.resilience4j.recordException: expected nothing here: a gate sees verdicts, not errors; use pipeline(name, layers, { classify })',
    ],
    ['a clock', () => presets.resilience4j({ clock: 1 } as never), "time comes from the pipeline's runtime"],
    ['a state', () => presets.resilience4j({ initialState: 'OPEN' } as never), "call steer('forcedOpen')"],
    [
      'a transition',
      () => presets.resilience4j({ transitionOnResult: () => true } as never),
      'or use floodwall/compat/resilience4j',
    ],
    [
      'both waits',
      () => presets.resilience4j({ waitDurationInOpenState: 1, waitIntervalFunctionInOpenState: () => 1 }),
      'waitDurationInOpenState or waitIntervalFunctionInOpenState, not both',
    ],
    [
      'a slow rate without what is slow',
      () => presets.resilience4j({ slowCallRateThreshold: 80 }),
      'slowCallDurationThreshold with slowCallRateThreshold, at or below your timeouts',
    ],
    [
      'a share for a percentage',
      () => presets.resilience4j({ failureRateThreshold: 0 }),
      'presets.resilience4j.failureRateThreshold: expected a percentage above 0 and at most 100',
    ],
    [
      'our own name',
      () => presets.resilience4j({ failureRate: 0.5 } as never),
      'presets.resilience4j.failureRate: expected no such field; known: failureRateThreshold',
    ],
    [
      'a timeout',
      () => presets.hystrix({ 'execution.isolation.thread.timeoutInMilliseconds': 1000 } as never),
      'presets.hystrix.execution.isolation.thread.timeoutInMilliseconds: expected nothing here: put timeout({ after }) further in',
    ],
    [
      'a thread pool',
      () => presets.hystrix({ coreSize: 10 } as never),
      'expected nothing here: put bulkhead({ slots }) further in',
    ],
    ['force', () => presets.hystrix({ 'circuitBreaker.forceOpen': true } as never), "steer('forcedOpen')"],
    ['a fallback', () => presets.hystrix({ 'fallback.enabled': true } as never), 'catch the RejectedError'],
    [
      'another name',
      () => presets.hystrix({ requestVolumeThreshold: 20 } as never),
      'presets.hystrix.requestVolumeThreshold: expected no such field; known: circuitBreaker.requestVolumeThreshold',
    ],
    [
      'half a percent',
      () => presets.hystrix({ 'circuitBreaker.errorThresholdPercentage': 0.5 }),
      'circuitBreaker.errorThresholdPercentage',
    ],
  ])('%s', (_, make, message) => {
    expect(make).toThrow(ConfigError)
    expect(make).toThrow(message)
  })
})

test('they are options like others', () => {
  const layer = breaker({ ...presets.hystrix(), jitter: 0.1 })
  expect(layer.options).toMatchObject({ atLeast: 20, openFor: 5000, jitter: 0.1 })
})
