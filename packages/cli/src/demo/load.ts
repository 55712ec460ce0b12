import { Agent } from 'undici'
import { Balancer } from './balancer.ts'
import { type Ending, type LoadNews, type LoadOrder, type LoadPlan, REPORT_EVERY_MS, type Sent } from './messages.ts'

// The clients of the demo: an open-loop load generator, a process of its own so that drawing cannot delay it.
//
// Arrivals follow a fixed schedule, whether or not earlier ones have been answered, and latency counts from when a request was due: a
// system that stalls cannot slow its clients down and look good for it ("coordinated omission", Gil Tene). Every arrival is sent once to
// each lane by the same code with the same time limit, so both meet the same traffic at the same moment.

class Lane {
  readonly index: number
  readonly balancer: Balancer
  /** When those under way were due, the oldest first. */
  readonly pending = new Set<number>()

  constructor(index: number, origins: readonly string[]) {
    this.index = index
    this.balancer = new Balancer(origins)
  }
}

class Load {
  private readonly plan: LoadPlan
  private readonly lanes: readonly Lane[]
  private readonly agent: Agent
  private readonly startedAt = performance.now()
  /** When each phase began. */
  private readonly began: number[] = []
  private phase = -1
  private arrivals = 0
  private reportedArrivals = 0
  private finishing = false
  private sent: Sent[] = []
  private reportedAt = this.startedAt
  /** The longest time that a request left after it was due: this process being slow, not what it measures. */
  private latestMs = 0

  constructor(plan: LoadPlan) {
    this.plan = plan
    this.lanes = plan.lanes.map((origins, i) => new Lane(i, origins))
    this.agent = new Agent({ connections: plan.inFlightAtMost, pipelining: 1, keepAliveTimeout: 60_000 })
    setInterval(() => this.report(), REPORT_EVERY_MS)
    this.arrive()
  }

  enter(phase: number): void {
    if (phase >= 0) this.began[phase] = performance.now()
    this.phase = phase
  }

  /** No more arrivals; what is under way is waited for, which takes no longer than the time limit. */
  finish(): void {
    this.finishing = true
    this.finishIfIdle()
  }

  private arrive(): void {
    const { perSecond, arrivalsAtMost } = this.plan
    for (;;) {
      if (this.finishing || this.arrivals >= arrivalsAtMost) return
      const due = this.startedAt + (this.arrivals * 1000) / perSecond
      const lateMs = performance.now() - due
      if (lateMs < 0) {
        setTimeout(() => this.arrive(), -lateMs)
        return
      }
      if (this.phase >= 0) this.latestMs = Math.max(this.latestMs, lateMs)
      // Who goes first changes, so that neither lane always finds the other's work before its own.
      const order = this.arrivals % 2 === 0 ? this.lanes : this.lanes.toReversed()
      this.arrivals++
      for (const lane of order) void this.send(lane, due)
    }
  }

  private async send(lane: Lane, due: number): Promise<void> {
    const { phase } = this
    const atMs = this.runMs(due)
    if (lane.pending.size >= this.plan.inFlightAtMost) {
      this.sent.push([lane.index, phase, atMs, this.plan.timeoutMs, 'timed out'])
      return
    }
    lane.pending.add(due)
    const ending = await this.get(lane.balancer.next())
    lane.pending.delete(due)
    this.sent.push([lane.index, phase, atMs, performance.now() - due, ending])
    this.finishIfIdle()
  }

  private async get(origin: string): Promise<Ending> {
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(), this.plan.timeoutMs)
    try {
      const { statusCode, body } = await this.agent.request({ origin, path: '/', method: 'GET', signal: limit.signal })
      await body.text()
      return statusCode
    } catch (error) {
      if (limit.signal.aborted) return 'timed out'
      return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'refused' : 'cut off'
    } finally {
      clearTimeout(timer)
    }
  }

  /** On the clock of the run, which stands still between phases. */
  private runMs(at: number): number {
    const { phaseMs } = this.plan
    const phase = this.began.findLastIndex((began) => began <= at)
    return phase < 0 ? 0 : phase * phaseMs + Math.min(phaseMs, at - (this.began[phase] ?? at))
  }

  private finishIfIdle(): void {
    if (!this.finishing || this.lanes.some(({ pending }) => pending.size > 0)) return
    this.report()
    tell({ kind: 'finished', latestMs: this.latestMs })
  }

  private report(): void {
    const now = performance.now()
    const settledMs = this.lanes.map(({ pending: [oldest = now] }) => this.runMs(oldest))
    const arrivals = this.arrivals - this.reportedArrivals
    const leftOut = this.lanes.map(({ balancer }) => balancer.leftOut)
    tell({ kind: 'report', spanMs: now - this.reportedAt, arrivals, settledMs, leftOut, sent: this.sent })
    this.sent = []
    this.reportedAt = now
    this.reportedArrivals = this.arrivals
  }
}

let load: Load | undefined

// Nothing else keeps this process alive until its orders come.
process.channel?.ref()

process.on('message', (order: LoadOrder) => {
  if (order.kind === 'start') load = new Load(order.plan)
  else if (order.kind === 'phase') load?.enter(order.phase)
  else load?.finish()
})

tell({ kind: 'ready' })

/** A parent that has gone is noticed elsewhere (orphan.ts). */
function tell(news: LoadNews): void {
  process.send?.(news, undefined, undefined, () => {})
}
