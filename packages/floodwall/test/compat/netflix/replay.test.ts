import {
  AimdLimit,
  Gradient2Limit,
  GradientLimit,
  type NetflixLimit,
  PartitionedLimiter,
  SimpleLimiter,
  VegasLimit,
  WindowedLimit,
} from 'floodwall/compat/netflix'
import { describe, expect, test } from 'vitest'
import { Vectors } from '../../support/vectors.ts'

// Every case of the recording, its upstream defects included: these are replicas. What is wrong with them, and the right answers of our own
// estimators, stand in test/compat/netflix/faults.test.ts.

type Config = { readonly algorithm: string; readonly [key: string]: unknown }
type Recorded = { readonly config: Config; readonly initialLimit: number; readonly probeJitters?: readonly number[] }
type Step = readonly unknown[]
type Throws = { readonly throws: string }

const vectors = new Vectors<Config, Step>('concurrency-limits.json')

/** The options under our names: those of times end in `Ns`. */
function optionsOf(config: Config): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [key.replace('_ns', 'Ns'), value]))
}

function aimd({ config }: Recorded): AimdLimit {
  return new AimdLimit(optionsOf(config))
}

function vegas({ config, probeJitters = [] }: Recorded): VegasLimit {
  const jitters = [...probeJitters]
  return new VegasLimit({
    ...optionsOf(config),
    probeJitter: () => jitters.shift() ?? expect.unreachable('one probe more than recorded'),
  })
}

function gradient({ config }: Recorded): GradientLimit {
  const { firstProbeCountdown } = config
  const more = firstProbeCountdown === undefined ? {} : { probeCountdown: () => firstProbeCountdown as number }
  return new GradientLimit({ ...optionsOf(config), ...more })
}

function gradient2({ config }: Recorded): Gradient2Limit {
  const bySize = (limit: number) => Math.max(4, Math.floor(Math.sqrt(limit)))
  return new Gradient2Limit({
    ...optionsOf(config),
    ...(typeof config['queueSize'] === 'string' ? { queueSize: bySize } : {}),
  })
}

const numberOf = (value: unknown): number => (value === 'NaN' ? Number.NaN : (value as number))

/** `[rtt, inflight, didDrop, limit, estimate, internal]`: all three must be the same to the last bit. */
function replayLimit(recorded: Recorded, limit: NetflixLimit, internal: () => number): void {
  expect(limit.limit).toBe(recorded.initialLimit)
  vectors.replay(recorded as never, ([rtt, inFlight, didDrop, expected, estimate, inner, thrown]) => {
    const sample = () => limit.onSample(0, rtt as number, inFlight as number, didDrop === 1)
    if ((thrown as Throws | undefined) === undefined) sample()
    else expect(sample).toThrow(RangeError)
    expect(limit.limit).toBe(expected)
    if (estimate === undefined) return
    expect(limit.estimate).toBe(numberOf(estimate))
    expect(internal()).toBe(inner)
  })
}

const DELEGATES: Readonly<Record<string, () => NetflixLimit>> = {
  'AIMD defaults': () => new AimdLimit(),
  'AIMD initial 50, min 1': () => new AimdLimit({ initialLimit: 50, minLimit: 1 }),
  'Gradient2 defaults': () => new Gradient2Limit(),
}

function replayWindowed(recorded: Recorded): void {
  const { delegate, percentile, percentileWindow, ...config } = recorded.config
  const inner = (DELEGATES[delegate as string] as () => NetflixLimit)()
  let calls: unknown[] | null = null
  const spied: NetflixLimit = {
    get limit() {
      return inner.limit
    },
    get estimate() {
      return inner.estimate
    },
    onSample(startNs, rttNs, inFlight, didDrop) {
      calls = [[startNs, rttNs, inFlight, didDrop ? 1 : 0]]
      inner.onSample(startNs, rttNs, inFlight, didDrop)
    },
  }
  const of =
    percentile === undefined ? {} : { percentile: { at: percentile as number, of: percentileWindow as number } }
  const limit = new WindowedLimit(spied, { ...optionsOf(config as Config), ...of })
  vectors.replay(recorded as never, ([startNs, rtt, inFlight, didDrop, expected, delegated, thrown]) => {
    calls = null
    const sample = () => limit.onSample(startNs as number, rtt as number, inFlight as number, didDrop === 1)
    if ((thrown as Throws | undefined) === undefined) sample()
    else expect(sample).toThrow(RangeError)
    expect([limit.limit, calls]).toEqual([expected, delegated])
  })
}

class Settable implements NetflixLimit {
  limit: number
  constructor(limit: number) {
    this.limit = limit
  }
  get estimate(): number {
    return this.limit
  }
  onSample(): void {}
}

function replayLimiter(recorded: Recorded): void {
  const limit = new Settable(recorded.initialLimit)
  const shares = recorded.config['partitions'] as Record<string, number> | undefined
  const limiter = shares === undefined ? new SimpleLimiter(limit) : new PartitionedLimiter(limit, shares)
  vectors.replay(recorded as never, ([op, arg, result, inFlight, expected]) => {
    let answer: boolean | null = null
    if (op === 'limit') limit.limit = arg as number
    else if (op === 'acquire')
      answer = limiter instanceof SimpleLimiter ? limiter.acquire() : limiter.acquire(arg as string)
    else if (limiter instanceof SimpleLimiter) limiter.end(op as 'success')
    else limiter.end(arg as string, op as 'success')
    expect([answer, limiter.inFlight, limit.limit]).toEqual([result, inFlight, expected])
  })
}

function replay(recorded: Recorded): void {
  const { algorithm } = recorded.config
  if (algorithm === 'AIMD') {
    const limit = aimd(recorded)
    replayLimit(recorded, limit, () => 0)
  } else if (algorithm === 'Vegas') {
    const limit = vegas(recorded)
    replayLimit(recorded, limit, () => limit.noLoadNs)
  } else if (algorithm === 'Gradient2') {
    const limit = gradient2(recorded)
    replayLimit(recorded, limit, () => limit.longRttNs)
  } else if (algorithm === 'Gradient') {
    const limit = gradient(recorded)
    replayLimit(recorded, limit, () => limit.leastNs)
  } else if (algorithm === 'Windowed') replayWindowed(recorded)
  else replayLimiter(recorded)
}

describe('the replicas replay concurrency-limits', () => {
  test.each(vectors.cases)('$name: $description', (recorded) => replay(recorded as unknown as Recorded))

  test('no step is left out', () => {
    console.log(vectors.summary)
    expect([vectors.cases.length, vectors.steps]).toEqual([38, 4203])
    expect(vectors.replayed).toBe(vectors.steps)
  })
})
