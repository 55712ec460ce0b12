import type { GatewayFacts } from './gateway.ts'
import type { LoadReport, Sent, ServerReport } from './messages.ts'
import { type Behaviour, behaviourOf, type Phase, servers } from './story.ts'
import { Recent, Tally } from './tally.ts'

// What is known so far: filled by reports, read by the views and the summary.

export class ServerBoard {
  readonly name: string
  behaviour: Behaviour = 'well'
  /** The state of the breaker that guards it; undefined where there is none. */
  breaker: string | undefined
  readonly recent = new Recent()
  /** How many requests it was sent, by phase. */
  readonly arrivals: number[] = []
  /** When its breaker was first seen refusing, in milliseconds after the phase began, by phase. */
  readonly refusedAfterMs: number[] = []

  constructor(name: string) {
    this.name = name
  }

  take({ spanMs, arrivals, served }: ServerReport, phase: number): void {
    this.recent.add({ spanMs, arrivals, samples: served })
    if (phase >= 0) this.arrivals[phase] = (this.arrivals[phase] ?? 0) + arrivals
  }
}

/** One way from the clients to the servers. */
export class LaneBoard {
  readonly title: string
  readonly note: string
  readonly servers = servers.map((name) => new ServerBoard(name))
  readonly recent = new Recent()
  private readonly sent: Sent[] = []
  private settledMs = 0

  constructor(title: string, note: string) {
    this.title = title
    this.note = note
  }

  of(server: string): ServerBoard | undefined {
    return this.servers.find(({ name }) => name === server)
  }

  take(spanMs: number, arrivals: number, settledMs: number, sent: readonly Sent[]): void {
    this.recent.add({ spanMs, arrivals, samples: sent.map(([, , , tookMs, ok]) => [tookMs, ok]) })
    this.settledMs = settledMs
    for (const one of sent) if (one[1] >= 0) this.sent.push(one)
  }

  inPhase(index: number): Tally {
    const tally = new Tally()
    for (const [, phase, , tookMs, ok] of this.sent) if (phase === index) tally.add(tookMs, ok)
    return tally
  }

  /**
   * The run so far in pieces, `count` to the whole of it, by when requests were due. A piece of which some are still under way is not
   * there yet: those that have ended are the quick ones.
   */
  pieces(count: number, lengthMs: number): Tally[] {
    const settled = Math.min(count, Math.floor((this.settledMs * count) / lengthMs))
    const tallies = Array.from({ length: settled }, () => new Tally())
    for (const [, , atMs, tookMs, ok] of this.sent) tallies[Math.floor((atMs * count) / lengthMs)]?.add(tookMs, ok)
    return tallies
  }
}

export class Board {
  readonly phases: readonly Phase[]
  readonly phaseMs: number
  /** Requests, of each way. */
  readonly perSecond: number
  readonly without = new LaneBoard('WITHOUT FLOODWALL', 'the clients ask the servers in turn and wait up to 3 s')
  readonly with = new LaneBoard('WITH FLOODWALL', 'the clients ask the gateway: breakers, 250 ms for each try, retries')
  /** -1 in the warm-up; after the last, their number. */
  phase = -1
  retries = 0
  /** The longest time that the load generator was behind its own schedule, when it has finished. */
  latestMs = 0
  private phaseSince = 0

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
    for (const lane of this.lanes) for (const server of lane.servers) server.behaviour = behaviourOf(server.name, phase)
  }

  see({ retries, breakers }: GatewayFacts): void {
    this.retries = retries
    for (const server of this.with.servers) {
      server.breaker = breakers.get(server.name)
      if (this.phase < 0 || server.breaker === undefined || server.breaker === 'closed') continue
      server.refusedAfterMs[this.phase] ??= performance.now() - this.phaseSince
    }
  }

  take({ spanMs, arrivals, settledMs, sent }: LoadReport): void {
    this.lanes.forEach((lane, i) => {
      const own = sent.filter(([of]) => of === i)
      lane.take(spanMs, arrivals, settledMs[i] ?? 0, own)
    })
  }
}
