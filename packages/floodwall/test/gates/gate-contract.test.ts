import {
  AdaptiveLimit,
  adaptiveLimit,
  Breaker,
  bbr,
  breaker,
  bulkhead,
  type Env,
  type Gate,
  keyed,
  type Layer,
  Partitions,
  partitions,
  rateLimit,
  Semaphore,
  shadow,
  Throttle,
  TokenBucket,
  throttle,
} from 'floodwall'
import { gateContract } from 'floodwall/testing'
import { describe, test } from 'vitest'

const layers: Readonly<Record<string, Layer>> = {
  'bbr without a signal': bbr(),
  'bbr with a cool CPU': bbr({ cpu: () => 0.5 }),
  // Hot, with a window that never has enough for a bound of its own: what it lends is startAt.
  'bbr with a hot CPU': bbr({ cpu: () => 1, startAt: 3, atLeast: 1e9 }),
  'breaker, by default': breaker(),
  'breaker, one probe': breaker({ probes: 1, consecutive: 1, jitter: 0 }),
  'breaker, over the last calls': breaker({ lastCalls: 10, atLeast: 5, failureRate: 0.1 }),
  'breaker, with a slow limit': breaker({ slowAfter: '3ms', consecutive: 2, growth: 10, jitter: 1 }),
  'breaker, that opens at once and probes seldom': breaker({
    consecutive: 1,
    openFor: '1h',
    probes: 10,
    probeFailureRate: 1,
  }),
  'adaptive limit that does not move': adaptiveLimit({ estimator: 'fixed', initial: 5 }),
  'adaptive limit that may not move': adaptiveLimit({ min: 3, max: 3 }),
  'bulkhead of 1': bulkhead({ slots: 1 }),
  'bulkhead of 64': bulkhead({ slots: 64 }),
  'partitions of a bulkhead': partitions({ of: bulkhead({ slots: 7 }), shares: { critical: 0.5, sheddable: 0.2 } }),
  'partitions, whose caller has none of his own': partitions({
    of: bulkhead({ slots: 2 }),
    shares: { a: 1 },
    by: 'key',
  }),
  'rate limit': rateLimit({ rate: 10 }),
  'rate limit below one a second': rateLimit({ rate: 0.2, burst: 3 }),
  'rate limit without a rate': rateLimit({ rate: 1, per: '1h', burst: 5 }),
  throttle: throttle(),
  'throttle, that judges each result and probes seldom': throttle({ atLeast: 1, probeEvery: '1h', probeShare: 0 }),
  'throttle, with a slow limit': throttle({ k: 1, over: '5s', atLeast: 3, slowAfter: '3ms' }),
  'rate limit by a log': rateLimit({ rate: 10, algorithm: 'slidingLog' }),
  'rate limit by two counters': rateLimit({ rate: 10, algorithm: 'slidingWindow' }),
  'rate limit by fixed windows': rateLimit({ rate: 10, algorithm: 'fixedWindow' }),
  'rate limit by gcra': rateLimit({ rate: 10, burst: 3, algorithm: 'gcra' }),
  'rate limit by a leaky bucket': rateLimit({ rate: 10, burst: 3, algorithm: 'leakyBucket' }),
  'rate limit that warms up': rateLimit({ rate: 10, algorithm: 'warmUp', warmUp: { over: '5s' } }),
  'rate limit that charges for time': rateLimit({ rate: 100, burst: 50, charge: 'time' }),
}

const gates: Readonly<Record<string, (env: Env) => Gate>> = {
  'a Breaker made by hand': (env) => new Breaker({ consecutive: 1 }, env),
  'an AdaptiveLimit made by hand': (env) => new AdaptiveLimit({}, env),
  'an AdaptiveLimit with gradient2': (env) => new AdaptiveLimit({ estimator: 'gradient2', initial: 3 }, env),
  'an AdaptiveLimit with vegas': (env) => new AdaptiveLimit({ estimator: 'vegas', initial: 2, max: 8 }, env),
  'an AdaptiveLimit with aimd': (env) => new AdaptiveLimit({ estimator: 'aimd', initial: 3, slowAfter: 50 }, env),
  'Partitions made by hand': (env) =>
    new Partitions(new Semaphore({ slots: 3 }, env), { shares: { critical: 0.4 }, by: 'criticality', keepFor: 100 }),
  'a Semaphore made by hand': (env) => new Semaphore({ slots: 2 }, env),
  'a Throttle made by hand': (env) => new Throttle({ atLeast: 2 }, env),
  'a TokenBucket made by hand': (env) => new TokenBucket({ rate: 2 }, env),
}

const build = (layer: Layer) => (env: Env) => layer.build(env) as Gate

for (const [name, of] of Object.entries(layers)) {
  Object.assign(gates, {
    [name]: build(of),
    [`keyed: ${name}`]: build(keyed({ of, max: 2 })),
    [`shadow: ${name}`]: build(shadow({ of })),
    [`keyed in shadow: ${name}`]: build(shadow({ of: keyed({ of, max: 1 }) })),
    [`shadow in keyed: ${name}`]: build(keyed({ of: shadow({ of }), max: 1 })),
  })
}

describe.each(Object.entries(gates))('%s keeps the promises of a gate', (_, make) => {
  for (const check of gateContract(make)) test(check.name, check.run)
})
