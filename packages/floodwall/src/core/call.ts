import type { Ask, Permit } from './gate.ts'
import { type Classify, failed, type Outcome, type Verdict } from './outcome.ts'
import type { Done, Next } from './policy.ts'
import type { Env } from './runtime.ts'

/** Who goes first under overload; inherited by every call made on behalf of this one. The default for production is `critical`. */
export type Criticality = 'criticalPlus' | 'critical' | 'sheddablePlus' | 'sheddable'

/** One of several targets that do the same work. */
export interface Endpoint {
  /** Unique in its cluster, fit for a label: `'10.0.0.1:8080'`. */
  readonly id: string
}

/** What a caller may say about a call. Everything is optional. */
export interface Init {
  /** The call on whose behalf this one is made: deadline, abort and criticality are inherited. */
  readonly parent?: Call
  /** Milliseconds for the whole operation; a parent's deadline can only be shortened. */
  readonly within?: number
  /** Ends the call; its reason comes through by identity. */
  readonly signal?: AbortSignal
  readonly criticality?: Criticality
  readonly cost?: number
  readonly key?: string | number
  /** Executing twice does no harm. Only then is work that may have run sent again. */
  readonly idempotent?: boolean
  /** The caller's own; floodwall does not look at it. */
  readonly data?: unknown
  readonly classify?: Classify
}

/** What the calls of one pipeline have in common. @internal */
export interface Host {
  readonly env: Env
  readonly classify: Classify
  readonly criticality: Criticality
}

/** Work as a function of the call, or as callbacks (`start`). @internal */
export type Work = ((call: Call) => unknown) | Next

/** Occupancy that outlived its outcome: the caller has gone, the work has not. */
interface Holding {
  readonly permit: Permit
  readonly since: number
  readonly verdict: Verdict
  readonly next: Holding | null
}

/** How long a `hold()` lasts when its owner forgets to end it: 5 minutes, longer than any sensible body. */
const HOLD_MS = 300_000

/**
 * One attempt, as the work and the gates see it; an *operation* is all attempts. Cancellation flows inward along the attempts to the one
 * step that waits (the work, a queue, a backoff), and the outcome flows outward as always: so every layer hears of it, once.
 */
export class Call implements Ask {
  /** @internal Written by each group of gates, on entry. */
  now: number
  /** On the runtime's clock; Infinity when there is none. */
  deadline: number
  readonly init: Init
  /** 0 for the first. */
  readonly attempt: number
  /** @internal */ readonly host: Host
  /** @internal */ readonly work: Work
  /** @internal Callback style: `work(call, done)`. */
  readonly callbacks: boolean
  /** Where this attempt goes; set by a balancer. */
  endpoint: Endpoint | null = null
  /** @internal Works running under this call: its own, held streams, and those of later attempts. */
  live = 0
  private begun = false
  private waiting: Done | null = null
  private holdings: Holding | null = null
  private controller: AbortController | null = null
  private readonly earlier: Call | null
  private later: Call | null = null
  private children: Set<Call> | null = null
  private absorbed = false
  private ended: { readonly error: unknown; readonly verdict: Verdict } | null = null

  /** @internal */
  constructor(
    host: Host,
    work: Work,
    callbacks: boolean,
    init: Init,
    now: number,
    attempt: number,
    earlier: Call | null,
  ) {
    this.now = now
    this.deadline = earlier === null ? Number.POSITIVE_INFINITY : earlier.deadline
    this.init = init
    this.attempt = attempt
    this.host = host
    this.work = work
    this.callbacks = callbacks
    this.earlier = earlier
  }

  get criticality(): Criticality {
    return this.init.criticality ?? this.init.parent?.criticality ?? this.host.criticality
  }

  get cost(): number {
    return this.init.cost ?? 1
  }

  get key(): string | number {
    return this.init.key ?? ''
  }

  get idempotent(): boolean {
    return this.init.idempotent === true
  }

  get data(): unknown {
    return this.init.data
  }

  /** Milliseconds until the deadline, at least 0; Infinity when there is none. */
  get remainingMs(): number {
    return Math.max(0, this.deadline - this.host.env.now())
  }

  /** Aborted when the attempt is over before its time: timeout, deadline, caller gone. Made on first read; never aborted on success. */
  get signal(): AbortSignal {
    if (this.controller === null) {
      this.controller = new AbortController()
      if (this.ended !== null) this.controller.abort(this.ended.error)
    }
    return this.controller.signal
  }

  /**
   * "My answer is only the head": slots stay taken until the returned function is called with how the rest went, or until `withinMs` has
   * passed. Streamed bodies complete so.
   */
  hold(withinMs: number = HOLD_MS): (verdict: Verdict) => void {
    let open = true
    const { env } = this.host
    const end = (verdict: Verdict) => {
      if (!open) return
      open = false
      cancelLapse()
      this.end(verdict)
    }
    const cancelLapse = env.after(
      withinMs,
      () => {
        env.emit({
          type: 'lapsed',
          at: env.now(),
          path: env.path,
          why: `a held answer was not ended within ${withinMs} ms`,
        })
        end('timeout')
      },
      true,
    )
    this.begin()
    return end
  }

