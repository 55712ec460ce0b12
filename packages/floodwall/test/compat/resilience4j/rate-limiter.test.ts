import { describe, expect, test } from 'vitest'
import { Resilience4jRateLimiter } from '../../../src/compat/resilience4j/index.ts'
import { Vectors } from '../../support/vectors.ts'
import { SemaphoreLimiter } from './semaphore-limiter.ts'

interface Config {
  readonly implementation: 'AtomicRateLimiter' | 'SemaphoreBasedRateLimiter'
  readonly limitRefreshPeriod_ns: number
  readonly limitForPeriod: number
  readonly timeoutDuration_ns: number
}

interface Extra {
  readonly events?: readonly string[]
  readonly throws?: string
  readonly timerThrows?: readonly string[]
}

type Step = readonly [
  atNs: number,
  op: string,
  arg: number | null,
  result: number | boolean | null,
  available: number,
  ...more: (number | Extra)[],
]

/** What is right instead: the parts of the step that are other, by their place in it. */
type Right = Readonly<Record<number, Readonly<Record<number, unknown>>>>

/** Where resilience4j is wrong. Everything that is not named is as it was recorded. */
const RIGHT: Readonly<Record<string, { readonly why: string; readonly steps: Right }>> = {
  drain: {
    why: 'The event is to say how many permissions were taken; theirs says the smaller of them and 0.',
    steps: { 1: { 7: { events: ['DRAINED 4'] } }, 4: { 7: { events: ['DRAINED 4'] } } },
  },
  'drain-negative': {
    why: 'What is owed was promised to callers that wait: to drain is to take, and a debt of 2 stays one. Theirs is forgiven, and hands out 2 that are not there.',
    steps: {
      3: { 4: -2, 5: 2_000_000_000, 7: { events: ['DRAINED 0'] } },
      4: { 4: -2, 5: 2_000_000_000 },
      5: { 4: 0, 5: 1_000_000_000 },
    },
  },
  'drain-after-cycle-edge': {
    why: 'A drain takes what there is now. Theirs looks at the old cycle, and the refill of the new one survives.',
    steps: {
      1: { 4: 0, 5: 1_000_000_000, 7: { events: ['DRAINED 5'] } },
      2: { 3: false, 4: 0, 5: 1_000_000_000, 7: { events: ['FAILED_ACQUIRE 1'] } },
      3: { 4: 0, 5: 1_000_000_000, 7: { events: ['DRAINED 5'] } },
      4: { 4: 0, 5: 1_000_000_000 },
    },
  },
  'overflow-accumulation': {
    why: 'After a long sleep there is one limit. Theirs multiplies cycles and limit in 64 bits, and refuses everybody when that overflows.',
    steps: {
      2: { 4: 2_147_483_647, 5: 0 },
      3: { 3: true, 4: 2_147_483_646, 5: 0, 7: { events: ['SUCCESSFUL_ACQUIRE 1'] } },
      4: { 3: true, 4: 2_147_483_645, 5: 0, 7: { events: ['SUCCESSFUL_ACQUIRE 1'] } },
      5: { 3: true, 4: 2_147_483_644, 5: 0, 7: { events: ['SUCCESSFUL_ACQUIRE 1'] } },
    },
  },
  'semaphore-change-down-defect': {
    why: 'A limit that is lowered is that limit from the next tick on. Theirs throws in the timer, which is never run again: starved.',
    steps: {
      3: { 4: 3, 5: undefined },
      4: { 3: false, 4: 3, 5: { events: ['FAILED_ACQUIRE 9'] } },
      5: { 3: true, 4: 2, 5: { events: ['SUCCESSFUL_ACQUIRE 1'] } },
      6: { 4: 3 },
      7: { 3: true, 4: 2, 5: { events: ['SUCCESSFUL_ACQUIRE 1'] } },
    },
  },
}

const vectors = new Vectors<Config, Step>('resilience4j-rate-limiter.json')

/** One limiter, played as the step says; answers with the step as it would have been recorded here. */
class Played {
  private readonly config: Config
  private readonly atomic: Resilience4jRateLimiter
  private readonly semaphore: SemaphoreLimiter
  private events: string[] = []

