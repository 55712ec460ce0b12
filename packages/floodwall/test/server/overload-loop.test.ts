import { overload, pipeline, type Runtime } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { answered } from '../../src/core/outcome.ts'
import { QueueDelay, UNKNOWN } from '../../src/server/queue-delay.ts'

// One event loop in virtual time, handlers that block it, and all that the edge knows of waiting: an estimate. Turns find all that came during the
// turn before, at once; so arrivals look like bursts to whoever does not know that.

const PARSE_MS = 0.02
const REFUSE_MS = 0.03

interface Seen {
  readonly at: number
  readonly waitedMs: number
  startedAt: number
  endedAt: number
  ok: boolean
}

/** What becomes of calls to handlers of `handlerMs` at `load` times the capacity, after two seconds; before `stepAt` it is once the capacity. Once a second the loop stands still for `pauseMs`. */
function looped(handlerMs: number, load: number, seconds: number, stepAt = 0, seed = 1, pauseMs = 0) {
  const random = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return seed / 2 ** 32
  }
  let [now, slept, turns] = [1000, 0, 0]
  let chores: (() => void)[] = []
  const none = () => {}
  const runtime: Runtime = {
    ...{ now: () => now, precise: () => now, random, emit: none, after: () => none, bind: (fn) => fn },
    soon: (fn) => void chores.push(fn),
  }
  const delay = new QueueDelay(runtime, { idleMs: () => slept, turns: () => turns })
  const guarded = pipeline('api', [overload()], { runtime })
  const perMs = 1 / (handlerMs + PARSE_MS)
  const came: number[] = []
  const seen: Seen[] = []
  let due = now
  const arrive = () => {
    for (; due <= now; due -= Math.log(1 - random()) / ((due < stepAt ? 1 : load) * perMs)) came.push(due)
  }
  const end = now + seconds * 1000
  let pauseAt = pauseMs > 0 ? 1500 : Number.POSITIVE_INFINITY
  while (now < end) {
    if (now >= pauseAt) {
      pauseAt += 1000
      now += pauseMs
    }
    arrive()
    if (came.length === 0 && chores.length === 0) {
      slept += due - now
      now = due
      arrive()
    }
    turns++
    for (const at of came.splice(0)) {
      now += PARSE_MS
      const one: Seen = { at, waitedMs: delay.waited(UNKNOWN), startedAt: 0, endedAt: 0, ok: false }
      seen.push(one)
      guarded.start(
        (_, done) => {
          one.startedAt = now
          now += handlerMs
          done(answered(1, 'success', 0, true))
        },
        ({ ok }) => {
          if (!ok) now += REFUSE_MS
          one.ok = ok
          one.endedAt = now
        },
        { waitedMs: one.waitedMs },
      )
    }
    const check = chores
    chores = []
    for (const chore of check) chore()
  }
  // Not those who still wait when it is over.
  const late = seen.filter(({ at, endedAt }) => at > 3000 && endedAt > 0)
  const refused = late.filter(({ ok }) => !ok).length / (end - 3000)
  return { seen: late, bound: perMs * (1 - refused * (PARSE_MS + REFUSE_MS)) * (end - 3000) }
}

const good = ({ seen }: { seen: Seen[] }) => seen.filter(({ ok, at, endedAt }) => ok && endedAt - at <= 1000).length

describe.each([
  ['1 ms', 1, 8],
  ['5 ms', 5, 12],
  ['20 ms', 20, 22],
] as const)('handlers of %s', (_, handlerMs, seconds) => {
  test.each([4, 10])('at %d times the load they are busy with good answers', (load) => {
    const run = looped(handlerMs, load, seconds)
    expect(good(run) / run.bound).toBeGreaterThan(0.97)
  })

  test('at twice the load, nearly', () => {
    const run = looped(handlerMs, 2, seconds)
    expect(good(run) / run.bound).toBeGreaterThan(0.96)
  })

  test('at 0.8 of the load nobody is refused', () => {
    const { seen } = looped(handlerMs, 0.8, seconds)
    expect(seen.filter(({ ok }) => !ok).length / seen.length).toBe(0)
  })
})

test.each([
  ['5 ms', 5, 40, 60],
  ['20 ms', 20, 100, 250],
] as const)(
  'handlers of %s: from 1 to 4 times the load, the delay is soon what it may be in a surge',
  (_, handlerMs, usualMs, mostMs) => {
    const stepAt = 1000 + 400 * handlerMs
    const seeds = Array.from({ length: 15 }, (_, i) => i + 1)
    const backMs = seeds.map((seed) => {
      const { seen } = looped(handlerMs, 4, (stepAt + 40 * handlerMs) / 1000, stepAt, seed)
      const begun = seen.filter(({ startedAt }) => startedAt >= stepAt).sort((a, b) => a.startedAt - b.startedAt)
      const delays = begun.map(({ at, startedAt }) => startedAt - at)
      // Handlers that always take the same: twice the target is twice that. From when on has the middle one of five not waited longer?
      const bound = 2.1 * handlerMs
      const first = delays.findIndex((_, i) => (delays.slice(i, i + 5).sort((a, b) => a - b)[2] ?? 0) <= bound)
      return (begun[first]?.startedAt ?? Infinity) - stepAt
    })
    backMs.sort((a, b) => a - b)
    expect(backMs[7]).toBeLessThan(usualMs)
    expect(backMs[14]).toBeLessThan(mostMs)
  },
)

test.each([6, 20, 60, 150])(
  'a loop that stands still for %d ms, as for a collection, refuses nobody for it who is done soon',
  (pauseMs) => {
    // Ten come in a millisecond: with 150 ms there are more than may wait.
    const { seen } = looped(0.03, 0.5, 8, 0, 1, pauseMs)
    expect(seen.length).toBeGreaterThan(40_000)
    expect(seen.filter(({ ok }) => !ok).length).toBe(0)
    const waits = seen.map(({ at, endedAt }) => endedAt - at)
    expect(Math.max(...waits.slice(0, 60_000))).toBeLessThan(pauseMs * 2 + 5)
  },
)
