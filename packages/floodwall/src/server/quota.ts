import type { ServerResponse } from 'node:http'
import type { Gate, Rejection } from '../core/gate.ts'
import type { Init } from '../core/init.ts'
import type { Pipeline } from '../core/pipeline.ts'
import { quotasOf, type Standing } from '../core/quotas.ts'
import type { ErrorAnswer } from '../wire/error-body.ts'
import {
  leftOf,
  leftUntil,
  policyOf,
  type RateLimitPolicy,
  rateLimitNames,
  writeRateLimit,
  writeRateLimitPolicy,
} from '../wire/rate-limit.ts'

// Which limits does a caller hear of, and on which answers?
//
// Who is refused by a limit hears of it: he would find it out anyway. On answers that pass only those limits are told that are the caller's own: what a
// limit for everybody has left tells a stranger how much everybody asks, and how much it takes to shut the others out.
//
// Invariant: nothing is taken; where nothing is to be told, no question is asked.

/** Of which limits answers that pass tell: the caller's own, all, or none; `none`: refusals say nothing either. */
export const toldLimits = ['keyed', 'all', 'refusals', 'none'] as const
export type ToldLimits = (typeof toldLimits)[number]

/** Those that count each caller on his own. */
const OF_CALLERS: ReadonlySet<string> = new Set(['keyed', 'keyedRateLimit'])

/** The values of both fields. */
export interface RateLimitFields {
  readonly policy: string
  readonly limit: string
}

/** A policy, and what it was made of. */
interface Made {
  readonly limit: number
  readonly windowMs: number
  readonly policy: RateLimitPolicy
  readonly text: string
}

/** What the answers of one pipeline say about its limits. */
export class QuotaFields {
  private readonly pipeline: Pipeline
  private readonly told: ToldLimits
  private readonly made = new WeakMap<Gate, Made>()

  constructor(pipeline: Pipeline, told: ToldLimits) {
    this.pipeline = pipeline
    this.told = told
  }

  /** Answers that pass may have something to say. */
  get tells(): boolean {
    const { told, pipeline } = this
    return (told === 'keyed' || told === 'all') && pipeline.chain.limits.length > 0
  }

  /** For an answer with `status` to a call that was let in; undefined: nothing. */
  ofAnswer(init: Init, status: number): RateLimitFields | undefined {
    if (!this.tells) return undefined
    const { told, pipeline } = this
    // Who has nothing left would wait before he follows (draft-ietf-httpapi-ratelimit-headers-11, 6).
    if (status < 200 || (status >= 300 && status < 400)) return undefined
    // Calls without a key share one: what they have left is no caller's own.
    if (told === 'keyed' && isNobodys(init)) return undefined
    const standings = quotasOf(pipeline, init, (gate) => told === 'all' || OF_CALLERS.has(gate.kind))
    if (standings.length === 0) return undefined
    const lefts = standings.map((standing) => leftOf(this.madeOf(standing).policy, standing.quota))
    return { policy: this.policiesOf(standings), limit: writeRateLimit(lefts) }
  }

  /** For a refusal, whose caller was told to come again in `afterS` seconds; undefined where it was not by a limit that can be told. */
  ofRefusal(rejection: Rejection, init: Init, afterS: number | undefined): RateLimitFields | undefined {
    const { told, pipeline } = this
    if (told === 'none' || rejection.reason !== 'rate') return undefined
    const refuser = pipeline.chain.limits.find((gate) => speaksFor(gate, rejection))
    if (refuser === undefined) return undefined
    const standings = quotasOf(
      pipeline,
      init,
      (gate) => gate === refuser || told === 'all' || (told === 'keyed' && OF_CALLERS.has(gate.kind)),
    )
    const spent = standings.find(({ gate }) => gate === refuser)
    if (spent === undefined) return undefined
    const { policy } = this.madeOf(spent)
    // Of this one alone: the others' times may lie behind the one of Retry-After.
    const left = afterS === undefined ? leftOf(policy, spent.quota) : leftUntil(policy, spent.quota, afterS)
    return { policy: this.policiesOf(standings), limit: writeRateLimit([left]) }
  }

  /** The same for an answer that is written already but for its fields. */
  refusing(answer: ErrorAnswer, rejection: Rejection, init: Init): ErrorAnswer {
    const { status, headers, body } = answer
    const after = headers['retry-after']
    const fields = this.ofRefusal(rejection, init, after === undefined ? undefined : Number(after))
    if (fields === undefined) return answer
    return {
      status,
      headers: { ...headers, [rateLimitNames.policy]: fields.policy, [rateLimitNames.limit]: fields.limit },
      body,
    }
  }

  /** On the head that is about to be written; a handler that tells of limits of its own is the last to speak. */
  tell(response: ServerResponse, init: Init, status: unknown): void {
    if (!this.tells || response.headersSent || response.hasHeader(rateLimitNames.limit)) return
    const fields = this.ofAnswer(init, Number(status))
    if (fields === undefined) return
    response.setHeader(rateLimitNames.policy, fields.policy)
    response.setHeader(rateLimitNames.limit, fields.limit)
  }

  private policiesOf(standings: readonly Standing[]): string {
    return standings.map((standing) => this.madeOf(standing).text).join(', ')
  }

  /** Callers with a limit of their own have another policy than others: the last one is kept, which is mostly everybody's. */
  private madeOf({ gate, quota }: Standing): Made {
    const { limit, windowMs } = quota
    const before = this.made.get(gate)
    if (before !== undefined && before.limit === limit && before.windowMs === windowMs) return before
    const policy = policyOf(gate.path, quota)
    const made = { limit, windowMs, policy, text: writeRateLimitPolicy([policy]) }
    this.made.set(gate, made)
    return made
  }
}

function isNobodys({ key }: Init): boolean {
  return key === undefined || key === ''
}

/** It refused, or what stands in it did: a gate of one key. */
function speaksFor(gate: Gate, { gate: refuser }: Rejection): boolean {
  return gate === refuser || refuser.path.startsWith(`${gate.path}/`)
}
