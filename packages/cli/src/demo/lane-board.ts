import { type Ending, isOk, type Sent } from './messages.ts'
import { ServerBoard } from './server-board.ts'
import { servers } from './story.ts'
import { Recent, Tally } from './tally.ts'

/** A recovery is looked for in steps of this share of its window. */
const STEPS = 10
const WELL = 0.95

/** What is known of one way from the clients to the servers. */
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
    const samples = sent.map(([, , , tookMs, ending]) => [tookMs, isOk(ending)] as const)
    this.recent.add({ spanMs, arrivals, samples })
    this.settledMs = settledMs
    for (const one of sent) if (one[1] >= 0) this.sent.push(one)
  }

  /** The share of the traffic that a server gets; NaN when there is none. What is refused or lost on the way is no server's. */
  shareOf({ recent }: ServerBoard): number {
    const got = this.servers.reduce((sum, server) => sum + server.recent.arrivalsPerSecond, 0)
    return recent.arrivalsPerSecond / (Math.max(got, this.recent.arrivalsPerSecond) || Number.NaN)
  }

  inPhase(index: number): Tally {
    const tally = new Tally()
    for (const [, , , tookMs, ending] of this.sentIn(index)) tally.add(tookMs, isOk(ending))
    return tally
  }

  /** What its failed requests came to, the most frequent first. */
  failuresIn(index: number): [Ending, Tally][] {
    const tallies = new Map<Ending, Tally>()
    for (const [, , , tookMs, ending] of this.sentIn(index)) {
      if (isOk(ending)) continue
      const tally = tallies.get(ending) ?? new Tally()
      tally.add(tookMs, false)
      tallies.set(ending, tally)
    }
    return [...tallies].sort(([, a], [, b]) => b.requests - a.requests)
  }

  /** In milliseconds after the phase began: in every window that begins later 95 % succeed. Undefined when the phase was over first. */
  wellAfterMs(index: number, windowMs: number): number | undefined {
    const stepMs = windowMs / STEPS
    const all: number[] = []
    const good: number[] = []
    let since = Number.POSITIVE_INFINITY
    for (const [, , atMs] of this.sentIn(index)) since = Math.min(since, atMs)
    for (const [, , atMs, , ending] of this.sentIn(index)) {
      const step = Math.floor((atMs - since) / stepMs)
      all[step] = (all[step] ?? 0) + 1
      if (isOk(ending)) good[step] = (good[step] ?? 0) + 1
    }
    for (let from = all.length - STEPS; from >= 0; from--) {
      if (sum(good, from) >= WELL * sum(all, from)) continue
      return from === all.length - STEPS ? undefined : (from + 1) * stepMs
    }
    return all.length < STEPS ? undefined : 0
  }

  private sentIn(index: number): Sent[] {
    return this.sent.filter(([, phase]) => phase === index)
  }

  /**
   * The run so far in pieces, `count` to the whole of it, by when requests were due. A piece of which some are still under way is not
   * there yet: those that have ended are the quick ones.
   */
  pieces(count: number, lengthMs: number): Tally[] {
    const settled = Math.min(count, Math.floor((this.settledMs * count) / lengthMs))
    const tallies = Array.from({ length: settled }, () => new Tally())
    for (const [, , atMs, tookMs, ending] of this.sent) {
      tallies[Math.floor((atMs * count) / lengthMs)]?.add(tookMs, isOk(ending))
    }
    return tallies
  }
}

function sum(counts: readonly number[], from: number): number {
  let total = 0
  for (let i = from; i < from + STEPS; i++) total += counts[i] ?? 0
  return total
}
