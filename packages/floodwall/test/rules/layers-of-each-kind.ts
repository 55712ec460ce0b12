import {
  adaptiveLimit,
  balance,
  bbr,
  breaker,
  bulkhead,
  type ConfigError,
  deadline,
  hedge,
  holdBack,
  hotKeys,
  hotParameter,
  isConfigError,
  type Kind,
  keyed,
  keyedRateLimit,
  type Layer,
  overload,
  pace,
  partitions,
  queue,
  rateLimit,
  retry,
  shadow,
  throttle,
  timeout,
} from 'floodwall'
import { builtIn } from 'floodwall/rules'

// One layer of each kind, with many of its options said. A kind that is new in the table of kinds gets a line here.

export const kinds: Readonly<Record<string, Kind>> = Object.fromEntries(builtIn)

/** A layer of each kind, by the kind's name; new ones each time. */
export function layersOfEachKind(): Record<string, Layer> {
  return {
    adaptiveLimit: adaptiveLimit({ estimator: 'gradient2', initial: 3, max: 9, slowAfter: '100ms' }),
    balance: balance({ endpoints: [{ id: 'a' }, { id: 'b' }], each: [bulkhead({ slots: 2 })] }),
    bbr: bbr({ cpu: () => 0.9, above: 0.7, over: '2s', buckets: 20, drain: 0.5, slack: 4 }),
    breaker: breaker({
      consecutive: 3,
      slowAfter: '2s',
      slowRate: 0.9,
      halfOpenAtMost: '30s',
      eager: true,
      ramp: '5s',
    }),
    bulkhead: bulkhead({ slots: 4 }),
    deadline: deadline({ within: '1s', margin: 2, floor: 'p50' }),
    hedge: hedge({ after: 'p90', atLeast: 5, most: 2 }),
    holdBack: holdBack({ atMost: '30s', jitter: 0.2, max: 5 }),
    hotKeys: hotKeys({ k: 3, halfLife: '1m', share: 0.2, atLeast: 2 }),
    hotParameter: hotParameter({ parameter: ({ key }) => key, rate: 3, maxWait: 500, overrides: { 1: 9 }, max: 4 }),
    keyed: keyed({ of: rateLimit({ rate: 2 }), max: 3 }),
    keyedRateLimit: keyedRateLimit({
      rate: 2,
      burst: 3,
      max: 4,
      overrides: { 5: { rate: 1 }, 'x*': { rate: 0 } },
      reserve: { critical: 0.2 },
      oversell: { rate: 5, burst: 9 },
    }),
    partitions: partitions({ of: bulkhead({ slots: 3 }), shares: { a: 0.4, b: 0.4 }, by: 'method', keepFor: 300 }),
    overload: overload({ target: 20, size: 50, limits: { start: 8 }, cohorts: { rotate: '10m' } }),
    pace: pace({ rate: 50, per: '2s', burst: 2, atMost: 200, size: 30 }),
    queue: queue({ size: 3, order: 'adaptive', atMost: 200, codel: { target: 20, interval: 90, trigger: 'age' } }),
    rateLimit: rateLimit({ rate: 5, per: '2s', burst: 7, charge: 'time' }),
    retry: retry({ attempts: 2, backoff: { first: 10 } }),
    shadow: shadow({ of: bulkhead({ slots: 1 }) }),
    throttle: throttle({ k: 1.5, kStep: 0.1, over: '2s', slowAfter: '1s' }),
    timeout: timeout({ after: '50ms' }),
  }
}

/** The least that each kind asks for. */
export const LEAST: Readonly<Record<string, object>> = {
  bulkhead: { slots: 1 },
  deadline: { within: 1 },
  hotParameter: { parameter: 0 },
  keyed: { of: layersOfEachKind()['bulkhead'] },
  keyedRateLimit: { rate: 1 },
  partitions: { of: layersOfEachKind()['bulkhead'], shares: {} },
  pace: { rate: 1 },
  rateLimit: { rate: 1 },
  shadow: { of: layersOfEachKind()['bulkhead'] },
  timeout: { after: 1 },
}

/** What is wrong with `options`, in the words of the error; nothing when they are right. */
export function issues(kind: string, options: unknown): ConfigError['issues'] {
  try {
    ;(kinds[kind] as Kind)(options as object)
  } catch (error) {
    if (isConfigError(error)) return error.issues
    throw error
  }
  return []
}

/** The fields of a schema of objects, whatever it is wrapped in. */
export function entriesOf(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  let at = schema as { wrapped?: unknown; entries?: Record<string, unknown> } | undefined
  while (at?.wrapped !== undefined) at = at.wrapped as typeof at
  return at?.entries
}
