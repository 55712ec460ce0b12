import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Resilience4jBreaker, type Resilience4jState } from '../../../src/compat/resilience4j/index.ts'
import { DIFFERENCES, LATE_DIFFERENCES } from './differences.ts'
import { byHand, Ours } from './ours.ts'
import { cases, isTagged, optionsOf, type Recorded, stepOf } from './recorded.ts'
import { Traffic } from './traffic.ts'

let compared = 0
let skipped = 0

/** Plays up to the difference that is listed, and fails at any other. */
function compare(recorded: Recorded, listed: (typeof DIFFERENCES)[string] | undefined, clean: boolean): void {
  const ours = new Ours(recorded)
  const steps = recorded.steps.slice(0, listed === undefined ? undefined : listed.step + 1)
  for (const [index, row] of steps.entries()) {
    const step = stepOf(row)
    const shown = ours.play(step)
    if (clean) ours.traffic.forget()
    if (shown === undefined) continue
    compared++
    const theirs = [step.permitted, step.state]
    const right = index === listed?.step ? listed.ours : theirs
    expect([index, ...shown]).toEqual([index, ...right])
    if (right !== theirs) expect(right, listed?.why).not.toEqual(theirs)
  }
  skipped += ours.skipped
}

const punctual = cases.filter((recorded) => !isTagged(recorded, 'late-result', 'upstream-defect', 'upstream-weakness'))
const late = cases.filter((recorded) => isTagged(recorded, 'late-result'))
const scripted = late.filter((recorded) => !isTagged(recorded, 'random'))

describe('the default replays what any faithful breaker must', () => {
  test.each(punctual)('$name: $description', (recorded) => compare(recorded, DIFFERENCES[recorded.name], true))

  test('every difference is listed, and none besides', () => {
    const listed = Object.keys(DIFFERENCES)
    const all = punctual.reduce((sum, { steps }) => sum + steps.length, 0)
    const agree = punctual.length - listed.length
    console.log(
      `default: ${agree} of ${punctual.length} cases agree to the end, ${compared} of ${all} steps compared, ${skipped} in the last millisecond of an open time`,
    )
    // As docs/from-resilience4j.md says.
    expect([agree, punctual.length]).toEqual([47, 70])
    expect(listed.filter((name) => !punctual.some((recorded) => recorded.name === name))).toEqual([])
  })
})

describe('a late result never decides', () => {
  test.each(scripted)('$name: $description', (recorded) => {
    compare(recorded, LATE_DIFFERENCES[recorded.name], false)
  })

  let found = 0

  test.each(late)('$name: no late end changes state or probes', (recorded) => {
    const ours = new Ours(recorded)
    for (const row of recorded.steps) {
      const step = stepOf(row)
      ours.world.advance(step.at - ours.world.now())
      const before = [ours.state, ours.probes]
      if (!ours.traffic.endsLate(step)) {
        ours.play(step)
        continue
      }
      ours.play(step)
      found++
      expect([ours.state, ours.probes]).toEqual(before)
    }
  })

  test('there were some', () => {
    console.log(`default: ${found} late ends, none of which decided`)
    expect(late.length).toBe(33)
    expect(found).toBeGreaterThan(1000)
  })
})

describe('the replica as a gate, through permits', () => {
  test.each(punctual)('$name', (recorded) => {
    const world = new VirtualRuntime({ startAt: recorded.createdAt_t_ms ?? 0 })
    const gate = new Resilience4jBreaker(optionsOf(recorded), world.env())
    const state = () => gate.state(world.now())
    let changes = 0
    gate.onEvent(({ type }) => {
      if (type === 'STATE_TRANSITION') changes++
    })
    const traffic = new Traffic(
      world,
      gate,
      state,
      () => changes,
      (op, arg) => {
        const now = world.now()
        changes++
        if (op === 'reset') gate.reset(now)
        else if (op.endsWith('open_for')) gate.transitionToOpenStateFor(arg, now)
        else if (op.endsWith('open_until')) gate.transitionToOpenStateUntil(arg, now)
        else
          try {
            gate.transitionTo(byHand(op) as Resilience4jState, now)
          } catch (error) {
            expect(error).toBeInstanceOf(RangeError)
          }
        return true
      },
    )
    for (const [index, row] of recorded.steps.entries()) {
      const step = stepOf(row)
      // A gate is told no results, so that no transition can hang on one.
      if (recorded.name === 'transition-on-result' && index >= 2) break
      const permitted = traffic.play(step)
      traffic.forget()
      expect([index, permitted, state()]).toEqual([index, step.permitted, step.state])
    }
  })
})
