import type { OverrideLimit } from '../algorithms/gates/hot-parameter-overrides.ts'
import type { HotParameterSettings } from '../algorithms/gates/hot-parameter-settings.ts'
import { type Counting, ParameterTable, type ValueRecord } from '../algorithms/gates/hot-parameter-table.ts'
import { costOf } from '../algorithms/rates/rate.ts'
import type { Call } from '../core/call.ts'
import { type Refuser, Rejection, type Snapshot } from '../core/gate.ts'
import type { Layer } from '../core/layer.ts'
import { type Outcome, refused } from '../core/outcome.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import type { Env } from '../core/runtime.ts'
import { Answer, type Sink, type Step, stepFrom } from '../core/step.ts'
import { pace } from './pace.ts'

// When is it the turn of this one, among those that are about the same item?
//
// Source: the throttling of Sentinel's hot parameters, as a wait and not as a sleep: each value has a pace of its own, first come, first served, and
// who leaves the line leaves his turn to those behind him.
//
// 10 a second, maxWait 500 ms: of seven calls with A at once six go, after 0, 100, ... 500 ms; one with B goes at once.
//
// Invariant: no line goes faster than its rate; at most `size` calls wait, and one more for each value whose line is empty; nobody waits longer
// than `maxWait`. A value has one line: its own, or while nobody can be evicted the shared one. Who went without waiting calls and comes back goes
// on in the line of another, and may go once before his own turn.

/** What goes at once after a pause: one. */
const ONE = 1

/** The line of one value. */
interface Lane {
  readonly pace: Policy
  readonly step: Step
}

/** Out of the line: on its way, with what came with it. */
const goOn: Step = (call, sink) => (sink as Turn).begin(call)

class ByPace implements Counting<Lane> {
  closed = false
  private readonly env: Env

  constructor(env: Env) {
    this.env = env
  }

  layerOf({ rate: common = 0, per, maxWait = 0, size }: HotParameterSettings, limit: OverrideLimit | undefined): Layer {
    const rate = typeof limit === 'object' ? limit.rate : (limit ?? common)
    return pace({ rate, per, burst: rate === 0 ? 0 : ONE, atMost: maxWait, size })
  }

  make(layer: Layer, previous?: Lane): Lane {
    const built = layer.build(this.env, previous?.pace) as Policy
    if (this.closed) built.close?.()
    return built === previous?.pace ? previous : { pace: built, step: built.step?.(goOn) as Step }
  }

  loss({ pace: line }: Lane, now: number): number {
    return (line.waiting ?? 0) > 0 ? Number.POSITIVE_INFINITY : waitOf(line, now)
  }

  /** The line itself. What the value owed in a line of its own is one turn at most. */
  owing(fresh: Lane, _owedMs: number, _now: number, leaver: Lane | undefined): Lane {
    return leaver ?? fresh
  }
}

/** How long a call of cost 1 would wait. With a burst of 1 that is the whole debt. */
function waitOf(line: Policy, now: number): number {
  return line.inspect?.(now)['waitMs'] as number
}

/** A call in the line of its value. */
class Turn implements Sink {
  private readonly room: HotParameterPace
  private readonly record: ValueRecord<Lane>
  private readonly inner: Step
  private readonly sink: Sink

  constructor(room: HotParameterPace, record: ValueRecord<Lane>, inner: Step, sink: Sink) {
    this.room = room
    this.record = record
    this.inner = inner
    this.sink = sink
  }

  begin(call: Call): void {
    this.room.leave()
    const { inner } = this
    inner(call, this.sink)
  }

  /** It has not begun, or another sink would hear of it. */
  settle(outcome: Outcome<unknown>): void {
    this.room.leave()
    const { rejection } = outcome
    this.sink.settle(rejection === undefined ? outcome : this.room.refusal(rejection, this.record))
  }

  succeed(): void {
    throw new TypeError('nothing succeeds in a line')
  }
}

export class HotParameterPace implements Policy, Refuser {
  readonly kind = 'hotParameter'
  readonly path: string
  /** @internal */ readonly table: ParameterTable<Lane>
  private readonly env: Env
  private readonly counting: ByPace
  private inLine = 0

  constructor(settings: HotParameterSettings, env: Env) {
    this.path = env.path
    this.env = env
    this.counting = new ByPace(env)
    this.table = new ParameterTable<Lane>(settings, this.counting, env)
  }

  run(call: Call, next: Next, done: Done): void {
    this.step(stepFrom(next))(call, new Answer(done))
  }

  step(inner: Step): Step {
    return (call, sink) => {
      const now = this.env.now()
      const record = this.table.recordOf(call, now)
      if (record === undefined) return inner(call, sink)
      const { counter } = record
      if (this.inLine >= this.places && this.wouldWait(counter, call, now)) {
        return sink.settle(this.refusal(this.full(counter, now), record))
      }
      this.inLine++
      counter.step(call, new Turn(this, record, inner, sink))
    }
  }

  private get places(): number {
    return this.table.settings.size as number
  }

  private wouldWait({ pace: line }: Lane, { cost }: Call, now: number): boolean {
    return costOf(cost) > ONE || waitOf(line, now) > 0
  }

  private full({ pace: line }: Lane, now: number): Rejection {
    return new Rejection(this, 'queue-full', waitOf(line, now), this.inLine, this.places)
  }

  /** @internal */
  leave(): void {
    this.inLine--
  }

  /** @internal */
  refusal(inner: Rejection, record: ValueRecord<Lane>): Outcome<never> {
    return refused(this.table.refuse(this, inner, record))
  }

  explain({ value, limit }: Rejection): string {
    return `${value} wait already, in ${limit} places`
  }

  get waiting(): number {
    return this.inLine
  }

  close(): void {
    this.counting.closed = true
    for (const { counter } of this.table.records()) counter.pace.close?.()
  }

  inspect(): Snapshot {
    return { kind: this.kind, path: this.path, ...this.table.inspect(this.inLine) }
  }
}
