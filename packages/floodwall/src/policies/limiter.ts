import * as v from 'valibot'
import { rateOf } from '../algorithms/gates/rate-limit-algorithms.ts'
import { type RateOptions, type RateSettings, rateOptions } from '../algorithms/gates/rate-limit-settings.ts'
import { costOf, type Reservable } from '../algorithms/rates/rate.ts'
import { Slots } from '../algorithms/rates/slots.ts'
import { type Duration, showMs, toMs } from '../core/duration.ts'
import { ConfigError, rejectedError } from '../core/errors.ts'
import { type Refuser, Rejection } from '../core/gate.ts'
import { type Env, envOf, type Runtime } from '../core/runtime.ts'
import { parse, positiveSpan, show } from '../core/schema.ts'
import { systemRuntime } from '../core/system.ts'

// May I, when may I, tell me when I may?
//
// A rate without a pipeline, for work that is no call: the lines of a log, the pages of a crawler, the bytes of an upload. Three verbs; a refusal
// tells "not now", with the time to wait, from "never", whatever one waits for.
//
// Invariant: that of its algorithm, at the times that were promised; who asked later is promised a later time, or the place of one who left.

/** The longest wait, unless the caller says. */
const AT_MOST_MS = 30_000

/** How a rate is limited, as for `rateLimit`, and how long a wait may be. */
export interface LimiterOptions extends Omit<RateOptions, 'charge'> {
  /** The longest wait that is promised. Default 30 s. */
  readonly atMost?: Duration
  /** Names it in refusals. Default `limiter`. */
  readonly name?: string
}

/** A promise that was kept open: it may be used in `delayMs`, and until it is used it can be given back. */
export interface Reservation {
  readonly ok: true
  /** Milliseconds until it may be used; 0: now. */
  readonly delayMs: number
  /** It is not needed: what it took can be had by others. The second time nothing happens. */
  cancel(): void
}

/** What a single question may say. */
export interface Patience {
  /** The longest wait. Default: the limiter's. */
  readonly atMost?: Duration
}

export class Limiter implements Refuser {
  readonly kind = 'limiter'
  readonly path: string
  private readonly env: Env
  private readonly settings: RateSettings
  private readonly atMostMs: number
  private readonly rate: Reservable
  private readonly slots: Slots
  /** How to end each wait. */
  private readonly waits = new Set<() => void>()
  private closed = false

  constructor(options: LimiterOptions, runtime: Runtime = systemRuntime) {
    const { atMost, name = 'limiter', ...rest } = options
    this.settings = parse(rateOptions as v.GenericSchema<unknown, RateSettings>, rest, name)
    if (this.settings.charge === 'time')
      throw new ConfigError([{ path: `${name}.charge`, value: '"time"', expected: 'no such field: nothing runs here' }])
    this.env = envOf(runtime, name)
    this.path = name
    this.atMostMs = atMost === undefined ? AT_MOST_MS : parse(positiveSpan, atMost, `${name}.atMost`)
    this.rate = rateOf(this.settings, this.env.now())
    this.slots = new Slots(this.rate)
  }

  /** Takes `cost` now, or says false and takes nothing; false as long as others were promised what comes next. */
  allow(cost = 1): boolean {
    return !this.closed && this.slots.takes(costOf(cost), this.env.now())
  }

  /**
   * Takes `cost` for as soon as it can be had, and says when that is; or a {@link Rejection}, and nothing was taken: `never` when it can never
   * succeed, else `retryAfterMs` is the time after which it could.
   */
  reserve(cost = 1, { atMost }: Patience = {}): Reservation | Rejection {
    const now = this.env.now()
    const patienceMs = atMost === undefined ? this.atMostMs : spanOf(atMost)
    if (this.closed) return new Rejection(this, 'closed', 0, 0, 0, true)
    const units = costOf(cost)
    const slot = this.slots.reserve(units, now, patienceMs)
    if (typeof slot === 'number') return this.refuse(units, slot, patienceMs)
    return { ok: true, delayMs: slot.at - now, cancel: () => this.slots.cancel(slot, this.env.now()) }
  }

  private refuse(cost: number, waitMs: number, patienceMs: number): Rejection {
    const never = waitMs === Number.POSITIVE_INFINITY
    return new Rejection(this, 'rate', never ? 0 : waitMs - patienceMs, never ? cost : waitMs, patienceMs, never)
  }

  /**
   * Resolves when `cost` was taken and its time has come. Rejects at once with a `RejectedError` when it would take longer than `atMost`, or never
   * come; with the signal's reason when that is aborted, and gives back what it took.
   */
  wait(cost = 1, { atMost, signal }: Patience & { readonly signal?: AbortSignal } = {}): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(signal.reason)
    const promised = this.reserve(cost, atMost === undefined ? {} : { atMost })
    if (!promised.ok) return Promise.reject(rejectedError(promised))
    if (promised.delayMs === 0) return Promise.resolve()
    return this.until(promised, signal)
  }

  private until(promised: Reservation, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        this.waits.delete(close)
        signal?.removeEventListener('abort', abort)
      }
      const leave = (reason: unknown) => {
        end()
        cancelTimer()
        promised.cancel()
        reject(reason)
      }
      const abort = () => leave(signal?.reason)
      const close = () => leave(rejectedError(new Rejection(this, 'closed', 0, 0, 0, true)))
      const cancelTimer = this.env.after(promised.delayMs, () => {
        end()
        resolve()
      })
      this.waits.add(close)
      signal?.addEventListener('abort', abort, { once: true })
    })
  }

  /** What could be taken now at once; below 0 when more than that is promised. */
  get left(): number {
    return this.rate.left(this.env.now())
  }

  /** Those who wait. */
  get waiting(): number {
    return this.waits.size
  }

  /** Ends every wait, and begins none any more. */
  close(): void {
    this.closed = true
    for (const close of [...this.waits]) close()
  }

  explain({ reason, value, limit, never }: Rejection): string {
    if (reason === 'closed') return 'it was closed'
    const { rate, per } = this.settings
    if (never) return `costs ${value}, and no more than ${rate === 0 ? 0 : this.rate.most} can ever be had at once`
    return `at ${rate} per ${showMs(per)} it would take ${showMs(value)}, and ${showMs(limit)} is the longest wait`
  }
}

/** A wait of 0 is one that is none; NaN would be for ever. */
function spanOf(atMost: Duration): number {
  const ms = toMs(atMost)
  if (Number.isNaN(ms))
    throw new ConfigError([
      { path: 'atMost', value: show(atMost), expected: 'a span such as 250 (ms), "250ms" or "1.5s"' },
    ])
  return ms
}

/** A rate without a pipeline: `limiter({ rate: 10 }).allow()`. */
export function limiter(options: LimiterOptions, runtime?: Runtime): Limiter {
  return new Limiter(options, runtime)
}
