import { answered, failed, type Outcome, type Pipeline, pipeline, type RetryOptions, retry } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { fateOf, layerOf, leftIn, NOTHING } from '../../core/fate.ts'
import { type VectorCase, Vectors } from '../../support/vectors.ts'

interface Config {
  readonly maxAttempts?: number
  readonly waitDuration?: number
  readonly exponentialBackoff?: { readonly initialIntervalMillis: number; readonly multiplier: number }
  readonly failAfterMaxAttempts?: boolean
  readonly intervalBiFunction?: string
}
type Metrics = readonly [okAlone: number, okRetried: number, failedAlone: number, failedRetried: number, calls: number]
type Step = readonly [
  script: string,
  outcome: string,
  calls: number,
  waits: readonly number[],
  events: readonly string[],
  metrics: Metrics,
]

// Their events have no counterpart: retries are counted, and told to nobody one by one.

const vectors = new Vectors<Config, Step>('resilience4j-retry.json')

class Boom extends Error {}
class Ign extends Error {}

/** Their interval functions of the error or the result, in our words: a function of the retry and what was before it. */
const WAITS: Readonly<Record<string, RetryOptions['wait']>> = {
  'error: 50*attempt, result: 7': (n, { ok }) => (ok ? 7 : 50 * n),
  'error: attempt 1 gives 20, then -1; result: 5': (n, { ok }) => (ok ? 5 : n === 1 ? 20 : -1),
}

function optionsOf({
  maxAttempts = 3,
  waitDuration = 500,
  exponentialBackoff,
  intervalBiFunction,
}: Config): RetryOptions {
  const { initialIntervalMillis: first = waitDuration, multiplier: factor = 1 } = exponentialBackoff ?? {}
  // All of their calls may be tried again.
  const options = {
    attempts: maxAttempts,
    budget: { ratio: 1, minimum: 1e6 },
    backoff: { first, factor, atMost: '1h' },
  } as const
  const wait = intervalBiFunction === undefined ? undefined : WAITS[intervalBiFunction]
  if ((wait === undefined) !== (intervalBiFunction === undefined)) throw new Error(`unknown: ${intervalBiFunction}`)
  return wait === undefined ? options : { ...options, wait }
}

/** One protected call of theirs, and what came of it in our words. */
class Replayed {
  readonly world = new VirtualRuntime()
  readonly waits: number[] = []
  readonly p: Pipeline
  calls = 0
  private lastAt = 0
  private readonly script: readonly string[]

  constructor(config: Config, script: string) {
    // No jitter: every wait is its ceiling.
    ;(this.world as { random: () => number }).random = () => 1
    this.script = script.split(',')
    this.p = pipeline('p', [retry(optionsOf(config))], {
      runtime: this.world,
      classify: (ok, value) => (value instanceof Ign ? 'ignored' : ok && value === 'ok' ? 'success' : 'failure'),
    })
  }

  /** The next call of the protected function: a value, or an error that it throws. */
  next(): { ok: boolean; value: unknown } {
    if (this.calls > 0) this.waits.push(this.world.now() - this.lastAt)
    this.lastAt = this.world.now()
    const does = this.script[this.calls++] ?? 'ok'
    if (does === 'fail') return { ok: false, value: new Boom('boom') }
    return does === 'ign' ? { ok: false, value: new Ign('ign') } : { ok: true, value: does }
  }

  /** Without promises, as their sync decorator. */
  sync(): Outcome<unknown> {
    let found: Outcome<unknown> | undefined
    const work = (_: unknown, done: (outcome: Outcome<unknown>) => void) => {
      const { ok, value } = this.next()
      if (ok) done(answered(value, value === 'ok' ? 'success' : 'failure'))
      else done(failed(value, value instanceof Ign ? 'ignored' : 'failure'))
    }
    this.p.start(work, (outcome) => (found = outcome), { idempotent: true })
    this.world.run()
    return found as Outcome<unknown>
  }

