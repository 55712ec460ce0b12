import * as v from 'valibot'
import { HeldApi } from '../algorithms/retry/held-api.ts'
import type { Call } from '../core/call.ts'
import { showMs } from '../core/duration.ts'
import { type Refuser, Rejection, type Snapshot } from '../core/gate.ts'
import { type Kind, kindOf, snapshotOf } from '../core/layer.ts'
import { type Outcome, refused, withRetryAfter } from '../core/outcome.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import type { Env } from '../core/runtime.ts'
import { count, positiveSpan, shareOrZero } from '../core/schema.ts'
import { Answer, type Sink, type Step, stepFrom } from '../core/step.ts'

// Has the target said when it wants to be asked again?
//
// Source: client-side throttling by error details, as Google's APIs do it: `RetryInfo` rides on the answer of a method, and the client holds
// back from that method. A call that is refused here costs neither side anything; sent, it would be refused there, or do harm.
//
// By the name of the call, not by the host: one method that is over its quota says nothing about the others. Refused at once and not made to
// wait, so that nobody is lined up who would come back with all others. Whoever comes when the time is over passes: no probe, since what
// comes then is the usual flow.

/** From the call to the API that it calls. */
export type ApiOf = (call: Call) => string
/** How many endpoints must have asked for a pause before the API is held back; 1: this one speaks for all. */
export type Quorum = (outcome: Outcome<unknown>, call: Call) => number

const isFunction = (input: unknown): boolean => typeof input === 'function'

const holdBackOptions = v.strictObject({
  /** A target that asks for more is held back so long. Default 60 s. */
  atMost: v.optional(positiveSpan, '60s'),
  /** Up to this share of the pause is added, so that not all clients come back together. Default 0.1. */
  jitter: v.optional(shareOrZero, 0.1),
  /** APIs that are told apart; when there are more, the oldest wish is forgotten. Default 1000. */
  max: v.optional(count, 1000),
  /** Default: the call's `method`; calls without one are one API. */
  by: v.optional(v.custom<ApiOf>(isFunction, 'a function from the call to its API')),
  /** Default: one endpoint speaks for all. */
  quorum: v.optional(v.custom<Quorum>(isFunction, 'a function from the outcome to a number of endpoints')),
})

export type HoldBackOptions = v.InferInput<typeof holdBackOptions>
type HoldBackSettings = v.InferOutput<typeof holdBackOptions>

const holdBackSnapshot = v.strictObject({
  ...snapshotOf('holdBack'),
  /** APIs that are held back now. */
  held: v.number(),
  /** Answers that asked for a pause. */
  wishes: v.number(),
  /** The first of them, with what is left. */
  apis: v.array(v.strictObject({ api: v.string(), endsInMs: v.number() })),
})

/** More would make a snapshot that nobody reads. */
const MOST_SHOWN = 20

/** The end of a call that passed: it may tell us something. */
class Listening implements Sink {
  private readonly holdBack: HoldBack
  private readonly call: Call
  private readonly sink: Sink

  constructor(holdBack: HoldBack, call: Call, sink: Sink) {
    this.holdBack = holdBack
    this.call = call
    this.sink = sink
  }

  settle(outcome: Outcome<unknown>): void {
    this.sink.settle(outcome.retryAfterMs > 0 ? this.holdBack.heard(this.call, outcome) : outcome)
  }

  succeed(value: unknown): void {
    this.sink.succeed(value)
  }
}

class HoldBack implements Policy, Refuser {
  readonly kind = 'holdBack'
  readonly path: string
  private readonly env: Env
  private settings: HoldBackSettings
  /** By name, the oldest wish first. */
  private readonly apis = new Map<string, HeldApi>()
  private wishes = 0

  constructor(settings: HoldBackSettings, env: Env) {
    this.path = env.path
    this.env = env
    this.settings = settings
  }

  /** Other settings: what is held back stays so. */
  reconfigure(settings: HoldBackSettings): void {
    this.settings = settings
  }

  run(call: Call, next: Next, done: Done): void {
    this.step(stepFrom(next))(call, new Answer(done))
  }

  step(inner: Step): Step {
    return (call, sink) => {
      const refusal = this.apis.size === 0 ? undefined : this.refusal(call)
      if (refusal === undefined) inner(call, new Listening(this, call, sink))
      else sink.settle(refused(refusal))
    }
  }

  private refusal(call: Call): Rejection | undefined {
    const name = this.nameOf(call)
    const api = name === undefined ? undefined : this.apis.get(name)
    if (api === undefined) return undefined
    const now = this.env.now()
    const left = api.until - now
    if (left > 0) return new Rejection(this, 'held-back', left, left, api.saidMs)
    if (!api.remembers(now)) this.apis.delete(name as string)
    return undefined
  }

  /** @internal What the layers further out are told: when this call would pass here. */
  heard(call: Call, outcome: Outcome<unknown>): Outcome<unknown> {
    // A refusal of our own layers, or of another pipeline, is no word of the target.
    if (outcome.rejection !== undefined || outcome.verdict === 'ignored') return outcome
    const name = this.nameOf(call)
    if (name === undefined) return outcome
    this.wishes++
    const { atMost, jitter } = this.settings
    const now = this.env.now()
    const pause = Math.min(outcome.retryAfterMs, atMost)
    const until = now + pause * (1 + jitter * this.env.random())
    const api = this.remember(name)
    const endpoint = call.endpoint?.id
    const needed = endpoint === undefined ? 1 : this.quorumOf(outcome, call)
    if (!(needed > 1)) api.hold(until, outcome.retryAfterMs)
    else api.hear(endpoint as string, until, outcome.retryAfterMs, needed, now)
    const left = api.until - now
    return left > outcome.retryAfterMs ? withRetryAfter(outcome, left) : outcome
  }

  private remember(name: string): HeldApi {
    const { apis } = this
    const api = apis.get(name) ?? new HeldApi()
    // Anew, so that the oldest wish stands first.
    apis.delete(name)
    apis.set(name, api)
    for (const oldest of apis.keys()) {
      if (apis.size <= this.settings.max) break
      apis.delete(oldest)
    }
    return api
  }

  /** A stranger's function that throws names nothing: the call passes. */
  private nameOf(call: Call): string | undefined {
    const { by } = this.settings
    if (by === undefined) return call.method ?? ''
    try {
      return by(call)
    } catch {
      return undefined
    }
  }

  private quorumOf(outcome: Outcome<unknown>, call: Call): number {
    try {
      return this.settings.quorum?.(outcome, call) ?? 1
    } catch {
      return 1
    }
  }

  explain({ limit }: Rejection): string {
    return `the target asked for a pause of ${showMs(limit)}`
  }

  inspect(now: number): Snapshot {
    const { kind, path, wishes } = this
    const held = [...this.apis].filter(([, { until }]) => until > now)
    const apis = held.slice(0, MOST_SHOWN).map(([api, { until }]) => ({ api, endsInMs: until - now }))
    return { kind, path, held: held.length, wishes, apis }
  }
}

/** Refuses calls to an API whose last answer asked for a pause, until that is over; other APIs pass. */
export const holdBack: Kind<HoldBackOptions, HoldBackSettings> = kindOf({
  kind: 'holdBack',
  options: holdBackOptions,
  snapshot: holdBackSnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof HoldBack)) return new HoldBack(settings, env)
    previous.reconfigure(settings)
    return previous
  },
})
