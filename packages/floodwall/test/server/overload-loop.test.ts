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
  endedAt: number
  ok: boolean
}

/** What becomes of calls to handlers of `handlerMs` at `load` times the capacity, after two seconds. */
function looped(handlerMs: number, load: number, seconds: number): { seen: Seen[]; bound: number } {
  let seed = 1
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
    for (; due <= now; due -= Math.log(1 - random()) / (load * perMs)) came.push(due)
  }
  const end = now + seconds * 1000
  while (now < end) {
    arrive()
    if (came.length === 0 && chores.length === 0) {
      slept += due - now
      now = due
      arrive()
    }
    turns++
    for (const at of came.splice(0)) {
      now += PARSE_MS
      const one: Seen = { at, waitedMs: delay.waited(UNKNOWN), endedAt: 0, ok: false }
      seen.push(one)
      guarded.start(
        (_, done) => {
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
  const late = seen.filter(({ at }) => at > 3000)
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
