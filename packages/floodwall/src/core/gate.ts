import type { Criticality } from './init.ts'
import type { Verdict } from './outcome.ts'

/** What a gate may know of a call. A gate must not keep it: it is the call itself. */
export interface Ask {
  /** The runtime's clock when the gate is asked, in milliseconds. */
  readonly now: number
  /** When the operation must have ended, on the same clock; Infinity when nobody said. */
  readonly deadline: number
  readonly criticality: Criticality
  /** Units of the gate's capacity that the call needs; 1 unless the caller says otherwise. */
  readonly cost: number
  /** Whose call it is, for keyed gates; '' when nobody said. */
  readonly key: string | number
  /** Milliseconds that it had waited before the call was made, where nobody could see it; 0 when nobody said. */
  readonly waitedMs?: number | undefined
  /** What kind of call it is, for statistics that must not mix kinds: `'GET /items'`. */
  readonly method?: string | undefined
}

/** Why a gate said no. Closed: docs, metrics and the playbook have an entry for each. */
export type Reason =
  /** The breaker is open. */
  | 'open'
  /** The breaker is half-open and its probes are all running. */
  | 'probing'
  /** An operator forced the breaker open. */
  | 'forced'
  /** The breaker has just closed, and lets a growing share through. */
  | 'ramping'
  /** The target accepts too few of the calls, and would refuse this one too. */
  | 'throttled'
  /** The target has said when it wants to be asked again, and that is later. */
  | 'held-back'
  /** More is to be done here than can be, and the call is not among those that are taken. */
  | 'overloaded'
  /** Every slot of the bulkhead is taken. */
  | 'full'
  /** The rate is used up for now. */
  | 'rate'
  /** The waiting room has no place left. */
  | 'queue-full'
  /** It waited as long as it may. */
  | 'queue-timeout'
  /** Too little time remains before the deadline. */
  | 'deadline'
  /** No endpoint is in choice. */
  | 'unreachable'
  /** All endpoints were out, and those that are back cannot carry everything yet. */
  | 'recovering'
  /** The pipeline was closed. */
  | 'closed'

/** A no: nothing was taken, nothing ran. Carries its gate and its numbers, so that every refusal explains itself. */
export class Rejection {
  readonly gate: Refuser
  readonly reason: Reason
  /** When asking again makes sense, in milliseconds from now; 0: no estimate. */
  readonly retryAfterMs: number
  /** The value the decision looked at (slots taken, tokens left, failure share) and the limit it met. */
  readonly value: number
  readonly limit: number
  /** True when this call can never pass, however long it waits (it costs more than the burst). */
  readonly never: boolean

  constructor(gate: Refuser, reason: Reason, retryAfterMs: number, value: number, limit: number, never = false) {
    this.gate = gate
    this.reason = reason
    this.retryAfterMs = retryAfterMs
    this.value = value
    this.limit = limit
    this.never = never
  }

  get ok(): false {
    return false
  }

  /** One sentence with the numbers. */
  get why(): string {
    return this.gate.explain?.(this) ?? this.reason
  }
}

/** Who says no: a gate, a waiting room, a deadline. */
export interface Refuser {
  readonly kind: string
  /** Where it stands: `'inventory/breaker'`. */
  readonly path: string
  explain?(rejection: Rejection): string
}

/** What a rate limit has left for one caller: what the HTTP fields `RateLimit-Policy` and `RateLimit` are written from. */
export interface Quota {
  /** Units per {@link windowMs}: a bucket says its burst, and the time in which it fills; a window what it allows, and its length. */
  readonly limit: number
  /** Infinity where nothing is ever earned (rate 0). */
  readonly windowMs: number
  /** Whole units that could be taken now at once, 0 or more. */
  readonly left: number
  /** Milliseconds until one unit more than {@link left} could be taken; 0 while nothing is missing, Infinity where it never comes. */
  readonly resetMs: number
}

/** JSON-safe, finite numbers; each kind publishes a schema of its own. */
export type Snapshot = { readonly kind: string } & { readonly [field: string]: unknown }

/**
 * Says yes or no to one unit of work, now, without I/O. It sees time only as an argument, holds no timers and needs no disposal.
 * Usable bare: `const permit = gate.tryAcquire(ask)`, then exactly one of `permit.settle(...)` and `permit.cancel(...)`.
 */