  /** True when this attempt or an earlier one went to `endpoint`. */
  tried(endpoint: Endpoint): boolean {
    for (let call: Call | null = this; call !== null; call = call.earlier) if (call.endpoint === endpoint) return true
    return false
  }

  /** The next attempt of the same operation. */
  again(): Call {
    const { host } = this
    const next = new Call(host, this.work, this.callbacks, this.init, host.env.now(), this.attempt + 1, this)
    this.later = next
    return next
  }

  /**
   * A call for work that must be finished whatever becomes of the caller (a commit, a compensation): it has a deadline of its own and does
   * not hear the caller's abort. Pass it as `parent`. Told by an event, with the reason.
   */
  detach(to: { readonly within: number; readonly reason: string }): Call {
    const { env } = this.host
    const now = env.now()
    const { parent: _parent, signal: _signal, within: _within, ...rest } = this.init
    const call = new Call(
      this.host,
      this.work,
      this.callbacks,
      { ...rest, criticality: this.criticality },
      now,
      0,
      null,
    )
    call.deadline = now + to.within
    env.after(
      to.within,
      () => call.cancel(new Error(`detached work (${to.reason}) had ${to.within} ms`), 'timeout'),
      true,
    )
    env.emit({ type: 'detached', at: now, path: env.path, why: to.reason, withinMs: to.within })
    return call
  }

  /** True once this attempt was cancelled: what still runs does so for nobody. */
  get cancelled(): boolean {
    return this.ended !== null
  }

  /** For policies that repeat: true when somebody further out has ended the call, so that there is nobody to try again for. */
  get over(): boolean {
    return this.ended !== null && !this.absorbed
  }

  /** For policies that cancel: the cancel was mine, it ends here. Steps further out may go on (a retry after a timeout). */
  absorb(): void {
    if (this.later !== null) this.later.absorb()
    else this.absorbed = true
  }

  /** The outcome of a call that was cancelled. @internal */
  cancellation(): Outcome<never> {
    return failed(this.ended?.error, this.ended?.verdict, this.begun)
  }

  /**
   * Ends the operation now, from outside: the innermost step that waits answers `error` with `verdict`. The first cancel counts. For
   * policies; users abort the signal that they passed.
   */
  cancel(error: unknown, verdict: Verdict): void {
    if (this.later !== null) return this.later.cancel(error, verdict)
    if (this.ended !== null) return
    this.ended = { error, verdict }
    // Taken first: an abort listener may run the work's own end at once, and the reason must win over its consequence.
    const done = this.waiting
    this.waiting = null
    this.controller?.abort(error)
    if (this.children !== null) for (const child of [...this.children]) child.cancel(error, 'ignored')
    if (done !== null) done(this.cancellation())
  }

  /**
   * For steps that wait: from now until {@link resume}, a cancel is answered through `done`. One step waits at a time, the innermost.
   */
  wait(done: Done): void {
    if (this.ended !== null) return done(this.cancellation())
    this.waiting = done
  }

  /** The waiting is over; false when a cancel was faster, and the step must not answer any more. */
  resume(): boolean {
    const was = this.waiting !== null
    this.waiting = null
    return was
  }

  /** @internal The continuation of the waiting step, taken once. */
  take(): Done | null {
    const done = this.waiting
    this.waiting = null
    return done
  }

  /** @internal */
  begin(): void {
    this.begun = true
    this.live++
    for (let call = this.earlier; call !== null; call = call.earlier) {
      call.begun = true
      call.live++
    }
  }

  /** @internal A work or a held stream has ended; the last one gives the slots back. */
  end(verdict: Verdict | undefined): void {
    if (--this.live === 0 && this.holdings !== null) this.release(verdict)
    for (let call = this.earlier; call !== null; call = call.earlier) {
      if (--call.live === 0 && call.holdings !== null) call.release(verdict)
    }
  }

  /** @internal Keeps an occupancy permit until the work has really ended. */
  keep(permit: Permit, since: number, verdict: Verdict): void {
    this.holdings = { permit, since, verdict, next: this.holdings }
  }

  private release(verdict: Verdict | undefined): void {
    const now = this.host.env.precise()
    let holding = this.holdings
    this.holdings = null
    for (; holding !== null; holding = holding.next) {
      holding.permit.settle(verdict ?? holding.verdict, Math.max(0, now - holding.since), now)
    }
  }

  /** @internal */
  adopt(child: Call): void {
    this.children ??= new Set()
    this.children.add(child)
  }

  /** @internal */
  orphan(child: Call): void {
    this.children?.delete(child)
  }
}
