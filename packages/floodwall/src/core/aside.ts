import type { Call } from './call.ts'
import type { Lapse } from './detachments.ts'
import type { Exhausted } from './exhausted.ts'
import type { Permit } from './gate.ts'
import type { Endpoint } from './init.ts'
import type { Outcome, Verdict } from './outcome.ts'
import type { Runtime } from './runtime.ts'

/** Occupancy that outlived its outcome: the caller has gone, the work has not. */
export interface Holding {
  readonly permit: Permit
  /** When it began; -1 where no gate measures latency. */
  readonly since: number
  readonly verdict: Verdict
  readonly next: Holding | null
}

/** A time on the runtime's clock, in a box. */
export interface Moment {
  readonly at: number
}

/** What the attempts of one operation have in common. */
export class Operation {
  /** How many there are. */
  attempts = 1
  /** Endpoints that it has been counted against. */
  blamed = 0
  /** It cannot be sent again from here, its body is gone: no word of the target's, and others may have another. */
  bodyGone = false
  /** Where it stands in its class; -1: not known yet. See `algorithms/admission/standing.ts`. */
  standing = -1
}

/** What the cluster was like when an attempt failed in it. */
export interface Prospects {
  /** The share of it that is of use, 0 to 1. */
  readonly usable: number
  /** An endpoint is in choice that this operation has not been to. */
  readonly elsewhere: boolean
}

const NONE: readonly never[] = []

/**
 * What few calls need, made with the first of it: a retry, a signal, a child, a cancel. Kept apart so that the common call is small; garbage
 * was a fifth of the cost of a closed breaker.
 */
export class Aside {
  attempt = 0
  earlier: Call | null = null
  later: Call | null = null
  /** Attempts side by side within this one; replaced, never changed in place. */
  branches: readonly Call[] = NONE
  operation: Operation | null = null
  endpoint: Endpoint | null = null
  controller: AbortController | null = null
  children: Set<Call> | null = null
  holdings: Holding | null = null
  ended: { readonly error: unknown; readonly verdict: Verdict } | null = null
  absorbed = false
  /** The end of a call that took its leave. */
  lapse: Lapse | null = null
  prospects: Prospects | null = null
  /** What calls made on behalf of this one were given up with, after retries of their own. */
  exhausted: Exhausted | null = null
  /** Endpoints that would refuse it, as far as is known: the last to be chosen. */
  shuns: ((endpoint: Endpoint) => boolean) | null = null
  /** So many calls like this one it stands for: the others were not sent, since they would be refused. */
  standsFor = 1
  /** What the work said of its own answer. */
  traced: { readonly error: unknown } | null = null
  /** What came of the attempt, where the endpoint's gates were told otherwise. */
  unshielded: Outcome<unknown> | null = null

  adopt(child: Call): void {
    this.children ??= new Set()
    this.children.add(child)
    this.lapse?.listen()
  }

  orphan(child: Call): void {
    this.children?.delete(child)
    if (this.lapse !== null && this.children?.size === 0 && this.controller === null) this.lapse.rest()
  }

  /** The work has really ended: so does the occupancy that waited for it. The clock is read precisely where somebody judges how long it took. */
  release(verdict: Verdict | undefined, runtime: Pick<Runtime, 'now' | 'precise'>): void {
    const first = this.holdings
    this.holdings = null
    let judged = false
    for (let holding: Holding | null = first; holding !== null; holding = holding.next) judged ||= holding.since >= 0
    const now = judged ? runtime.precise() : runtime.now()
    for (let holding: Holding | null = first; holding !== null; holding = holding.next) {
      const tookMs = holding.since < 0 ? 0 : Math.max(0, now - holding.since)
      holding.permit.settle(verdict ?? holding.verdict, tookMs, now)
    }
  }
}