  constructor(config: Config) {
    this.config = config
    const ms = (ns: number) => ns / 1e6
    const options = {
      limitForPeriod: config.limitForPeriod,
      limitRefreshPeriod: ms(config.limitRefreshPeriod_ns),
      timeoutDuration: ms(config.timeoutDuration_ns),
    }
    this.atomic = new Resilience4jRateLimiter(options, ({ type, permits }) => this.events.push(`${type} ${permits}`))
    this.semaphore = new SemaphoreLimiter(config.limitForPeriod, config.limitRefreshPeriod_ns)
  }

  play([now, op, arg]: Step): unknown[] {
    this.events = []
    if (this.config.implementation === 'AtomicRateLimiter') {
      const result = this.onAtomic(now, op, arg as number)
      const { atomic } = this
      const cycle = Math.floor(now / this.config.limitRefreshPeriod_ns)
      return [now, op, arg, result, atomic.availablePermissions(now), atomic.nanosToWait(1, now), cycle, ...this.told()]
    }
    this.semaphore.pass(now)
    if (op === 'reserve')
      return [now, op, arg, null, this.semaphore.permits, { throws: 'UnsupportedOperationException' }]
    const result = this.onSemaphore(op, arg as number)
    return [now, op, arg, result, this.semaphore.permits, ...this.told()]
  }

  private told(): Extra[] {
    return this.events.length === 0 ? [] : [{ events: this.events }]
  }

  private onAtomic(now: number, op: string, arg: number): number | boolean | null {
    const { atomic } = this
    if (op === 'reserve') return atomic.reservePermission(arg, now)
    if (op === 'try') return atomic.reservePermission(arg, now) === 0
    if (op === 'drain') atomic.drainPermissions(now)
    else if (op === 'change_limit') atomic.changeLimitForPeriod(arg)
    else if (op === 'change_timeout_ns') atomic.changeTimeoutDuration(arg / 1e6)
    else expect(op).toBe('get')
    return null
  }

  private onSemaphore(op: string, arg: number): boolean | null {
    const { semaphore } = this
    if (op === 'try') {
      const goes = semaphore.acquire(arg)
      this.events.push(`${goes ? 'SUCCESSFUL' : 'FAILED'}_ACQUIRE ${arg}`)
      return goes
    }
    if (op === 'drain') this.events.push(`DRAINED ${semaphore.drain()}`)
    else if (op === 'change_limit') semaphore.changeLimit(arg)
    else expect(op).toBe('get')
    return null
  }
}

/** The step as it should have been. */
function rightOf(name: string, step: Step, index: number): unknown[] {
  const other = RIGHT[name]?.steps[index] ?? {}
  const right: unknown[] = [...step]
  for (const [place, part] of Object.entries(other)) right[Number(place)] = part
  while (right.length > 0 && right.at(-1) === undefined) right.pop()
  return right
}

describe('the rate limiter replays resilience4j', () => {
  test.each(vectors.cases)('$name: $description', (recorded) => {
    const played = new Played(recorded.config)
    vectors.replay(recorded, (step, index) => expect(played.play(step)).toEqual(rightOf(recorded.name, step, index)))
  })

  test('no step is left out, and every listed defect is one', () => {
    const corrected = Object.values(RIGHT).reduce((sum, { steps }) => sum + Object.keys(steps).length, 0)
    console.log(
      `${vectors.summary}, 0 mismatches; ${corrected} steps of ${Object.keys(RIGHT).length} defects put right`,
    )
    expect([vectors.cases.length, vectors.replayed, vectors.steps]).toEqual([29, 1372, 1372])
    const tagged = vectors.cases.filter(({ tags }) => tags?.includes('upstream-defect')).map(({ name }) => name)
    expect(Object.keys(RIGHT)).toEqual(expect.arrayContaining(tagged))
    for (const [name, { steps }] of Object.entries(RIGHT)) {
      const recorded = vectors.cases.find((c) => c.name === name)!
      for (const index of Object.keys(steps)) {
        const step = recorded.steps[Number(index)]!
        expect(rightOf(name, step, Number(index)), `${name}, step ${index}`).not.toEqual(step)
      }
    }
  })
})
