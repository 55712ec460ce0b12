import type { Classify } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import {
  Resilience4jBreaker,
  type Resilience4jEvent,
  type Resilience4jState,
  resilience4jClassify,
} from '../../../src/compat/resilience4j/index.ts'
import { cases, isTagged, optionsOf, type Recorded, type Shown, type Step, stepOf, vectors } from './recorded.ts'
import { RIGHT } from './right.ts'

/** The errors and results that the recording names, as our classifier is told of them. */
const classify: Classify = resilience4jClassify({
  recordException: (error) => error !== 'unrecorded',
  ignoreException: (error) => error === 'ignored',
  recordResult: (value) => value === 'result:bad',
})

/** Their operations on the replica, in virtual time. */
class Replayed {
  readonly world: VirtualRuntime
  readonly breaker: Resilience4jBreaker
  private told: string[] = []

  constructor(recorded: Recorded) {
    this.world = new VirtualRuntime({ startAt: recorded.createdAt_t_ms ?? 0 })
    this.breaker = new Resilience4jBreaker(optionsOf(recorded), this.world.env('replica'))
    this.breaker.onEvent((event) => this.told.push(shown(event)))
  }

  /** What their step shows after it. */
  play({ at, op, arg }: Step): Shown {
    this.told = []
    let permitted: boolean | null = null
    let throws: string | undefined
    try {
      permitted = this.act(op, arg, at)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throws = 'IllegalStateTransitionException'
    }
    // In this order: reading alone must see what a timer has done.
    const m = this.breaker.metrics(at)
    const state = this.breaker.state(at)
    const counts = [m.bufferedCalls, m.failedCalls, m.slowCalls, m.notPermittedCalls, m.slowFailedCalls]
    return { permitted, state, numbers: [m.failureRate, m.slowCallRate, ...counts], events: this.told, throws }
  }

  private act(op: string, arg: number, at: number): boolean | null {
    const { breaker } = this
    const to = /^transition_to_(.+)$/.exec(op)?.[1]
    if (op === 'try' || op === 'acquire') return breaker.tryAcquirePermission(at)
    if (op === 'release') breaker.releasePermission(at)
    else if (op === 'reset') breaker.reset(at)
    else if (to === 'open_for') breaker.transitionToOpenStateFor(arg, at)
    else if (to === 'open_until') breaker.transitionToOpenStateUntil(arg, at)
    else if (to !== undefined) breaker.transitionTo(to.toUpperCase() as Resilience4jState, at)
    else if (op !== 'get') this.end(op, arg, at)
    return null
  }

  private end(op: string, tookMs: number, at: number): void {
    const ok = op === 'success' || op.startsWith('result:')
    const verdict = classify(ok, op, undefined as never)
    const result = op.includes(':') ? { ok, result: op } : undefined
    if (verdict === 'success') this.breaker.onSuccess(tookMs, at, result)
    else if (verdict === 'ignored') this.breaker.onIgnoredError(at)
    else this.breaker.onError(tookMs, at, result)
  }
}

function shown(event: Resilience4jEvent): string {
  if (event.type === 'STATE_TRANSITION') return `${event.type} ${event.from}>${event.to}`
  return 'rate' in event ? `${event.type} ${Number(event.rate.toPrecision(8))}` : event.type
}

describe('the replica of the circuit breaker replays resilience4j', () => {
  test.each(cases)('$name: $description', (recorded) => {
    const replayed = new Replayed(recorded)
    const right = RIGHT[recorded.name]?.steps
    expect(right !== undefined).toBe(isTagged(recorded, 'upstream-defect', 'upstream-weakness'))
    vectors.replay(recorded, (row, index) => {
      const { at, op, arg, ...theirs } = stepOf(row)
      expect(replayed.play({ at, op, arg, ...theirs })).toEqual({ ...theirs, ...right?.[index] })
    })
  })

  test('no step is left out', () => {
    const put = Object.keys(RIGHT).length
    console.log(`${vectors.summary}, 0 mismatches; in ${put} of ${cases.length} cases a defect is put right`)
    expect(vectors.replayed).toBe(vectors.steps)
    expect(vectors.cases.length).toBe(108)
  })
})
