import * as v from 'valibot'
import { type Ask, type Gate, Permit, type Rejection, type Snapshot } from '../../core/gate.ts'
import { type Kind, kindOf, type Layer, makesGate, snapshotOf } from '../../core/layer.ts'
import { Refusals } from '../../core/refusals.ts'
import { type Env, envOf } from '../../core/runtime.ts'

// What would this gate refuse, if it were real?
//
// A decorator that asks, counts and tells, and never refuses: a new limit runs in the shadow for a day before it bites.
//
// Invariant: every call is admitted; the gate inside sees the calls that it admitted, and only those.

const shadowOptions = v.strictObject({
  of: v.custom<Layer>(makesGate, 'a layer that makes a gate'),
})

export type ShadowOptions = v.InferInput<typeof shadowOptions>

const shadowSnapshot = v.strictObject({
  ...snapshotOf('shadow'),
  wouldRefuse: v.array(v.strictObject({ path: v.string(), reason: v.string(), count: v.number() })),
  of: v.looseObject({ kind: v.string() }),
})

export class Shadow implements Gate {
  readonly kind = 'shadow'
  readonly path: string
  holds: boolean
  timed: boolean
  private inner: Gate
  private readonly env: Env
  private readonly refusals = new Refusals(true)

  constructor(inner: Gate, env: Env) {
    this.inner = inner
    this.env = env
    this.path = env.path
    this.holds = inner.holds === true
    this.timed = inner.timed === true
  }

  tryAcquire(ask: Ask): Permit | Rejection {
    const answer = this.inner.tryAcquire(ask)
    if (answer.ok) return answer
    this.refusals.add(answer, ask.now, this.env.emit)
    // A permit of our own, that nobody counts.
    return new Permit(this, 0)
  }

  /** Another gate in here, made from the one that was; what was counted stays. */
  reconfigure(make: (previous: Gate) => Gate): void {
    this.inner = make(this.inner)
    this.holds = this.inner.holds === true
    this.timed = this.inner.timed === true
  }

  settled(): void {}
  cancelled(): void {}

  idle(now: number): boolean {
    return this.inner.idle?.(now) === true
  }

  inspect(now: number): Snapshot {
    return { kind: this.kind, path: this.path, wouldRefuse: this.refusals.inspect(), of: this.inner.inspect(now) }
  }
}

/** Runs a gate without letting it refuse: `shadow({ of: rateLimit({ rate: 100 }) })`. */
export const shadow: Kind<ShadowOptions> = kindOf({
  kind: 'shadow',
  options: shadowOptions,
  snapshot: shadowSnapshot,
  build({ of }, env, previous) {
    const inner: Env = { ...envOf(env, `${env.path}/${of.kind}`), share: env.share }
    const make = (gate?: Gate): Gate => of.build(inner, gate) as Gate
    if (!(previous instanceof Shadow)) return new Shadow(make(), env)
    previous.reconfigure(make)
    return previous
  },
})
