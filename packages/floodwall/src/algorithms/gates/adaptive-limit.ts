import { type Gate, Permit, Rejection, type Snapshot } from '../../core/gate.ts'
import { type Kind, kindOf } from '../../core/layer.ts'
import type { Verdict } from '../../core/outcome.ts'
import { type Env, envOf } from '../../core/runtime.ts'
import { parse } from '../../core/schema.ts'
import { systemRuntime } from '../../core/system.ts'
import type { Estimator } from '../estimators/estimator.ts'
import {
  type AdaptiveLimitOptions,
  type AdaptiveLimitSettings,
  adaptiveLimitOptions,
  adaptiveLimitSnapshot,
  estimatorOf,
  reconfigured,
} from './adaptive-limit-settings.ts'
import { Rooms } from './rooms.ts'

// How many may be inside at once, if nobody knows the number?
//
// Source: concurrency-limits by Netflix (2018): a bulkhead whose slots an estimator sets, from what calls take. The gate counts, the estimator
// learns; what is a measurement and what a drop is said by the table of verdicts, and not by each estimator.
//
// 32 workers, 20 ms: it settles at about 39 slots, of which 7 wait. One worker: at 4 or 5. Nobody has set either.
//
// Invariant: nobody passes while as many are inside as the limit says, which is at least 1: the only call passes. Permits end once, so that
// a lowered limit drains and nothing is lost. Only work that has ended teaches it: no refusal, no cancelled call, no failure.

/** Whoever has learnt nothing for so long knows nothing worth keeping. */
const FORGOTTEN_MS = 60_000
/** Twelve days. A clock that is wrong must not make a sum infinite. */
const LONGEST_MS = 1e9

export class AdaptiveLimit implements Gate {
  readonly kind = 'adaptiveLimit'
  readonly path: string
  readonly holds = true
  readonly timed = true
  private settings: AdaptiveLimitSettings
  private estimator: Estimator
  private slots: number
  private used = 0
  private most = 0
  private refused = 0
  private samples = 0
  private drops = 0
  private learntAt = -Infinity
  /** Somebody found no slot since the last sample. */
  private wanted = false
  private readonly rooms = new Rooms()

  constructor(options: AdaptiveLimitOptions = {}, env: Env = envOf(systemRuntime, 'adaptiveLimit')) {
    this.path = env.path
    this.settings = parse(adaptiveLimitOptions, options, 'adaptiveLimit')
    this.estimator = estimatorOf(this.settings)
    this.slots = this.slotsOf(this.estimator.limit)
  }

  tryAcquire(): Permit | Rejection {
    if (this.used >= this.slots) {
      this.refused++
      this.wanted = true
      return new Rejection(this, 'full', 0, this.used, this.slots)
    }
    this.used++
    if (this.used > this.most) this.most = this.used
    return new Permit(this, 0, this.used)
  }

  settled(permit: Permit, verdict: Verdict, tookMs: number, now: number): void {
    if (verdict !== 'failure' && verdict !== 'ignored') this.learn(permit.tag, verdict, tookMs, now)
    this.free()
  }

  cancelled(): void {
    this.free()
  }

  private learn(inFlight: number, verdict: Verdict, tookMs: number, now: number): void {
    const { slowAfter } = this.settings
    const heard = slowAfter !== undefined && tookMs > slowAfter && verdict === 'success' ? 'timeout' : verdict
    this.samples++
    if (heard !== 'success') this.drops++
    this.learntAt = now
    // One slot and one call is no proof of demand, and no proof of the contrary: there, who was refused counts as the second.
    const asked = inFlight === 1 && this.slots === 1 && this.wanted ? 2 : inFlight
    this.wanted = false
    this.estimator.sample(tookMs > 0 ? Math.min(tookMs, LONGEST_MS) : 0, asked, heard, now)
    this.slots = this.slotsOf(this.estimator.limit)
  }

  private free(): void {
    this.used--
    if (this.rooms.size > 0) this.rooms.wake(this)
  }

  /** An estimator of somebody else may say 0, a fraction, NaN: the only call passes nevertheless. */
  private slotsOf(limit: number): number {
    const { min, max } = this.settings
    return limit >= min ? Math.floor(Math.min(max, limit)) : min
  }

  /** Calls at once, now. */
  get limit(): number {
    return this.slots
  }

  /** Slots not taken; below 0 while a lowered limit drains. */
  get available(): number {
    return this.slots - this.used
  }

  onFree(wake: () => void): () => void {
    return this.rooms.listen(wake)
  }

  /** Other settings, same calls inside; what was learnt stays, and another estimator begins where the last one was. */
  reconfigure(settings: AdaptiveLimitSettings): void {
    this.estimator = reconfigured(this.estimator, this.settings, settings)
    this.settings = settings
    this.slots = this.slotsOf(this.estimator.limit)
    if (this.rooms.size > 0) this.rooms.wake(this)
  }

  explain({ value, limit }: Rejection): string {
    const { estimator } = this
    const { baselineMs, latencyMs, baseMs, queueMs } = estimator.inspect(this.learntAt)
    const known = numberOf(baselineMs) ?? numberOf(baseMs)
    const wait = numberOf(queueMs) ?? (numberOf(latencyMs) ?? 0) - (known ?? 0)
    const why =
      known === undefined ? '' : `; calls need ${shown(known)} ms, and wait ${shown(Math.max(0, wait))} ms inside`
    return `${value} are inside, of ${limit} that ${estimator.kind} allows${why}`
  }

  /** What was learnt lately would be missed. */
  idle(now: number): boolean {
    return this.used === 0 && now - this.learntAt >= FORGOTTEN_MS
  }

  inspect(now: number): Snapshot {
    const { kind, path, limit, used, most, refused, samples, drops } = this
    const estimator = this.estimator.inspect(now)
    return { kind, path, limit, used, most, refused, samples, drops, rooms: this.rooms.size, estimator }
  }
}

/** A time that an estimator knows; undefined before it does. */
function numberOf(ms: unknown): number | undefined {
  return typeof ms === 'number' && ms > 0 ? ms : undefined
}

function shown(ms: number): number {
  return ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)
}

/** As many calls inside at once as the latency says that there should be. Refuses when full; put a `queue` before it to wait instead. */
export const adaptiveLimit: Kind<AdaptiveLimitOptions, AdaptiveLimitSettings> = kindOf({
  kind: 'adaptiveLimit',
  options: adaptiveLimitOptions,
  snapshot: adaptiveLimitSnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof AdaptiveLimit)) return new AdaptiveLimit(settings, env)
    previous.reconfigure(settings)
    return previous
  },
})
