import type { Call } from '../core/call.ts'
import { showMs } from '../core/duration.ts'
import { type Refuser, Rejection, type Snapshot } from '../core/gate.ts'
import type { Pipeline } from '../core/pipeline.ts'
import { Retry } from '../policies/retry.ts'
import { writeAttempts } from '../wire/attempts.ts'
import { names } from '../wire/names.ts'
import { type OutboundOptions, writeOutbound } from '../wire/outbound.ts'
import { Standings } from './standings.ts'

// What does an attempt say about itself, and is there time enough to say it?
//
// The server is told what really remains: of the operation, less a margin for the way, and never more than an attempt is waited for here. A
// call with nothing left is not sent: its answer would find nobody.

export interface PropagationOptions {
  /** Said at all. To strangers it need not be. */
  readonly propagate: boolean
  /** In milliseconds. */
  readonly margin: number
  readonly baggage: boolean
}

/** What we write is ours alone: a service that copies the headers which it got would send a time that is long over. */
const OURS: readonly string[] = [
  names.timeout,
  names.criticality,
  names.cohort,
  names.standsFor,
  names.attempt,
  names.attempts,
]

const NONE: readonly string[] = []

/** Below this there is nothing to tell. */
const LEAST_MS = 1
/** The histogram of attempts covers seconds: it need not be read anew for each of them. */
const HISTOGRAM_SERVES_MS = 100

export class Propagation implements Refuser {
  readonly kind = 'client'
  readonly path: string
  readonly options: PropagationOptions
  private readonly pipeline: Pipeline
  private readonly standings: Standings
  /** The longest that an attempt is waited for. */
  private attemptMs = Number.POSITIVE_INFINITY
  private retry: Retry | null = null
  private attempts: string | undefined
  private attemptsReadAt = Number.NEGATIVE_INFINITY

  constructor(pipeline: Pipeline, options: PropagationOptions) {
    this.path = pipeline.path
    this.options = options
    this.pipeline = pipeline
    this.standings = new Standings(pipeline.env)
    this.look()
    pipeline.on(({ type }) => {
      if (type === 'reloaded') this.look()
    })
  }

  private look(): void {
    const layers = this.pipeline.inspect()['layers'] as readonly Snapshot[]
    const spans = layers.filter(({ kind }) => kind === 'timeout').map((layer) => layer['afterMs'] as number)
    this.attemptMs = Math.min(...spans)
    const retry = this.pipeline.find('retry')
    this.retry = retry instanceof Retry ? retry : null
  }

  /** A refusal when too little time is left to send the call. */
  refusal({ remainingMs }: Call): Rejection | undefined {
    const left = remainingMs - this.options.margin
    return left < LEAST_MS ? new Rejection(this, 'deadline', 0, Math.max(0, remainingMs), LEAST_MS, true) : undefined
  }

  explain({ value }: Rejection): string {
    const { margin } = this.options
    const off = margin > 0 ? `, less a margin of ${showMs(margin)}` : ''
    return `${showMs(value)} left before the deadline${off}: too late to send it`
  }

  /** Headers that the caller must not write, in lower case. */
  get ours(): readonly string[] {
    return this.options.propagate ? OURS : NONE
  }

  /** Calls `set` for each header of this attempt; `baggage` gives the caller's own. */
  write(call: Call, baggage: () => string, set: (name: string, value: string) => void): void {
    const { propagate, margin, baggage: joins } = this.options
    if (!propagate) return
    const said: OutboundOptions = {
      marginMs: margin,
      attemptMs: this.attemptMs,
      attempts: this.histogram(call.now),
      cohort: this.standings.of(call),
      baggage: joins ? baggage() : undefined,
    }
    writeOutbound(call, said, set)
  }

  /** How many of the last seconds' calls were first tries, second tries ...; undefined where nobody retries. */
  private histogram(now: number): string | undefined {
    const { retry } = this
    if (retry === null || now - this.attemptsReadAt < HISTOGRAM_SERVES_MS) return this.attempts
    this.attemptsReadAt = now
    this.attempts = writeAttempts(retry.tries(now))
    return this.attempts
  }
}
