import type { Gate, Rejection, Snapshot } from '../../core/gate.ts'
import { Permit } from '../../core/gate.ts'
import type { Layer } from '../../core/layer.ts'
import type { Env } from '../../core/runtime.ts'
import type { OverrideLimit } from './hot-parameter-overrides.ts'
import { behaviourOf, type HotParameterSettings } from './hot-parameter-settings.ts'
import { type Counting, ParameterTable } from './hot-parameter-table.ts'
import type { Told } from './hot-parameter-value.ts'
import { rateLimit } from './rate-limit.ts'
import { bulkhead } from './semaphore.ts'

// May this one pass, as far as the item, the user, the shop is concerned that it is about?
//
// Source: the hot parameters of Sentinel, whose limits per value are kept and whose counters are not: a value has a bulkhead, or an exact rate by GCRA
// and no bucket that is filled in steps. The permit is the counter's own, so that its end comes to the counter at which it began.
//
// slots 2: of five calls with A two pass, and with B two others.
//
// Invariant: no value has more inside than its slots, or gets more than burst + rate · t in any span t, whatever was evicted meanwhile; and what it
// gets of the shared record while nobody can be evicted comes on top.

/** What counts for one value, as far as it is a gate. */
abstract class ByGate implements Counting<Gate> {
  protected readonly env: Env

  constructor(env: Env) {
    this.env = env
  }

  abstract layerOf(settings: HotParameterSettings, limit: OverrideLimit | undefined): Layer
  abstract loss(counter: Gate, now: number): number
  abstract owing(fresh: Gate, owedMs: number, now: number): Gate

  make(layer: Layer, previous?: Gate): Gate {
    return layer.build(this.env, previous) as Gate
  }
}

class BySlots extends ByGate {
  layerOf({ slots = 0 }: HotParameterSettings, limit: OverrideLimit | undefined): Layer {
    return bulkhead({ slots: typeof limit === 'number' ? limit : slots })
  }

  loss(counter: Gate, now: number): number {
    return counter.idle?.(now) === true ? 0 : Number.POSITIVE_INFINITY
  }

  /** Who has calls inside stays: there are no debts. */
  owing(fresh: Gate): Gate {
    return fresh
  }
}

class ByRate extends ByGate {
  layerOf({ rate: common = 0, per, burst }: HotParameterSettings, limit: OverrideLimit | undefined): Layer {
    const rate = typeof limit === 'object' ? limit.rate : (limit ?? common)
    const most = typeof limit === 'object' ? limit.burst : burstFor(rate, common, burst)
    return rateLimit({ rate, per, algorithm: 'gcra', ...(most === undefined ? {} : { burst: most }) })
  }

  loss(counter: Gate, now: number): number {
    if (counter.idle?.(now) === true) return 0
    const { tokens, burst, perSecond } = shownBy(counter, now)
    // At rate 0 nothing is ever earned.
    return burst > tokens ? ((burst - tokens) / perSecond) * 1000 : 0
  }

  /** A counter of its own: what the leaver cancels later is not given to the newcomer. */
  owing(fresh: Gate, owedMs: number, now: number): Gate {
    const { tokens, burst, perSecond } = shownBy(fresh, now)
    const cost = Math.min(tokens, (owedMs * perSecond) / 1000 - (burst - tokens))
    if (cost > 0) fresh.tryAcquire({ now, deadline: Number.POSITIVE_INFINITY, criticality: 'critical', cost, key: '' })
    return fresh
  }
}

interface ShownRate {
  readonly tokens: number
  readonly burst: number
  readonly perSecond: number
}

function shownBy(counter: Gate, now: number): ShownRate {
  return counter.inspect(now) as unknown as ShownRate
}

/** A value with ten times the rate has ten times the burst. */
function burstFor(rate: number, common: number, burst: number | undefined): number | undefined {
  if (burst === undefined || rate === common || common === 0) return burst
  return rate === 0 ? 0 : Math.max(1, (burst * rate) / common)
}

export class HotParameter implements Gate {
  readonly kind = 'hotParameter'
  readonly path: string
  readonly holds: boolean
  /** @internal */ readonly table: ParameterTable<Gate>

  constructor(settings: HotParameterSettings, env: Env) {
    this.path = env.path
    this.holds = behaviourOf(settings) === 'concurrency'
    this.table = new ParameterTable<Gate>(settings, this.holds ? new BySlots(env) : new ByRate(env), env)
  }

  tryAcquire(ask: Told): Permit | Rejection {
    const record = this.table.recordOf(ask, ask.now)
    if (record === undefined) return new Permit(this, 0)
    const answer = record.counter.tryAcquire(ask)
    return answer.ok ? answer : this.table.refuse(this, answer, record)
  }

  /** Permits belong to the counters; what is not limited has taken nothing. */
  settled(): void {}
  cancelled(): void {}

  idle(now: number): boolean {
    for (const { counter } of this.table.records()) if (counter.idle?.(now) !== true) return false
    return true
  }

  inspect(): Snapshot {
    return { kind: this.kind, path: this.path, ...this.table.inspect(0) }
  }
}
