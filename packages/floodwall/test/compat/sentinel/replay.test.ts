import type { Permit } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { SentinelGate } from '../../../src/compat/sentinel/index.ts'
import { admitted, rejected } from '../../support/asks.ts'
import {
  type BreakerCase,
  breakerCases,
  type EntryStep,
  entryCases,
  named,
  type Step,
  type Transition,
  transition,
  vectors,
} from './vectors.ts'

/** Time is what the step says: the recorded clock also goes back. */
class Clock {
  ms = 0
  private readonly world = new VirtualRuntime()

  env(path: string) {
    return { ...this.world.env(path), now: () => this.ms }
  }
}

/** One breaker, through the gate of its resource. */
class Single {
  private readonly gate: SentinelGate
  private readonly permits = new Map<number, { permit: Permit; since: number }>()
  private changes: Transition[] = []

  constructor({ name, rule, created_ms }: BreakerCase) {
    const clock = new Clock()
    clock.ms = created_ms
    this.gate = new SentinelGate(name, clock.env(name), (breaker, from) => this.changes.push(transition(breaker, from)))
    this.gate.loadRules([rule])
  }

  play(step: Step): void {
    this.changes = []
    const [now, op, id] = step
    if (op === 'try_pass') this.enter(now, id, step[3])
    else {
      const { permit, since } = this.permits.get(id)!
      this.permits.delete(id)
      if (op === 'blocked_exit') permit.cancel(now)
      else {
        expect(step[3]).toBe(Math.max(0, now - since))
        permit.settle(step[4] ? 'failure' : 'success', now - since, now)
      }
    }
    expect(this.seen(step)).toEqual(step.filter((part) => !Array.isArray(part)))
    expect(this.changes).toEqual(step.find((part) => Array.isArray(part)) ?? [])
  }

  private enter(now: number, id: number, passes: boolean): void {
    if (!passes) return void rejected(this.gate, now)
    this.permits.set(id, { permit: admitted(this.gate, now), since: now })
  }

  /** The step as it would have been recorded here. */
  private seen([now, op, id, ...given]: Step): unknown[] {
    const [{ state, window, goodProbes }] = this.gate.breakers as [SentinelGate['breakers'][number]]
    if (op === 'try_pass') return [now, op, id, given[0], named(state)]
    if (op === 'blocked_exit') return [now, op, id, named(state)]
    this.gate.inspect(now)
    return [now, op, id, given[0], given[1], named(state), window.total, window.bad, goodProbes]
  }
}

/** A resource with its rules; the exits are given to whatever breakers there are. */
class Resource {
  private readonly clock = new Clock()
  private readonly gate: SentinelGate
  private readonly entries = new Map<number, { permit: Permit; since: number }>()
  private changes: object[] = []

  constructor(name: string) {
    this.gate = new SentinelGate(name, this.clock.env(name), (breaker, from) => {
      const { next_retry_ms: _, ...change } = transition(breaker, from)
      this.changes.push({ rule: breaker.rule.id, ...change })
    })
  }

  play(step: EntryStep): void {
    this.changes = []
    this.clock.ms = step.t_ms
    if (step.op === 'enter') this.enter(step)
    else if (step.op === 'exit') this.exit(step)
    else {
      const changed =
        step.op === 'load_rules' ? this.gate.loadRules(step.rules) : this.gate.loadRulesOfResource(step.rules)
      expect(changed).toBe(step.changed)
    }
    this.gate.inspect(step.t_ms)
    const seen = this.gate.breakers.map(({ rule, state, window }) =>
      step.op === 'enter' ? [rule.id, named(state)] : [rule.id, named(state), window.total, window.bad],
    )
    expect(seen).toEqual(step.breakers)
    expect(this.changes).toEqual(step.events ?? [])
  }

  private enter(step: EntryStep & { op: 'enter' }): void {
    if (step.pass) this.entries.set(step.id, { permit: admitted(this.gate, step.t_ms), since: step.t_ms })
    else expect(rejected(this.gate, step.t_ms).gate.path).toBe(`${this.gate.path}/${step.blocked_by}`)
  }

  private exit({ id, t_ms, rt_ms, error }: EntryStep & { op: 'exit' }): void {
    const { permit, since } = this.entries.get(id)!
    expect(t_ms - since).toBe(rt_ms)
    permit.settle(error ? 'failure' : 'success', rt_ms, t_ms)
  }
}

describe('the replica of one breaker replays Sentinel', () => {
  test.each(breakerCases)('$name: $description', (recorded) => {
    const single = new Single(recorded)
    vectors.replay(recorded, (step) => single.play(step as Step))
  })
})

describe('the replica of a resource replays Sentinel', () => {
  test.each(entryCases)('$name: $description', (recorded) => {
    const resource = new Resource(recorded.name)
    vectors.replay(recorded, (step) => resource.play(step as EntryStep))
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches`)
    expect([vectors.replayed, vectors.steps]).toEqual([6795, 6795])
    expect([breakerCases.length, entryCases.length]).toEqual([55, 16])
  })
})
