import type { Gate, Permit, Verdict } from 'floodwall'
import type { VirtualRuntime } from 'floodwall/testing'
import { ask } from '../../support/asks.ts'
import type { Step } from './recorded.ts'

// The traffic of a recording, through the permits of a gate: a result belongs to a call, and the call to the state in which it was admitted.
// The recordings do not say whose result it is. It is taken to be the call that began as long before it as it took, or else the longest running.

interface Running {
  readonly permit: Permit
  readonly since: number
  readonly life: number
}

const ADMITS_ALL: ReadonlySet<string> = new Set(['CLOSED', 'DISABLED', 'METRICS_ONLY'])

/** What is done by hand, on the gate in question. False: it has no such hand. */
export type Hand = (op: string, arg: number) => boolean

export class Traffic {
  private running: Running[] = []
  private readonly world: VirtualRuntime
  private readonly gate: Gate
  private readonly hand: Hand
  private readonly state: () => string
  /** Which life the gate is in: another number after each change. */
  private readonly life: () => number

  constructor(world: VirtualRuntime, gate: Gate, state: () => string, life: () => number, hand: Hand) {
    this.world = world
    this.gate = gate
    this.state = state
    this.hand = hand
    this.life = life
  }

  /** Plays a step; whether it was admitted, null for what is no call, and undefined if the gate has no such hand. */
  play({ at, op, arg }: Step): boolean | null | undefined {
    this.world.advance(at - this.world.now())
    return this.act(op, arg)
  }

  /** True when the step would end a call of an earlier state, or one that there never was. */
  endsLate({ op, arg }: Step): boolean {
    if (op === 'get' || op === 'try' || op === 'acquire' || op === 'reset' || op.startsWith('transition_')) return false
    const next = this.running[this.whose(arg)]
    return next === undefined ? !ADMITS_ALL.has(this.state()) : next.life !== this.life()
  }

  private act(op: string, arg: number): boolean | null | undefined {
    if (op === 'get') return null
    if (op === 'try' || op === 'acquire') return this.begin()
    if (op === 'reset' || op.startsWith('transition_')) return this.hand(op, arg) ? null : undefined
    this.end(op, arg)
    return null
  }

  private begin(): boolean {
    const now = this.world.now()
    const permit = this.gate.tryAcquire(ask(now))
    if (permit.ok) this.running.push({ permit, since: now, life: this.life() })
    return permit.ok
  }

  private end(op: string, tookMs: number): void {
    const now = this.world.now()
    // Where everything is admitted the recordings leave the asking out.
    if (this.running.length === 0 && ADMITS_ALL.has(this.state())) this.begin()
    const [call] = this.running.splice(this.whose(tookMs), 1)
    if (op === 'release') call?.permit.cancel(now)
    else call?.permit.settle(verdictOf(op), tookMs, now)
  }

  private whose(tookMs: number): number {
    const since = this.world.now() - tookMs
    return Math.max(
      0,
      this.running.findIndex((call) => call.since === since),
    )
  }

  /** Of a call whose state has ended the clean recordings report nothing. */
  forget(): void {
    this.running = this.running.filter(({ life }) => life === this.life())
  }
}

function verdictOf(op: string): Verdict {
  if (op === 'ignored') return 'ignored'
  return op === 'error' || op === 'result:bad' || op.startsWith('error:') ? 'failure' : 'success'
}