export interface Gate extends Refuser {
  /** Occupancy: the permit ends with the work. Without it the gate is after evidence, and its permit ends with the outcome. */
  readonly holds?: boolean
  /** The gate judges latency: `tookMs` is then measured by two precise clock reads. */
  readonly timed?: boolean
  /** A no has taken nothing. */
  tryAcquire(ask: Ask): Permit | Rejection
  /** The work ran and ended so. Called by the permit, at most once. `tookMs` is 0 unless the gate is `timed`. */
  settled(permit: Permit, verdict: Verdict, tookMs: number, now: number): void
  /** Nothing ran: token, slot, probe go back. Called by the permit, at most once and never after `settled`. */
  cancelled(permit: Permit, now: number): void
  /** Calls `wake` whenever capacity comes back, after it did; returns the way to stop. For waiting rooms, also across pipelines. */
  onFree?(wake: () => void): () => void
  /** What is left for `ask`, whatever it costs. Takes nothing, and makes room for nobody. Undefined where it does not count in calls. */
  quota?(ask: Ask): Quota | undefined
  /** True when the gate could be forgotten and made anew without anybody noticing. */
  idle?(now: number): boolean
  inspect(now: number): Snapshot
}

/**
 * A yes, with two ends of which the first counts: `settle` (it ran) or `cancel` (nothing ran). One final class for all gates, so that one
 * hidden class runs through every hot loop.
 */
export class Permit {
  /** The gate's own numbers: the epoch in which the permit was given (a result from an older one never decides), and what it took. */
  readonly generation: number
  readonly tag: number
  /** @internal The next permit of the same acquisition. */
  next: Permit | null = null
  private gate: Gate | null

  constructor(gate: Gate, generation: number, tag = 0) {
    this.gate = gate
    this.generation = generation
    this.tag = tag
  }

  get ok(): true {
    return true
  }

  /** True while neither end has come. */
  get open(): boolean {
    return this.gate !== null
  }

  /** @internal */
  get holds(): boolean {
    return this.gate !== null && this.gate.holds === true
  }

  /** It ran, ended with `verdict` and took `tookMs`; `now` is the runtime's clock. */
  settle(verdict: Verdict, tookMs: number, now: number): void {
    const gate = this.gate
    if (gate === null) return
    this.gate = null
    gate.settled(this, verdict, tookMs, now)
  }

  /** Nothing ran. */
  cancel(now: number): void {
    const gate = this.gate
    if (gate === null) return
    this.gate = null
    gate.cancelled(this, now)
  }
}

/**
 * Acquires every gate, first to last, or none: on the first no, what was taken goes back. Returns the permits as a chain (see
 * {@link settleAll}, {@link cancelAll}), or the refusal.
 *
 * Occupancy stands at the end of the chain, whatever the order of the gates: a freed slot wakes a waiter at once, and the waiter must meet
 * a breaker that knows the outcome already.
 */
export function acquireAll(gates: readonly Gate[], ask: Ask): Permit | Rejection {
  let evidence: Permit | null = null
  let lastEvidence: Permit | null = null
  let occupancy: Permit | null = null
  for (let i = 0; i < gates.length; i++) {
    const gate = gates[i] as Gate
    const answer: Permit | Rejection = gate.tryAcquire(ask)
    if (!answer.ok) {
      if (evidence !== null) cancelAll(evidence, ask.now)
      if (occupancy !== null) cancelAll(occupancy, ask.now)
      return answer
    }
    if (gate.holds === true) {
      answer.next = occupancy
      occupancy = answer
    } else {
      answer.next = evidence
      evidence = answer
      lastEvidence ??= answer
    }
  }
  if (lastEvidence !== null) lastEvidence.next = occupancy
  const first = evidence ?? occupancy
  if (first === null) throw new RangeError('acquireAll: expected at least one gate')
  return first
}

/** Settles every permit of a chain. */
export function settleAll(held: Permit, verdict: Verdict, tookMs: number, now: number): void {
  for (let p: Permit | null = held, next: Permit | null; p !== null; p = next) {
    next = p.next
    p.settle(verdict, tookMs, now)
  }
}

/** Cancels every permit of a chain. */
export function cancelAll(held: Permit, now: number): void {
  for (let p: Permit | null = held, next: Permit | null; p !== null; p = next) {
    next = p.next
    p.cancel(now)
  }
}
