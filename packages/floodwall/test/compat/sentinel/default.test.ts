import { answered, failed, type Next, type Outcome, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { fromSentinel } from '../../../src/compat/sentinel/index.ts'
import { layerOf } from '../../core/fate.ts'
import { offered, offeredToAll } from './traffic.ts'
import { breakerCase, breakerCases, entryCase } from './vectors.ts'

// The recordings hold faults that the replica repeats. The same traffic, through the breakers that the same rules become when they are
// imported: asserted the other way, with the reason.

/** Calls that Sentinel refused in a recording. */
const refusedThere = (name: string): number[] =>
  breakerCase(name).steps.flatMap(([, op, id, passed]) => (op === 'try_pass' && !passed ? [id] : []))

const countOf = (name: string): number => breakerCase(name).steps.filter(([, op]) => op === 'try_pass').length

describe('a threshold that is reached without a fault opens nothing', () => {
  // Not a single call of these fails or is slow: to refuse anybody harms him and spares nobody.
  test.each(['slow-threshold-zero', 'error-ratio-threshold-zero', 'error-count-zero', 'error-count-below-one'])(
    '%s: everybody passes',
    (name) => {
      if (name !== 'error-ratio-threshold-zero') expect(refusedThere(name)).not.toEqual([])
      const traffic = offered(breakerCase(name))
      expect(traffic.changes).toEqual([])
      expect(traffic.refused).toEqual([])
      expect(traffic.admitted).toHaveLength(countOf(name))
    },
  )

  test('the first fault does: what a threshold of 0 is meant to be', () => {
    for (const name of ['error-ratio-threshold-zero', 'error-count-zero', 'error-count-below-one']) {
      const { rule, created_ms, ...recorded } = breakerCase(name)
      const calls = [1, 2, 3, 4, 5].flatMap((id) => [
        [created_ms + id, 'try_pass', id, true, 'Closed'] as const,
        [created_ms + id, 'complete', id, 0, id === 5, 'Closed', 0, 0, 0] as const,
      ])
      expect(offered({ ...recorded, rule, created_ms, steps: calls }).changes).toEqual(['1: closed -> open'])
    }
  })
})

test('half-open-stuck-forever: a probe that never ends lapses, and the next call is a probe', () => {
  // Its caller may have died, and nobody is left who could tell. Refused for good means an outage that only a restart ends.
  const name = 'half-open-stuck-forever'
  expect(refusedThere(name)).toEqual([4, 5, 6, 7, 8, 9])
  const traffic = offered(breakerCase(name))
  // 100 ms and 6 s after the probe it may still come back; a minute after it, it is not waited for.
  expect(traffic.refused).toEqual([4, 5])
  expect(traffic.admitted).toEqual([1, 2, 3, 6, 7, 8, 9])
  expect(traffic.changes).toEqual(['1: closed -> open', '1: open -> halfOpen', '1: halfOpen -> closed'])
})

test('half-open-unlimited-probes: two probes pass, and no more until they have decided', () => {
  // Who has just fallen over gets two calls to show that it stands, not all at once.
  const name = 'half-open-unlimited-probes'
  expect(refusedThere(name)).toEqual([])
  const traffic = offered(breakerCase(name))
  expect(traffic.admitted).toEqual([1, 2, 3, 4, 23])
  expect(traffic.refused).toEqual(Array.from({ length: 18 }, (_, i) => i + 5))
  expect(traffic.changes).toEqual(['1: closed -> open', '1: open -> halfOpen', '1: halfOpen -> closed'])
})

describe('who began before the opening does not decide about what comes after it', () => {
  test('late-success-closes: its success is of another time; the probe fails, and opens again', () => {
    const traffic = offered(breakerCase('late-success-closes'))
    expect(traffic.changes).toEqual(['1: closed -> open', '1: open -> halfOpen', '1: halfOpen -> open'])
    // Sentinel was closed by then, and let it pass.
    expect(traffic.refused).toEqual([5])
  })

  test('late-failure-reopens: its failure is of another time; the probe is good, and closes', () => {
    const traffic = offered(breakerCase('late-failure-reopens'))
    expect(traffic.changes).toEqual(['1: closed -> open', '1: open -> halfOpen', '1: halfOpen -> closed'])
    // Sentinel opened for 5 s more on it.
    expect(refusedThere('late-failure-reopens')).toEqual([5])
    expect(traffic.refused).toEqual([])
  })
})

test('probe-of-first-blocked-by-second: the first does not flap while the second is open', () => {
  // Four calls, eight events there. Here the probe goes back, and whoever comes next may have it.
  const recorded = entryCase('probe-of-first-blocked-by-second')
  const there = recorded.steps.flatMap(({ events = [] }) => events.filter(({ to }) => to === 'HalfOpen'))
  expect(there).toHaveLength(6)
  const traffic = offeredToAll(recorded)
  expect(traffic.changes).toEqual([
    '2: closed -> open',
    '1: closed -> open',
    '1: open -> halfOpen',
    '2: open -> halfOpen',
    '2: halfOpen -> closed',
    '1: halfOpen -> closed',
  ])
  expect([traffic.refused, traffic.admitted]).toEqual([
    [3, 4, 5, 6, 7, 8],
    [1, 2, 9, 10],
  ])
})

describe('a reload is no way to close a breaker', () => {
  // Sentinel begins closed with every rule that was touched, whatever the state: who edits a rule in an outage sends the traffic back.
  test.each(['reload-threshold', 'reload-retry-timeout'])('%s: it stays open to its time', (name) => {
    const { steps } = entryCase(name)
    const [before, after] = steps.flatMap((step) => (step.op === 'load_rules' ? [step.rules] : []))
    const reload = steps.findIndex((step, i) => i > 0 && step.op === 'load_rules')
    expect([steps[reload - 1]?.breakers[0]?.[1], steps[reload]?.breakers[0]?.[1]]).toEqual(['Open', 'Closed'])

    const world = new VirtualRuntime({ startAt: 1_000_000 })
    const layersOf = (rules: unknown) => fromSentinel(rules).layers.get(name) ?? []
    const p = pipeline(name, layersOf(before), { runtime: world })
    const down: Next = (_, done) => done(failed(new Error('down')))
    const ends: Outcome<unknown>[] = []
    for (let i = 0; i < 2; i++) p.start(down, (outcome) => ends.push(outcome))
    p.reload(layersOf(after))
    for (const ms of [15, 4000, 900]) {
      world.advance(ms)
      p.start(down, (outcome) => ends.push(outcome))
    }
    expect(ends.map(({ rejection }) => rejection?.reason)).toEqual([undefined, undefined, 'open', 'open', 'open'])
    world.advance(1000)
    p.start(
      (_, done) => done(answered('up')),
      (outcome) => ends.push(outcome),
    )
    expect([ends.at(-1)?.value, layerOf(p, 'breaker')['state']]).toEqual(['up', 'closed'])
  })
})

test('clock-steps-back-many-buckets: no call is lost', () => {
  // A clock that goes back drops calls there, and what they would have decided: the end of a probe as well.
  const traffic = offered(breakerCase('clock-steps-back-many-buckets'))
  expect(traffic.states).toEqual(['open'])
})

test('all recorded traffic: nothing is left behind, and no breaker stays half-open', () => {
  for (const recorded of breakerCases) {
    const traffic = offered(recorded)
    const [gate] = traffic.gates
    const last = recorded.steps.at(-1)![0]
    const day = 86_400_000
    // A day later everybody may try: a call that passes and goes well, as often as it takes.
    for (let i = 1; i <= 8; i++) traffic.enter(-i, last + day * i, false)
    expect([recorded.name, gate?.state(last + day * 9)]).toEqual([recorded.name, 'closed'])
  }
})
