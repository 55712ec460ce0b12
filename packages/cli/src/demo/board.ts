import type { GatewayFacts } from './facts.ts'
import { LaneBoard } from './lane-board.ts'
import type { LoadReport } from './messages.ts'
import { TRY_MS } from './protection.ts'
import { type Behaviour, behaviourOf, type Phase } from './story.ts'

/** What is known so far: filled by reports, read by the views and the summary. */
export class Board {
  readonly phases: readonly Phase[]
  readonly phaseMs: number
  /** Requests, of each way. */
  readonly perSecond: number
  readonly without = new LaneBoard('WITHOUT FLOODWALL', 'asked in turn; a check each second leaves out the dead')
  readonly with = new LaneBoard('WITH FLOODWALL', `a server has ${TRY_MS} ms to answer, then another is tried`)
  /** -1 in the warm-up; after the last, their number. */
  phase = -1
  /** The share that is let through while the gateway's cluster recovers; undefined while it does not. */
  keepShare: number | undefined
  /** How often the gateway has asked its servers, by phase. */
  readonly attempts: number[] = []
  /** ... and how often because another had failed. */
  readonly retries: number[] = []
  /** The longest time that the load generator was behind its own schedule, when it has finished. */
  latestMs = 0
  private phaseSince = 0
  private attemptsBefore = 0
  private retriesBefore = 0

  constructor(phases: readonly Phase[], phaseMs: number, perSecond: number) {
    this.phases = phases
    this.phaseMs = phaseMs
    this.perSecond = perSecond
  }

  get lanes(): readonly LaneBoard[] {
    return [this.without, this.with]
  }

  get current(): Phase | undefined {
    return this.phases[this.phase]
  }

  get lengthMs(): number {
    return this.phaseMs * this.phases.length
  }

  /** Until the phase ends. */
  get leftMs(): number {
    return this.phase < 0 ? this.phaseMs : Math.max(0, this.phaseSince + this.phaseMs - performance.now())
  }

  /** Since the end of the warm-up. */
  get elapsedMs(): number {
    return this.phase < 0 ? 0 : Math.min(this.lengthMs, (this.phase + 1) * this.phaseMs - this.leftMs)
  }

  enter(index: number): void {
    this.phase = index
    this.phaseSince = performance.now()
    const phase = this.current
    if (phase === undefined) return
    for (const { name } of this.with.servers) this.behaves(name, behaviourOf(name, phase))
  }

  /** The same fault for both ways. */
  behaves(server: string, as: Behaviour): void {
    for (const lane of this.lanes) for (const one of lane.servers) if (one.name === server) one.behaviour = as
  }

  see({ retries, endpoints, recovering, keepShare }: GatewayFacts): void {
    this.keepShare = recovering ? keepShare : undefined
    for (const server of this.with.servers) {
      server.endpoint = endpoints.get(server.name)
      if (this.phase < 0 || server.endpoint?.state !== 'open') continue
      server.isolatedAfterMs[this.phase] ??= performance.now() - this.phaseSince
    }
    const attempts = [...endpoints.values()].reduce((sum, endpoint) => sum + endpoint.attempts, 0)
    if (this.phase >= 0) {
      this.attempts[this.phase] = (this.attempts[this.phase] ?? 0) + attempts - this.attemptsBefore
      this.retries[this.phase] = (this.retries[this.phase] ?? 0) + retries - this.retriesBefore
    }
    this.attemptsBefore = attempts
    this.retriesBefore = retries
  }

  take({ spanMs, arrivals, settledMs, leftOut, sent }: LoadReport): void {
    this.without.servers.forEach((server, i) => {
      server.leftOut = leftOut[0]?.[i]
    })
    this.lanes.forEach((lane, i) => {
      const own = sent.filter(([of]) => of === i)
      lane.take(spanMs, arrivals, settledMs[i] ?? 0, own)
    })
  }
}
