import { Semaphore, type Permit } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Vectors } from '../support/vectors.ts'

type Config = { readonly maxConcurrentCalls: number; readonly maxWaitDuration: number }
type Step = readonly [op: string, result: boolean | null, available: number, max: number, events: readonly string[]]

const vectors = new Vectors<Config, Step>('resilience4j-bulkhead.json')

/** Their operations on our bulkhead: a call is a permit, and the calls inside end in the order in which they came. */
class Replayed {
  readonly gate: Semaphore
  private readonly inside: Permit[] = []
  private ended: Permit | undefined

  constructor({ maxConcurrentCalls }: Config) {
    this.gate = new Semaphore({ slots: maxConcurrentCalls }, new VirtualRuntime().env('bulkhead'))
  }

  /** What their step answers, and the event it tells of. */
  play(op: string): readonly [result: boolean | null, events: readonly string[]] {
    if (op === 'try') return this.acquire() ? [true, ['CALL_PERMITTED']] : [false, ['CALL_REJECTED']]
    if (op === 'complete') return [null, this.end() ? ['CALL_FINISHED'] : []]
    if (op === 'release') {
      this.end()
      return [null, []]
    }
    const [, max] = /^max (\d+)$/.exec(op) ?? []
    if (max === undefined) throw new Error(`no such operation: ${op}`)
    this.gate.resize(Number(max))
    return [null, []]
  }

  private acquire(): boolean {
    const answer = this.gate.tryAcquire()
    if (answer.ok) this.inside.push(answer)
    return answer.ok
  }

  /** Ends the oldest call; when none is inside, a permit that has ended already is ended once more. */
  private end(): boolean {
    const permit = this.inside.shift()
    if (permit === undefined) this.ended?.settle('success', 1, 0)
    else permit.settle('success', 1, 0)
    this.ended = permit ?? this.ended
    return permit !== undefined
  }
}

/**
 * Upstream a release without an acquire raises the capacity for ever (`release` leaves 2 and then 3 of 1 available). A permit here ends
 * once, so the same history leaves 1 of 1, and of three tries that they admit the second and the third are refused.
 */
const RIGHT: readonly Step[] = [
  ['try', true, 0, 1, ['CALL_PERMITTED']],
  ['release', null, 1, 1, []],
  ['release', null, 1, 1, []],
  ['release', null, 1, 1, []],
  ['try', true, 0, 1, ['CALL_PERMITTED']],
  ['try', false, 0, 1, ['CALL_REJECTED']],
  ['try', false, 0, 1, ['CALL_REJECTED']],
  ['complete', null, 1, 1, ['CALL_FINISHED']],
]

describe('the bulkhead replays resilience4j', () => {
  test.each(vectors.cases)('$name: $description', (recorded) => {
    const bulkhead = new Replayed(recorded.config)
    const isDefect = recorded.tags?.includes('upstream-defect') === true
    if (isDefect) expect(recorded.steps.map(([op]) => op)).toEqual(RIGHT.map(([op]) => op))
    vectors.replay(recorded, (step, index) => {
      const [op, result, available, max, events] = isDefect ? RIGHT[index]! : step
      expect([op, ...bulkhead.play(op)]).toEqual([op, result, events])
      expect([bulkhead.gate.available, bulkhead.gate.limit]).toEqual([available, max])
    })
  })

  test('no step is left out', () => {
    console.log(vectors.summary)
    expect(vectors.replayed).toBe(vectors.steps)
  })
})
