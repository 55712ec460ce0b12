import { acquireAll, type Breaker, cancelAll, type Gate, type Permit, settleAll } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { fromSentinel, type SentinelRule } from '../../../src/compat/sentinel/index.ts'
import { ask } from '../../support/asks.ts'
import { type BreakerCase, type EntryCase, named, type Step } from './vectors.ts'

/** The recorded calls, offered to the breakers that the rules become when they are imported: ids and ends as recorded, answers our own. */
export class Traffic {
  readonly world = new VirtualRuntime()
  readonly gates: readonly Breaker[]
  /** Calls that passed, in order. */
  readonly admitted: number[] = []
  readonly refused: number[] = []
  private now: number
  private readonly permits = new Map<number, { permit: Permit; since: number }>()

  constructor(rules: readonly SentinelRule[], startAt: number) {
    this.now = startAt
    const [layers = []] = fromSentinel(rules).layers.values()
    this.gates = layers.map((layer, i) => {
      const env = { ...this.world.env(`abc/breaker-${i + 1}`), now: () => this.now, random: () => 0 }
      return layer.build(env) as Breaker
    })
  }

  /** Every change of state: `1: closed -> open`. */
  get changes(): string[] {
    return this.world.events.flatMap((event) =>
      event.type === 'state' ? [`${event.path.slice(-1)}: ${event.from} -> ${event.to}`] : [],
    )
  }

  get states(): string[] {
    return this.gates.map((gate) => gate.state(this.now))
  }

  /** A call that Sentinel refused, and that has no recorded end, goes well at once if it passes here. */
  enter(id: number, now: number, ends: boolean): void {
    this.now = now
    const answer = acquireAll(this.gates as readonly Gate[], ask(now))
    if (!answer.ok) return void this.refused.push(id)
    this.admitted.push(id)
    if (ends) this.permits.set(id, { permit: answer, since: now })
    else settleAll(answer, 'success', 0, now)
  }

  exit(id: number, failed: boolean, now: number): void {
    this.now = now
    const entry = this.permits.get(id)
    this.permits.delete(id)
    if (entry !== undefined) settleAll(entry.permit, failed ? 'failure' : 'success', now - entry.since, now)
  }

  block(id: number, now: number): void {
    this.now = now
    const entry = this.permits.get(id)
    this.permits.delete(id)
    if (entry !== undefined) cancelAll(entry.permit, now)
  }
}

/** Offers a recording of one breaker. */
export function offered(recorded: BreakerCase): Traffic {
  const traffic = new Traffic([recorded.rule], recorded.created_ms)
  for (const step of recorded.steps) offer(traffic, step)
  return traffic
}

function offer(traffic: Traffic, step: Step): void {
  const [now, op, id] = step
  if (op === 'try_pass') traffic.enter(id, now, step[3])
  else if (op === 'complete') traffic.exit(id, step[4], now)
  else traffic.block(id, now)
}

/** The first step after which a call was answered otherwise than in Sentinel, or the state is another one; undefined: there is none. */
export function firstDifference(recorded: BreakerCase): Step | undefined {
  const traffic = new Traffic([recorded.rule], recorded.created_ms)
  return recorded.steps.find((step) => {
    const passed = traffic.admitted.length
    offer(traffic, step)
    if (step[1] === 'try_pass' && traffic.admitted.length > passed !== step[3]) return true
    const state = step.find((part) => part === 'Closed' || part === 'Open' || part === 'HalfOpen')
    // Ours reads as half-open once a probe would pass, theirs when one has; and the place of a probe that went back is free in either.
    return named(traffic.states[0] ?? '') !== state && step[1] === 'complete'
  })
}

/** The same of a resource whose rules are loaded once, first of all. */
export function offeredToAll(recorded: EntryCase): Traffic {
  const [first, ...rest] = recorded.steps
  if (first?.op !== 'load_rules') throw new Error('the rules come first')
  const traffic = new Traffic(first.rules, first.t_ms)
  for (const step of rest) {
    if (step.op === 'enter') traffic.enter(step.id, step.t_ms, step.pass)
    else if (step.op === 'exit') traffic.exit(step.id, step.error, step.t_ms)
    else throw new Error('the rules are loaded once')
  }
  return traffic
}
