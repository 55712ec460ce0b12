import type { Call } from '../core/call.ts'
import { attemptsError, stackless } from '../core/errors.ts'
import { isExhausted, tellExhausted } from '../core/exhausted.ts'
import { answered, failed, type Outcome, type Verdict, withoutRetry } from '../core/outcome.ts'
import type { Env } from '../core/runtime.ts'
import type { Sink, Step } from '../core/step.ts'
import { causeOf } from './retry-causes.ts'

// Attempts of one call side by side, of which the first success counts.
//
// Invariant: the sink is settled once; when it is, no attempt goes on for the caller: each has ended, or was cancelled by us or from outside.

/** What the attempts of all calls have in common. */
export interface Track {
  readonly path: string
  readonly env: Env
  /** Attempts beyond the first, for one call. */
  readonly most: number
  /** Milliseconds until the next attempt; Infinity: not by time. */
  delayMs(): number
  /** Takes the right to one more attempt: undefined when there is none, else when it was given. */
  grant(): number | undefined
  /** It was refused further in, and sent nothing. */
  giveBack(grantedAt: number): void
  /** A first attempt has ended. */
  measured(verdict: Verdict, tookMs: number): void
  /** A later attempt has won. */
  won(): void
  /** A spent budget means that nobody further out is to try again; false where there never is one. */
  readonly owns: boolean
}

/** One of the attempts. */
class Entrant implements Sink {
  readonly call: Call
  readonly sentAt: number
  /** When the budget let it go; undefined for the first. */
  readonly grantedAt: number | undefined
  outcome: Outcome<unknown> | null = null
  private readonly race: Race

  constructor(race: Race, call: Call, sentAt: number, grantedAt: number | undefined) {
    this.race = race
    this.call = call
    this.sentAt = sentAt
    this.grantedAt = grantedAt
  }

  settle(outcome: Outcome<unknown>): void {
    this.outcome = outcome
    this.race.ended(this, outcome)
  }

  succeed(value: unknown): void {
    this.settle(answered(value))
  }
}

export class Race {
  private readonly track: Track
  private readonly call: Call
  private readonly inner: Step
  private readonly sink: Sink
  private readonly entrants: Entrant[] = []
  private inside = 0
  private over = false
  /** The target said not to, or not yet, or the budget has nothing left. */
  private last = false
  private overBudget = false
  private delayMs = Number.POSITIVE_INFINITY
  private cancelTimer: (() => void) | null = null

  constructor(track: Track, call: Call, inner: Step, sink: Sink) {
    this.track = track
    this.call = call
    this.inner = inner
    this.sink = sink
  }

  start(): void {
    this.delayMs = this.track.delayMs()
    this.send(undefined)
    this.arm()
  }

  private send(grantedAt: number | undefined): void {
    const entrant = new Entrant(this, this.call.fork(), this.track.env.precise(), grantedAt)
    this.entrants.push(entrant)
    this.inside++
    const { inner } = this
    inner(entrant.call, entrant)
  }

  private arm(): void {
    this.disarm()
    const { track, call, delayMs } = this
    if (this.over || this.last || this.entrants.length > track.most) return
    // Sent at the deadline, it would be for nobody. A delay of the user's that is no number is none.
    if (!(track.env.now() + delayMs < call.deadline)) return
    this.cancelTimer = track.env.after(delayMs, () => {
      this.cancelTimer = null
      this.next()
    })
  }

  private disarm(): void {
    this.cancelTimer?.()
    this.cancelTimer = null
  }

  /** One more attempt, if there may be one. */
  private next(): boolean {
    const { track, call } = this
    if (this.last || call.cancelled || this.entrants.length > track.most) return false
    // Asked again: the body of a request may be gone by now.
    if (!call.idempotent) return false
    if (track.env.now() >= call.deadline) return false
    const grantedAt = track.grant()
    if (grantedAt === undefined) {
      this.last = true
      this.overBudget = true
      return false
    }
    this.send(grantedAt)
    this.arm()
    return true
  }

