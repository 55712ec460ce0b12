import { Breaker, type BreakerOptions, type BreakerState, presets } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { inspected } from '../../support/breakers.ts'
import { optionsOf, type Recorded, type Step } from './recorded.ts'
import { Traffic } from './traffic.ts'

const STATES: Readonly<Record<BreakerState, string>> = {
  closed: 'CLOSED',
  open: 'OPEN',
  halfOpen: 'HALF_OPEN',
  forcedOpen: 'FORCED_OPEN',
  disabled: 'DISABLED',
  metricsOnly: 'METRICS_ONLY',
}

/** The state that their operation names. */
export const byHand = (op: string): string => op.replace('transition_to_', '').toUpperCase()

/** Our breaker under their configuration, which the preset has translated. */
export class Ours {
  readonly world: VirtualRuntime
  readonly gate: Breaker
  readonly traffic: Traffic
  /** Steps in which the two cannot be compared, see {@link atItsEnd}. */
  skipped = 0
  private anew = 0

  /** `more`: what the preset does not say. */
  constructor(recorded: Recorded, more: BreakerOptions = {}) {
    this.world = new VirtualRuntime({ startAt: recorded.createdAt_t_ms ?? 0 })
    const { initialState = 'CLOSED', transitionOnResult: _, ...options } = optionsOf(recorded)
    this.gate = new Breaker({ ...presets.resilience4j(options), ...more }, this.world.env('ours'))
    if (initialState !== 'CLOSED') this.steer(initialState)
    this.traffic = new Traffic(
      this.world,
      this.gate,
      () => this.state,
      () => this.changes,
      (op) => this.steer(op === 'reset' ? 'CLOSED' : byHand(op)),
    )
  }

  get state(): string {
    return STATES[this.gate.state()]
  }

  /** Changes of state so far. */
  private get changes(): number {
    return this.anew + this.world.events.filter(({ type }) => type === 'state').length
  }

  private steer(name: string): boolean {
    const [to] = Object.entries(STATES).find(([, theirs]) => theirs === name) ?? []
    if (to === undefined) return false
    const told = this.changes
    this.gate.steer(to as BreakerState)
    // Closed or open anew is told to nobody, and is another life.
    if (this.changes === told && (to === 'closed' || to === 'open')) this.anew++
    return true
  }

  /**
   * The open time ends with its last millisecond there, and with the first one after it here, and `state()` says at once what a call would meet.
   * So the one step that looks at or asks in that very millisecond, and looks after it before anybody has asked, is not compared.
   */
  private atItsEnd({ at, op, permitted, state }: Step): boolean {
    if (state !== 'OPEN' || this.state !== 'HALF_OPEN') return false
    const told = this.world.events.findLast((event) => event.type === 'state')
    if (told === undefined || told.type !== 'state' || told.to !== 'open') return false
    return op === 'get' || (permitted === false && inspected(this.gate, at - 0.5).probeInMs === 0.5)
  }

  /** What ours shows after the step; undefined for a step that is not compared. */
  play(step: Step): readonly [boolean | null, string] | undefined {
    this.world.advance(step.at - this.world.now())
    if (this.atItsEnd(step)) {
      this.skipped++
      return undefined
    }
    const permitted = this.traffic.play(step)
    return [permitted ?? null, this.state]
  }

  get probes(): unknown {
    return inspected(this.gate, this.world.now()).probes
  }

  /** The numbers behind its last change. */
  get why(): string {
    return inspected(this.gate, this.world.now()).why
  }
}
