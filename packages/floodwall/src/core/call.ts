import { Aside, type Moment } from './aside.ts'
import { branch, follow, wentTo } from './attempts.ts'
import { Lapse } from './detachments.ts'
import { dueAt } from './duration.ts'
import type { Ask, Permit } from './gate.ts'
import type { Criticality, Endpoint, Host, Init, Work } from './init.ts'
import { failed, type Outcome, type Verdict } from './outcome.ts'
import type { Done } from './policy.ts'
import { Answer, type Sink } from './step.ts'

/** How long a `hold()` lasts when its owner forgets to end it: 5 minutes, longer than any sensible body. */
const HOLD_MS = 300_000

/**
 * One attempt, as the work and the gates see it; an *operation* is all attempts. Cancellation flows inward along the attempts to the one
 * step that waits (the work, a queue, a backoff), and the outcome flows outward as always: so every layer hears of it, once.
 */
export class Call implements Ask {
  readonly init: Init
  /** @internal */ readonly host: Host
  /** @internal */ readonly work: Work
  /** @internal Callback style: `work(call, done)`. */
  readonly callbacks: boolean
  /** Works running under this call, those of later attempts and held streams included; -1 before the first. */
  private works = -1
  /** A box: most calls have no deadline, and a number field would allocate one for each. */
  private due: Moment | null = null
  private waiting: Sink | null = null
  private aside: Aside | null = null

  /** @internal */
  constructor(host: Host, work: Work, callbacks: boolean, init: Init) {
    this.init = init
    this.host = host
    this.work = work
    this.callbacks = callbacks
  }

  /** @internal */
  get extra(): Aside {
    this.aside ??= new Aside()
    return this.aside
  }

  /** 0 for the first. */
  get attempt(): number {
    return this.aside === null ? 0 : this.aside.attempt
  }

  /** Where this attempt goes; set by a balancer. */
  get endpoint(): Endpoint | null {
    return this.aside === null ? null : this.aside.endpoint
  }

  set endpoint(to: Endpoint | null) {
    this.extra.endpoint = to
  }

  /** True while the work, an earlier attempt's or a held stream still runs. */
  get running(): boolean {
    return this.works > 0
  }

  get now(): number {
    return this.host.now
  }

  /** On the runtime's clock; Infinity when there is none. */
  get deadline(): number {
    return this.due === null ? Number.POSITIVE_INFINITY : this.due.at
  }

  /** Deadlines only shrink: a later one changes nothing. For policies. */
  shrinkDeadline(at: number): void {
    if (at < this.deadline) this.due = { at }
  }