  ended(entrant: Entrant, outcome: Outcome<unknown>): void {
    this.inside--
    this.measure(entrant, outcome)
    // It lost, and that is how it ended.
    if (this.over) return
    if (outcome.verdict === 'success') return this.win(entrant, outcome)
    if (this.isLast(entrant, outcome)) this.last = true
    // What failed is not waited for any longer. What was refused, or is nobody's fault, would be so again.
    if (causeOf(outcome) !== undefined && this.next()) return
    if (this.inside === 0) this.lose(outcome)
    else if (this.last) this.disarm()
  }

  private measure({ sentAt, grantedAt }: Entrant, outcome: Outcome<unknown>): void {
    const { track } = this
    const wasSent = outcome.ran || causeOf(outcome) !== undefined
    if (!wasSent && grantedAt !== undefined) track.giveBack(grantedAt)
    if (outcome.ran && grantedAt === undefined) track.measured(outcome.verdict, track.env.precise() - sentAt)
  }

  /** The target said that there is no use in another attempt now, or a gate of ours refuses them. */
  private isLast({ call }: Entrant, outcome: Outcome<unknown>): boolean {
    const { noRetry, retryAfterMs, rejection } = outcome
    return noRetry || retryAfterMs > 0 || rejection !== undefined || isExhausted(call, outcome)
  }

  private win(winner: Entrant, outcome: Outcome<unknown>): void {
    if (winner.grantedAt !== undefined) this.track.won()
    this.finish(winner, outcome)
  }

  /** All have ended, and none with a success. */
  private lose(latest: Outcome<unknown>): void {
    const { call, track, entrants } = this
    const ran = entrants.some(({ outcome }) => outcome?.ran === true)
    // Ended from outside: by whom, and why, says the one that was the last to hear of it.
    if (call.cancelled)
      return this.finish(null, latest.ran || !ran ? latest : failed(latest.error, latest.verdict, ran))
    const sent = entrants.filter(({ outcome }) => outcome?.rejection === undefined)
    const speaker = sent.findLast(({ outcome }) => outcome?.ok === true) ?? (sent.length === 1 ? sent[0] : undefined)
    const outcome = speaker?.outcome ?? (sent.length === 0 ? latest : together(track.path, sent))
    const spent = entrants.length > 1 || (this.overBudget && track.owns)
    const isFinal =
      causeOf(outcome) !== undefined && (spent || sent.some((e) => isExhausted(e.call, e.outcome as Outcome<unknown>)))
    const told = isFinal ? withoutRetry(outcome) : outcome
    if (told.noRetry) tellExhausted(call, told)
    this.finish(speaker ?? null, told)
  }

  /** The caller gets `outcome`; nothing of the others goes on for him, a body that is still held included. */
  private finish(speaker: Entrant | null, outcome: Outcome<unknown>): void {
    this.over = true
    this.disarm()
    for (const entrant of this.entrants) {
      if (entrant !== speaker && (entrant.outcome === null || entrant.call.running) && !entrant.call.cancelled)
        entrant.call.cancel(overtaken(this.track.path), 'ignored')
    }
    this.sink.settle(outcome)
  }
}

/** The reason that an attempt hears when another one has won. */
function overtaken(path: string): Error {
  const error = stackless(() => new Error(`${path}: another attempt has answered`))
  error.name = 'AbortError'
  return error
}

const WORST: readonly Verdict[] = ['failure', 'timeout', 'overload', 'ignored']

/** One error for those of all attempts, in the order in which they were sent, and the worst of their verdicts. */
function together(path: string, sent: readonly Entrant[]): Outcome<never> {
  const outcomes = sent.map(({ outcome }) => outcome as Outcome<unknown>)
  const error = attemptsError(
    path,
    outcomes.map((outcome) => outcome.error),
  )
  const verdict = WORST.find((one) => outcomes.some((outcome) => outcome.verdict === one))
  const ran = outcomes.some((outcome) => outcome.ran)
  const retryAfterMs = Math.max(...outcomes.map((outcome) => outcome.retryAfterMs))
  return failed(error, verdict, ran, retryAfterMs)
}
