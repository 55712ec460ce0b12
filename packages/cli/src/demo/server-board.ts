import type { EndpointFacts } from './facts.ts'
import type { ServerReport } from './messages.ts'
import type { Behaviour } from './story.ts'
import { Recent } from './tally.ts'

/** A crowd is a matter of a moment: over two seconds it would look small. */
const MOMENT_MS = 1_000

/** What is known of one server of one way. */
export class ServerBoard {
  readonly name: string
  behaviour: Behaviour = 'well'
  /** What the gateway's cluster thinks of it; undefined where there is none. */
  endpoint: EndpointFacts | undefined
  /** The plain balancer does not ask it; undefined behind the gateway. */
  leftOut: boolean | undefined
  readonly recent = new Recent()
  /** How many requests it got, by phase. */
  readonly arrivals: number[] = []
  /** The most that it got in one second, by phase. */
  readonly crowd: number[] = []
  /** When it was first seen isolated, in milliseconds after the phase began, by phase. */
  readonly isolatedAfterMs: number[] = []
  private readonly moment = new Recent(MOMENT_MS)

  constructor(name: string) {
    this.name = name
  }

  take({ spanMs, arrivals, served }: ServerReport, phase: number): void {
    this.recent.add({ spanMs, arrivals, samples: served })
    this.moment.add({ spanMs, arrivals, samples: [] })
    if (phase < 0) return
    this.arrivals[phase] = (this.arrivals[phase] ?? 0) + arrivals
    this.crowd[phase] = Math.max(this.crowd[phase] ?? 0, this.moment.arrivalsPerSecond)
  }
}
