// What it costs to record one result, by trip: without the gate around it, and without reading the clock. A row is { name, make }: `make` gets
// `library`, which imports a module of it, and the traffic; it returns the operation.

/** A thousand calls a second: the window moves on by a bucket with each thousandth. */
const STEP_MS = 1
const FAST_MS = 5
const SLOW_MS = 300
/** So many calls are out, where a trip hears of their beginning. */
const IN_FLIGHT = 8
/** More than any branch predictor learns by heart. */
const PATTERN = 1 << 14

/** The share of calls that is bad, as one of so many. */
export const traffic = { 'good times': 100, 'half of them bad': 2 }

/** Limits that are not reached: each result is judged, and the answer is no. */
const never = {
  failureRate: { failureRate: 1 },
  slowRate: { slowRate: 1, slowAfter: 250 },
  errorCount: { errorCount: 1e9 },
  row: { consecutive: 1e9 },
  errorCost: { errorCost: { short: { maxErrorRate: 0.99 }, long: { maxErrorRate: 0.99 } } },
  secondStage: { errorCost: { short: { maxErrorRate: 0.99 }, long: { maxErrorRate: 0.99 }, secondStage: true } },
}

async function tripOf(library, options) {
  const [gates, settings, schema] = await Promise.all([
    library('algorithms/gates/breaker-trip.js'),
    library('algorithms/gates/breaker-settings.js'),
    library('core/schema.js'),
  ])
  return gates.tripOf(schema.parse(settings.breakerOptions, options, 'breaker'))
}

/** Calls, one after the other, as the traffic has them: bad ones fail and are slow. */
function calls(badOf, record) {
  let state = 1
  const bad = Uint8Array.from({ length: PATTERN }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state >>> 16) % badOf === 0 ? 1 : 0
  })
  let i = 0
  let now = 0
  return () => {
    now += STEP_MS
    i = (i + 1) & (PATTERN - 1)
    return record(bad[i] === 1, now)
  }
}

const trip = (name, ...options) => ({
  name,
  async make(library, badOf) {
    const subject = await tripOf(library, Object.assign({}, ...options))
    return calls(badOf, (bad, now) => subject.record(bad ? 'failure' : 'success', bad ? SLOW_MS : FAST_MS, now, 0))
  },
})

/** A call begins with each that ends. */
const watching = (name, ...options) => ({
  name,
  async make(library, badOf) {
    const subject = await tripOf(library, Object.assign({}, ...options))
    const out = new Float64Array(IN_FLIGHT)
    let at = 0
    return calls(badOf, (bad, now) => {
      at = (at + 1) & (IN_FLIGHT - 1)
      const opens = subject.record(bad ? 'failure' : 'success', bad ? SLOW_MS : FAST_MS, now, out[at])
      out[at] = subject.begin(now, 0)
      return opens
    })
  },
})

/** Alone: as an option it comes on top of a rate. */
const consecutive = {
  name: 'trip: consecutive',
  async make(library, badOf) {
    const { Consecutive } = await library('algorithms/trips/consecutive.js')
    const subject = new Consecutive(1e9)
    return calls(badOf, (bad) => subject.record(bad ? 'failure' : 'success'))
  },
}

const brpc = {
  name: 'replica: brpc',
  async make(library, badOf) {
    const { BrpcCircuitBreaker } = await library('compat/brpc/index.js')
    let subject = new BrpcCircuitBreaker()
    return calls(badOf, (bad, now) => {
      const healthy = subject.onCallEnd(bad ? 1 : 0, 5000, now)
      if (!healthy) subject = new BrpcCircuitBreaker()
      return healthy
    })
  },
}

const resilience4j = (name, window) => ({
  name,
  async make(library, badOf) {
    const { Metrics } = await library('compat/resilience4j/metrics.js')
    const windows = await library('compat/resilience4j/window.js')
    const limits = { failureRateThreshold: 100, slowCallRateThreshold: 100, slowCallDurationThreshold: 250 }
    const subject = new Metrics(window(windows), 100, limits)
    return calls(badOf, (bad, now) => subject.record(bad, bad ? SLOW_MS : FAST_MS, now))
  },
})

const sentinel = {
  name: 'replica: Sentinel, 10 s in 10 buckets',
  async make(library, badOf) {
    const { LeapArray } = await library('compat/sentinel/leap-array.js')
    const subject = new LeapArray(10_000, 10, 0)
    return calls(badOf, (bad, now) => {
      subject.add(bad, now)
      return subject.bad / subject.total >= 1
    })
  },
}

export const rows = [
  trip('trip: failure rate, 10 s in 10 buckets', never.failureRate),
  trip('trip: failure rate, last 100 calls', never.failureRate, { lastCalls: 100 }),
  trip('trip: slow rate, 10 s in 10 buckets', never.slowRate),
  trip('trip: slow rate, last 100 calls', never.slowRate, { lastCalls: 100 }),
  watching('trip: slow rate, and calls that hang', never.slowRate),
  trip('trip: error count, 10 s in 10 buckets', never.errorCount),
  trip('trip: error count, last 1000 calls', { errorCount: 1000, lastCalls: 1000 }),
  consecutive,
  trip('trip: error cost', never.errorCost),
  trip('trip: error cost, second stage', never.secondStage),
  trip('trip: failure rate and consecutive', never.failureRate, never.row),
  brpc,
  resilience4j('replica: resilience4j, last 100 calls', ({ CountWindow }) => new CountWindow(100)),
  resilience4j('replica: resilience4j, 10 s', ({ TimeWindow }) => new TimeWindow(10, 0)),
  sentinel,
]