  /** With promises; a function that throws at once is a failure like any other. */
  async async(throwsAtOnce: boolean): Promise<Outcome<unknown>> {
    const work = (): unknown => {
      const { ok, value } = this.next()
      if (ok) return Promise.resolve(value)
      if (throwsAtOnce) throw value
      return Promise.reject(value as Error)
    }
    const fate = fateOf(Promise.resolve(this.p.outcome(work, { idempotent: true })))
    await this.world.advanceAsync('1h')
    return fate.value as Outcome<unknown>
  }

  /** In their words. */
  outcomeOf(outcome: Outcome<unknown>, { failAfterMaxAttempts }: Config): string {
    // An answer is an answer: who wants an error of a bad one makes it from the verdict.
    if (outcome.ok && outcome.verdict !== 'success' && failAfterMaxAttempts === true)
      return 'throws MaxRetriesExceededException'
    return outcome.ok ? `returns ${String(outcome.value)}` : `throws ${(outcome.error as Error).constructor.name}`
  }

  metricsOf(outcome: Outcome<unknown>): Metrics {
    expect(layerOf(this.p, 'retry')['retries']).toBe(this.calls - 1)
    return metrics(outcome.verdict === 'success', outcome.verdict === 'ignored', this.calls)
  }
}

/** Their counters without the listed defects: of a failure the last error counts, ignored at once, or after all that could be done. */
function metrics(isOk: boolean, isIgnored: boolean, calls: number): Metrics {
  const [once, often] = calls === 1 ? [1, 0] : [0, 1]
  if (isOk) return [once, often, 0, 0, calls]
  return isIgnored ? [0, 0, once, often, calls] : [0, 0, 0, 1, calls]
}

let defects = 0

/** Their counters as recorded, or right where they are wrong in one of the ways that the recording lists. */
function rightMetrics([, outcome, calls, waits, , theirs]: Step): Metrics {
  const isIgnored = outcome === 'throws Ign'
  const right = metrics(outcome === 'returns ok', isIgnored, calls)
  if (JSON.stringify(right) === JSON.stringify(theirs)) return right
  defects++
  const [, , alone, retried, total] = theirs
  const stopped = alone + retried === 0 && waits.length === calls - (waits.includes(-1) ? 0 : 1)
  const exhaustedByResult = total > calls && retried > 0
  expect(stopped || exhaustedByResult || (isIgnored && alone === 1 && calls > 1)).toBe(true)
  return right
}

/** A stop by a negative interval is no wait, though their sync decorator calls sleep with it. */
const rightWaits = (waits: readonly number[]): number[] => waits.filter((ms) => ms >= 0)

async function play(recorded: VectorCase<Config, Step>, step: Step): Promise<void> {
  const [script, outcome, calls, waits] = step
  const right = rightMetrics(step)
  const ways = recorded.name.endsWith('-sync')
    ? [(r: Replayed) => r.sync()]
    : [(r: Replayed) => r.async(false), (r: Replayed) => r.async(true)]
  for (const way of ways) {
    const replayed = new Replayed(recorded.config, script)
    const found = await way(replayed)
    expect([replayed.outcomeOf(found, recorded.config), replayed.calls, replayed.waits]).toEqual([
      outcome,
      calls,
      rightWaits(waits),
    ])
    expect(replayed.metricsOf(found)).toEqual(right)
    expect(leftIn(replayed.world, replayed.p)).toEqual(NOTHING)
  }
}

describe('attempts and waits replay resilience4j', () => {
  test.each(vectors.cases)('$name: $config', async (recorded) => {
    const plays: Promise<void>[] = []
    vectors.replay(recorded, (step) => void plays.push(play(recorded, step)))
    await Promise.all(plays)
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches; ${defects} counters differ as the recording lists`)
    expect(vectors.replayed).toBe(vectors.steps)
    expect([vectors.cases.length, vectors.replayed]).toEqual([14, 182])
    expect(defects).toBeGreaterThan(20)
  })
})

test('a function that throws at once at a later attempt leaves nobody waiting, as it does upstream', async () => {
  const replayed = new Replayed({}, 'fail,fail,fail')
  const found = await replayed.async(true)
  expect([found.ok, found.error instanceof Boom, replayed.calls]).toEqual([false, true, 3])
})
