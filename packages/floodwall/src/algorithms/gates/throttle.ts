import { type Ask, type Gate, Permit, Rejection, type Snapshot } from '../../core/gate.ts'
import type { Criticality } from '../../core/init.ts'
import { type Kind, kindOf } from '../../core/layer.ts'
import type { Verdict } from '../../core/outcome.ts'
import { type Env, envOf } from '../../core/runtime.ts'
import { parse } from '../../core/schema.ts'
import { systemRuntime } from '../../core/system.ts'
import { Acceptance, EARNS, NO } from './throttle-acceptance.ts'
import { type ThrottleOptions, type ThrottleSettings, throttleOptions, throttleSnapshot } from './throttle-settings.ts'
import { Streak } from './throttle-streak.ts'
import { Turns } from './throttle-turns.ts'

// Will the target accept this call, or would it only cost it more?
//
// Source: adaptive throttling of clients, "Site Reliability Engineering", ch. 21 (the formula is in throttle-window.ts). A target that refuses
// still pays for each refusal; so its callers refuse for it, and send at most K calls for each one that it accepts.
//
// K 2, and the target accepts 100 of 1000 calls a second: 200 are sent, the other 800 are refused here. It accepts none: one a second is sent,
// or 0.5 %, until one is accepted; then all pass within some round trips.
//
// Each class of criticality has counts of its own, and a smaller K the lower it is. A target that knows the classes refuses the low ones, and only
// they are throttled. One that does not refuses all alike; then the class with the smallest K shrinks first, which leaves more room to the others.
//
// Invariants: until the target fails or refuses, nothing is refused here. No class that calls is shut out: each gets its turn to probe.

/** Highest first. A permit carries the index. */
const CLASSES = ['criticalPlus', 'critical', 'sheddablePlus', 'sheddable'] as const
const CRITICAL = 1

export class Throttle implements Gate {
  readonly kind = 'throttle'
  readonly path: string
  timed: boolean
  private readonly env: Env
  private settings: ThrottleSettings
  /** By class, from its first call on: most callers have one. */
  private readonly classes: (Acceptance | null)[] = [null, null, null, null]
  /** What all classes have in common: results of all of them, and turns at probing. */
  private readonly streak = new Streak()
  private readonly turns: Turns
  /** Permits that have not ended: what they will say must not be lost. */
  private lent = 0

  constructor(options: ThrottleOptions = {}, env: Env = envOf(systemRuntime, 'throttle')) {
    this.path = env.path
    this.env = env
    this.settings = parse(throttleOptions, options, 'throttle')
    this.turns = new Turns(this.settings.probeEvery, this.settings.probeShare)
    this.timed = this.settings.slowAfter !== undefined
  }

  tryAcquire(ask: Ask): Permit | Rejection {
    const index = indexOf(ask.criticality)
    const acceptance = this.classes[index] ?? this.join(index)
    const way = acceptance.at === 'passing' ? 0 : acceptance.pass(ask.now, this.behind(acceptance, ask.now))
    if (way === NO) return this.refuse(acceptance, ask.now)
    this.lent++
    return new Permit(this, acceptance.generation, way * CLASSES.length + index)
  }

  private join(index: number): Acceptance {
    const acceptance = new Acceptance(CLASSES[index] as Criticality, this.settings, this.turns, this.env)
    this.classes[index] = acceptance
    return acceptance
  }

  private behind(acceptance: Acceptance, now: number): number {
    let behind = 0
    for (const other of this.classes) if (other?.waitsLonger(acceptance, now) === true) behind++
    return behind
  }

  private refuse(acceptance: Acceptance, now: number): Rejection {
    const wait = acceptance.retryAfterMs(now)
    return new Rejection(this, 'throttled', wait, acceptance.wanted(now), acceptance.allowed(now))
  }

  settled(permit: Permit, verdict: Verdict, tookMs: number, now: number): void {
    this.lent--
    const index = permit.tag % CLASSES.length
    const acceptance = this.classes[index] as Acceptance
    if (permit.generation !== acceptance.generation) return
    const way = (permit.tag - index) / CLASSES.length
    if (verdict === 'success') this.accepted(acceptance, way, now)
    else if (verdict === 'overload') {
      acceptance.overloaded(now)
      this.missed(now)
    } else if (this.isEvidence(verdict, tookMs)) {
      acceptance.failed(now)
      this.missed(now)
    } else acceptance.learntNothing(way)
  }

  private accepted(acceptance: Acceptance, way: number, now: number): void {
    const found = acceptance.at === 'probing' || this.streak.missed >= this.settings.atLeast
    this.streak.accept()
    acceptance.accepted(way, now)
    if (!found) return
    // The others find out with a few calls, and need not wait for their turn.
    for (const other of this.classes)
      if (other?.at === 'probing') other.ramp('a call of another class was accepted', EARNS, now)
  }

  /** A class may call too seldom to notice an outage by itself: when nobody is accepted, it is no matter of one class. */
  private missed(now: number): void {
    const { streak } = this
    const { atLeast, over, probeEvery } = this.settings
    streak.miss(now, over)
    if (!streak.isSilence(atLeast, probeEvery, now)) return
    for (const acceptance of this.classes) {
      if (acceptance !== null && acceptance.at !== 'probing') acceptance.probe(streak.missed, now)
    }
  }

  /** Who was given the slow limit and got nothing has seen enough; who was given less has seen nothing. */
  private isEvidence(verdict: Verdict, tookMs: number): boolean {
    const { slowAfter } = this.settings
    if (verdict === 'failure') return true
    return slowAfter === undefined ? verdict === 'timeout' : tookMs >= slowAfter
  }

  cancelled(permit: Permit): void {
    this.lent--
    const index = permit.tag % CLASSES.length
    const acceptance = this.classes[index] as Acceptance
    if (permit.generation === acceptance.generation) acceptance.giveBack((permit.tag - index) / CLASSES.length)
  }

  /** Other settings, same counts and states; only another window begins empty. */
  reconfigure(settings: ThrottleSettings): void {
    this.settings = settings
    this.turns.reconfigure(settings.probeEvery, settings.probeShare)
    this.timed = settings.slowAfter !== undefined
    for (const acceptance of this.classes) acceptance?.reconfigure(settings)
  }

  explain({ value, limit }: Rejection): string {
    if (limit === 0) return `none of the last ${value} calls was accepted, only probes pass`
    return `${Math.round(value)} calls lately, and what was accepted of them allows ${Math.round(limit)}`
  }

  idle(now: number): boolean {
    return this.lent === 0 && this.classes.every((acceptance) => acceptance === null || acceptance.idle(now))
  }

  inspect(now: number): Snapshot {
    const { kind, path } = this
    const classes = this.classes.filter((acceptance) => acceptance !== null)
    return {
      kind,
      path,
      refused: classes.reduce((sum, { refused }) => sum + refused, 0),
      probes: classes.reduce((sum, { probes }) => sum + probes, 0),
      classes: classes.map((acceptance) => acceptance.inspect(now)),
    }
  }
}

/** What is no class counts as the usual one. */
function indexOf(criticality: Criticality): number {
  if (criticality === 'critical') return CRITICAL
  const index = CLASSES.indexOf(criticality)
  return index < 0 ? CRITICAL : index
}

/** Refuses what the target would refuse anyway. Success is accepted; failure, timeout and overload are not; what is ignored touches nothing. */
export const throttle: Kind<ThrottleOptions, ThrottleSettings> = kindOf({
  kind: 'throttle',
  options: throttleOptions,
  snapshot: throttleSnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof Throttle)) return new Throttle(settings, env)
    previous.reconfigure(settings)
    return previous
  },
})
