import { ConfigError } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { BrpcCircuitBreaker, type BrpcErrorRecorder, type BrpcFlags } from '../../../src/compat/brpc/index.ts'
import { smoothOf } from '../../../src/compat/brpc/smooth.ts'
import { type VectorCase, Vectors } from '../../support/vectors.ts'

type Flag = keyof typeof NAMES
type Config = Partial<Record<Flag, number>>
type Window = { samples: number; errors: number; ema_latency_us: number; ema_error_cost_us: number }
type CallEnd = readonly [atUs: number, errorCode: number, latencyUs: number, healthy: 0 | 1]
type Isolation = { isolation_duration_ms: number; isolated_times: number; broken: boolean }
type State = Isolation & { half_open: boolean; half_open_success_count: number; long: Window; short: Window }
type Cycle = {
  op: 'cycle'
  t_us: number
  dt_us: number
  times: number
  seq: readonly (readonly [count: number, errorCode: number, latencyUs: number])[]
  expect: { unhealthy_from: number | null }
}
type Step =
  | CallEnd
  | Cycle
  | { op: 'reset'; t_us: number }
  | { op: 'mark_as_broken'; t_us: number; expect: Partial<State> }
  | { op: 'set_flags'; flags: Config }
  | { op: 'check'; expect: State }

/** Their names and ours. */
const NAMES = {
  circuit_breaker_short_window_size: 'shortWindowSize',
  circuit_breaker_long_window_size: 'longWindowSize',
  circuit_breaker_short_window_error_percent: 'shortWindowErrorPercent',
  circuit_breaker_long_window_error_percent: 'longWindowErrorPercent',
  circuit_breaker_min_error_cost_us: 'minErrorCostUs',
  circuit_breaker_max_failed_latency_mutiple: 'maxFailedLatencyMultiple',
  circuit_breaker_min_isolation_duration_ms: 'minIsolationDurationMs',
  circuit_breaker_max_isolation_duration_ms: 'maxIsolationDurationMs',
  circuit_breaker_epsilon_value: 'epsilonValue',
  circuit_breaker_half_open_window_size: 'halfOpenWindowSize',
} as const

const flagsOf = (config: Config): BrpcFlags =>
  Object.fromEntries(Object.entries(config).map(([name, value]) => [NAMES[name as Flag] ?? name, value]))

const windowOf = (recorder: BrpcErrorRecorder): Window => ({
  samples: recorder.samples,
  errors: recorder.errors,
  ema_latency_us: recorder.emaLatencyUs,
  ema_error_cost_us: recorder.emaErrorCostUs,
})

const stateOf = (breaker: BrpcCircuitBreaker): State => ({
  isolation_duration_ms: breaker.isolationDurationMs,
  isolated_times: breaker.isolatedTimes,
  broken: breaker.broken,
  half_open: breaker.halfOpen,
  half_open_success_count: breaker.halfOpenSuccesses,
  long: windowOf(breaker.long),
  short: windowOf(breaker.short),
})

/** Index of the first unhealthy call, and whether all later ones were unhealthy too. */
function cycled(breaker: BrpcCircuitBreaker, { t_us, dt_us, times, seq }: Cycle): readonly [number | null, boolean] {
  let index = 0
  let from: number | null = null
  let steady = true
  for (let time = 0; time < times; time++) {
    for (const [count, errorCode, latencyUs] of seq) {
      for (let i = 0; i < count; i++, index++) {
        const healthy = breaker.onCallEnd(errorCode, latencyUs, (t_us + index * dt_us) / 1000)
        if (!healthy) from ??= index
        else if (from !== null) steady = false
        calls++
      }
    }
  }
  return [from, steady]
}

const vectors = new Vectors<Config, Step>('brpc-circuit-breaker.json')
let calls = 0

function play(breaker: BrpcCircuitBreaker, step: Step): void {
  if (!('op' in step)) {
    const [atUs, errorCode, latencyUs, healthy] = step
    calls++
    expect(breaker.onCallEnd(errorCode, latencyUs, atUs / 1000)).toBe(healthy === 1)
  } else if (step.op === 'cycle') expect(cycled(breaker, step)).toEqual([step.expect.unhealthy_from, true])
  else if (step.op === 'reset') breaker.reset(step.t_us / 1000)
  else if (step.op === 'set_flags') breaker.setFlags(flagsOf(step.flags))
  else if (step.op === 'check') expect(stateOf(breaker)).toStrictEqual(step.expect)
  else {
    breaker.markAsBroken(step.t_us / 1000)
    expect(stateOf(breaker)).toMatchObject(step.expect)
  }
}

describe('the replica of the circuit breaker replays brpc', () => {
  test.each(vectors.cases)('$name: $description', (recorded) => {
    const breaker = new BrpcCircuitBreaker(flagsOf(recorded.config))
    vectors.replay(recorded, (step) => play(breaker, step))
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches (${calls} calls)`)
    expect(vectors.replayed).toBe(vectors.steps)
    expect(vectors.cases.length).toBe(93)
  })
})

type Derived = { derived: Record<'long_smooth_bits' | 'short_smooth_bits', string> }

function bits(value: number): string {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(value)
  return bytes.toString('hex')
}

describe('the decay per success', () => {
  test('has the recorded bits for every pair of epsilon and window', () => {
    for (const recorded of vectors.cases as (VectorCase<Config, Step> & Derived)[]) {
      const { long, short } = new BrpcCircuitBreaker(flagsOf(recorded.config))
      expect([recorded.name, bits(long.smooth)]).toEqual([recorded.name, recorded.derived.long_smooth_bits])
      expect([recorded.name, bits(short.smooth)]).toEqual([recorded.name, recorded.derived.short_smooth_bits])
    }
  })

  test.each([
    // Bits computed with 60 decimal digits.
    [0.02, 1, '3f947ae147ae147b'],
    [1, 1500, '3ff0000000000000'],
    [0.02, 1500, '3fefeaa9b8abaa04'],
    // Here Math.exp(Math.log(epsilon) / window) is one bit off.
    [0.02, 9, '3fe4b8257765b0e3'],
  ])('epsilon %d over %d calls is %s', (epsilon, window, expected) => {
    expect(bits(smoothOf(epsilon, window))).toBe(expected)
  })
})

describe('what no recording says', () => {
  test('latencies are cut to whole microseconds, and none is no latency', () => {
    const breaker = new BrpcCircuitBreaker()
    breaker.onCallEnd(0, 1000.9, 0)
    expect(breaker.long.emaLatencyUs).toBe(1000)
    for (const latencyUs of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      breaker.onCallEnd(1008, latencyUs, 0)
    }
    expect([breaker.long.errors, breaker.long.emaErrorCostUs]).toEqual([3, 0])
  })

  test.each<[BrpcFlags, string]>([
    [{ longWindowSize: 0 }, 'brpc.longWindowSize'],
    [{ shortWindowErrorPercent: 101 }, 'brpc.shortWindowErrorPercent'],
    [{ epsilonValue: 0 }, 'brpc.epsilonValue'],
    [{ halfOpenWindowSize: 1.5 }, 'brpc.halfOpenWindowSize'],
  ])('%o is refused, and so is a change to it', (flags, path) => {
    expect(() => new BrpcCircuitBreaker(flags)).toThrow(ConfigError)
    const breaker = new BrpcCircuitBreaker()
    expect(() => breaker.setFlags(flags)).toThrow(path)
  })
})
