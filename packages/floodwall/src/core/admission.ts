import type { Call } from './call.ts'
import { acquireAll, cancelAll, type Gate, type Permit, type Rejection, type Snapshot, settleAll } from './gate.ts'
import { type Outcome, refused, type Verdict } from './outcome.ts'
import type { Done, Next, Policy } from './policy.ts'
import type { Env } from './runtime.ts'
import { Answer, type Sink, type Step, stepFrom } from './step.ts'

/**
 * The one bridge from gates to policies: adjacent gates become one synchronous loop in and one out.
 * Evidence follows the outcome, occupancy the end of the work: a permit of a gate that `holds` stays out while the work still runs, also
 * when a timeout has freed the caller long ago.
 */
export class Admission implements Policy {
  readonly kind = 'admission'
  readonly path: string
  readonly gates: readonly Gate[]
  private readonly env: Env
  private readonly only: Gate | null
  private readonly timed: boolean

  constructor(gates: readonly Gate[], env: Env) {
    this.gates = gates
    this.path = env.path
    this.env = env
    this.only = gates.length === 1 ? (gates[0] as Gate) : null
    this.timed = gates.some((g) => g.timed === true)
  }

  run(call: Call, next: Next, done: Done): void {
    this.step(stepFrom(next))(call, new Answer(done))
  }

  step(inner: Step): Step {
    return (call, sink) => {
      const held = this.acquire(call)
      if (held.ok) inner(call, this.admitted(call, held, sink))
      else sink.settle(refused(held))
    }
  }

  /** What ends the permits when the outcome comes. */
  admitted(call: Call, held: Permit, sink: Sink): Sink {
    return new Admitted(this, call, held, this.start(call), sink)
  }

  /** All permits, as a chain, or the first refusal. */
  acquire(call: Call): Permit | Rejection {
    // Where a gate judges latency, the reading that it needs serves as the time of asking too.
    call.host.now = this.timed ? this.env.precise() : this.env.now()
    return this.only === null ? acquireAll(this.gates, call) : this.only.tryAcquire(call)
  }

  /** When the work began, right after {@link acquire}; -1 where no gate judges latency, which saves a boxed number. */
  start(call: Call): number {
    return this.timed ? call.host.now : -1
  }

  /** The outcome is known: ends the permits that are after evidence, and those of work that has ended. */
  end(call: Call, held: Permit, since: number, verdict: Verdict, ran: boolean): void {
    const now = this.timed ? this.env.precise() : this.env.now()
    if (!ran) return cancelAll(held, now)
    const tookMs = this.timed ? now - since : 0
    if (call.running) this.keepOccupancy(call, held, since, verdict, tookMs, now)
    else if (this.only !== null) held.settle(verdict, tookMs, now)
    else settleAll(held, verdict, tookMs, now)
  }

  /** The work still runs: evidence ends now, occupancy with the work. */
  private keepOccupancy(call: Call, held: Permit, since: number, verdict: Verdict, tookMs: number, now: number): void {
    for (let p: Permit | null = held, next: Permit | null; p !== null; p = next) {
      next = p.next
      if (p.holds) call.keep(p, since, verdict)
      else p.settle(verdict, tookMs, now)
    }
  }

  inspect(now: number): Snapshot {
    return { kind: this.kind, path: this.path, gates: this.gates.map((g) => g.inspect(now)) }
  }
}

/** A call that is inside. */
class Admitted implements Sink {
  private readonly admission: Admission
  private readonly call: Call
  private readonly held: Permit
  private readonly since: number
  private readonly sink: Sink

  constructor(admission: Admission, call: Call, held: Permit, since: number, sink: Sink) {
    this.admission = admission
    this.call = call
    this.held = held
    this.since = since
    this.sink = sink
  }

  settle(outcome: Outcome<unknown>): void {
    this.admission.end(this.call, this.held, this.since, outcome.verdict, outcome.ran)
    this.sink.settle(outcome)
  }

  succeed(value: unknown): void {
    this.admission.end(this.call, this.held, this.since, 'success', true)
    this.sink.succeed(value)
  }
}
