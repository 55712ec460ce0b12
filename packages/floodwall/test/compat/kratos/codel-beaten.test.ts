import { answered, bulkhead, pipeline, queue } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { leftIn, NOTHING } from '../../core/fate.ts'
import { type VectorCase, Vectors } from '../../support/vectors.ts'
import type { KratosConfig } from './codel-queue.ts'

// The same arrivals, work and deadlines before our queue as it comes, and what was recorded of kratos. An answer is good when it comes before
// the deadline; what began too late took its slot in vain.

type Queued = readonly [op: 'q', arriveMs: number, serviceMs: number, deadlineMs: number, outcome: string, at: number]
interface Config extends KratosConfig {
  readonly mode: 'judge' | 'queue'
}
type Case = VectorCase<Config, Queued>

/** What came of a trace. */
interface Result {
  readonly good: number
  /** Of those that were let in, in milliseconds. */
  readonly medianWait: number
  /** Good ones of the last fifth. */
  readonly lateGood: number
}

const cases = new Vectors<Config, Queued>('codel.json').cases.filter(({ config }) => config.mode === 'queue')
const lines: string[] = []

function resultOf(steps: readonly Queued[], startOf: (step: Queued, i: number) => number | undefined): Result {
  let [good, lateGood] = [0, 0]
  const waits: number[] = []
  steps.forEach((step, i) => {
    const start = startOf(step, i)
    if (start === undefined) return
    const [, arriveMs, serviceMs, deadlineMs] = step
    waits.push(start - arriveMs)
    if (start + serviceMs > arriveMs + deadlineMs) return
    good++
    if (i >= steps.length * 0.8) lateGood++
  })
  waits.sort((a, b) => a - b)
  return { good, lateGood, medianWait: waits[Math.floor(waits.length / 2)] ?? Number.NaN }
}

const recorded = ({ steps }: Case): Result =>
  resultOf(steps, ([, , , , outcome, at]) => (outcome === 'ok' ? at : undefined))

function ours({ config, steps }: Case): Result {
  const world = new VirtualRuntime()
  const layers = [
    queue({ size: 2048, atMost: '60s', order: 'adaptive', codel: {} }),
    bulkhead({ slots: config.maxOutstanding }),
  ]
  const p = pipeline('p', layers, { runtime: world })
  const starts: number[] = []
  steps.forEach(([, arriveMs, serviceMs, within], i) => {
    world.after(arriveMs, () =>
      p.start(
        (_, done) => {
          starts[i] = world.now()
          world.after(serviceMs, () => done(answered(1)))
        },
        () => {},
        { within },
      ),
    )
  })
  world.run()
  expect(leftIn(world, p)).toEqual(NOTHING)
  return resultOf(steps, (_, i) => starts[i])
}

function compared(name: string): { theirs: Result; mine: Result; most: number } {
  const found = cases.find((one) => one.name === name) as Case
  const { steps, config } = found
  const [theirs, mine] = [recorded(found), ours(found)]
  // What so many slots can do from the first arrival to the last.
  const work = steps.reduce((sum, [, , serviceMs]) => sum + serviceMs, 0) / steps.length
  const most = Math.min(steps.length, (config.maxOutstanding * (steps.at(-1)?.[1] ?? 0)) / work)
  const show = ({ good, medianWait }: Result) => `${good} good, median wait ${medianWait.toFixed(0)} ms`
  lines.push(`${name}: kratos ${show(theirs)}; ours ${show(mine)}; ${most.toFixed(0)} can be done of ${steps.length}`)
  return { theirs, mine, most }
}

afterAll(() => console.log(lines.join('\n')))

describe('the queue, on the traces of kratos', () => {
  test('at half its load nobody is refused, and nobody waits longer', () => {
    const { theirs, mine } = compared('queue-underload')
    expect([theirs.good, mine.good]).toEqual([100, 100])
    expect(mine.medianWait).toBe(theirs.medianWait)
  })

  test('at 1.5 times its load', () => {
    const { theirs, mine, most } = compared('queue-overload-1.5x')
    expect(mine.good).toBeGreaterThan(1.3 * theirs.good)
    expect(mine.good).toBeGreaterThan(0.97 * most)
    expect(mine.medianWait).toBeLessThan(45)
  })

  test('at four times its load: kratos serves who is about to give up', () => {
    const { theirs, mine, most } = compared('queue-overload-4x')
    expect(theirs.medianWait).toBeGreaterThan(900)
    expect(mine.medianWait).toBeLessThan(20)
    expect(mine.good).toBeGreaterThan(2 * theirs.good)
    expect(mine.good).toBeGreaterThan(0.97 * most)
  })

  test('at ten times its load, with short deadlines', () => {
    const { theirs, mine, most } = compared('queue-overload-10x-short-deadline')
    expect(mine.medianWait).toBeLessThan(10)
    expect(mine.good).toBeGreaterThan(10 * theirs.good)
    expect(mine.good).toBeGreaterThan(0.97 * most)
  })

  test('a full line', () => {
    // Callers wait for a minute here, so that to serve them late is good; kratos drops more and more of them.
    const { theirs, mine } = compared('queue-capacity')
    expect(mine.good).toBeGreaterThan(1.5 * theirs.good)
  })

  test('after a burst with callers who have left: kratos never serves again, ours serves all', () => {
    const { theirs, mine } = compared('queue-leak-wedge')
    expect([theirs.lateGood, mine.lateGood]).toEqual([0, 18])
  })
})