  /** @internal The same, to one that calls of the same moment share. */
  shrinkTo(due: Moment): void {
    if (due.at < this.deadline) this.due = due
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

  get waitedMs(): number {
    return this.init.waitedMs ?? 0
  }

  get method(): string | undefined {
    return this.init.method
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
    const { extra } = this
    if (extra.controller === null) {
      extra.controller = new AbortController()
      extra.lapse?.listen()
      if (extra.ended !== null) extra.controller.abort(extra.ended.error)
    }
    return extra.controller.signal
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
    const lapse = () => {
      env.emit({ type: 'lapsed', at: env.now(), path: env.path, why: `an answer was held for ${withinMs} ms` })
      end('timeout')
    }
    const cancelLapse = env.after(withinMs, lapse, true)
    this.begin()
    return end
  }

  /** True when any attempt of this operation went to `endpoint`. */
  tried(endpoint: Endpoint): boolean {
    return wentTo(this, endpoint)
  }

  /** The next attempt of the same operation; `deadline` is what it had when it reached you, before layers further in shortened it. */
  again(deadline: number = this.deadline): Call {
    return follow(this, this.copy(deadline))
  }

  /** An attempt that runs beside others within this one; a cancel of it ends no other. For policies that race. */
  fork(): Call {
    return branch(this, this.copy(this.deadline))
  }

  private copy(deadline: number): Call {
    const copy = new Call(this.host, this.work, this.callbacks, this.init)
    copy.shrinkDeadline(deadline)
    return copy
  }

  /**
   * A call for work that must be finished whatever becomes of the caller (a commit, a compensation): it has a deadline of its own and does
   * not hear the caller's abort. Pass it as `parent`. Told by an event, with the reason; the pipeline's `detachAtMost` is the longest.
   */
  detach(to: { readonly within: number; readonly reason: string }): Call {
    const { env, detachments } = this.host
    const [within, now] = [detachments.grant(to.within, env.path), env.now()]
    const { parent: _parent, signal: _signal, within: _within, ...rest } = this.init
    const call = new Call(this.host, this.work, this.callbacks, { ...rest, criticality: this.criticality })
    call.shrinkDeadline(dueAt(now, within))
    call.extra.lapse = new Lapse(call, within)
    env.emit({ type: 'detached', at: now, path: env.path, why: to.reason, withinMs: within })
    return call
  }

  /** True once this attempt was cancelled: what still runs does so for nobody. */
  get cancelled(): boolean {
    return this.aside !== null && this.aside.ended !== null
  }

  /** For policies that repeat: true when somebody further out has ended the call, so that there is nobody to try again for. */
  get over(): boolean {
    return this.aside !== null && this.aside.ended !== null && !this.aside.absorbed
  }

  /** For policies that cancel: the cancel was mine, it ends here. Steps further out may go on (a retry after a timeout). */
  absorb(): void {
    for (let call: Call | null = this; call !== null; call = call.extra.later) call.extra.absorbed = true
  }

  /** The outcome of a call that was cancelled. @internal */
  cancellation(): Outcome<never> {
    const ended = this.extra.ended
    return failed(ended?.error, ended?.verdict, this.works >= 0)
  }

  /**
   * Ends the operation now, from outside: the innermost step that waits answers `error` with `verdict`. The first cancel counts, until it
   * is absorbed. For policies; users abort the signal that they passed.
   */
  cancel(error: unknown, verdict: Verdict): void {
    // Earlier attempts hear of it as well: parts of them may still run, and a step further out may wait there.
    for (let call: Call | null = this; call !== null; ) {
      // Read first: who hears of this may begin another attempt, which is not meant.
      const { later, branches }: Aside = call.extra
      if (!call.over) call.stop(error, verdict)
      for (const beside of branches) beside.cancel(error, verdict)
      call = later
    }
  }

  private stop(error: unknown, verdict: Verdict): void {
    const { extra } = this
    extra.ended = { error, verdict }
    extra.absorbed = false
    // Taken first: an abort listener may run the work's own end at once, and the reason must win over its consequence.
    const done = this.waiting
    this.waiting = null
    extra.controller?.abort(error)
    if (extra.children !== null) for (const child of [...extra.children]) child.cancel(error, 'ignored')
    if (done !== null) done.settle(this.cancellation())
  }

  /** For steps that wait: from now until {@link resume}, a cancel is answered through `done`. One step waits at a time, the innermost. */
  wait(done: Done): void {
    if (this.over) return done(this.cancellation())
    this.waiting = new Answer(done)
  }

  /** The waiting is over; false when a cancel was faster, and the step must not answer any more. */
  resume(): boolean {
    const was = this.waiting !== null
    this.waiting = null
    return was
  }

  /** @internal The work runs, and answers through `done` unless a cancel is faster. */
  run(sink: Sink): void {
    this.begin()
    this.waiting = sink
  }

  /** @internal The work's continuation, taken once; null after a cancel: who waits then is somebody else (a retry after a timeout). */
  take(): Sink | null {
    if (this.cancelled) return null
    const done = this.waiting
    this.waiting = null
    return done
  }

  /** @internal A work or a held stream begins. */
  begin(): void {
    this.works = this.works < 0 ? 1 : this.works + 1
    if (this.aside !== null) this.aside.earlier?.begin()
  }

  /** @internal A work or a held stream has ended; the last one gives the slots back. True: an error was traced meanwhile. */
  end(verdict: Verdict | undefined): boolean {
    this.works--
    return this.aside !== null && this.endAside(this.aside, verdict)
  }

  private endAside(aside: Aside, verdict: Verdict | undefined): boolean {
    if (this.works === 0 && aside.holdings !== null) aside.release(verdict, this.host.env)
    aside.earlier?.end(verdict)
    return aside.traced !== null
  }

  /**
   * For work that answers although it failed: the answer goes to the caller, and the layers hear of `error` as if it had been thrown. The
   * first one counts; after the answer nothing does, and null and undefined are no errors. An answer that is thrown wins.
   */
  traceError(error: unknown): void {
    if (error != null) this.extra.traced ??= { error }
  }

  /** @internal Keeps an occupancy permit until the work has really ended. */
  keep(permit: Permit, since: number, verdict: Verdict): void {
    this.extra.holdings = { permit, since, verdict, next: this.extra.holdings }
  }

  /** @internal `child` is cancelled when this call is. */
  adopt(child: Call): void {
    this.extra.adopt(child)
  }

  /** @internal */
  orphan(child: Call): void {
    this.aside?.orphan(child)
  }
}
