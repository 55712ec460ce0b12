import { Admission } from './admission.ts'
import type { Gate, Snapshot } from './gate.ts'
import { isGate, isLifted, type Layer } from './layer.ts'
import { leaf } from './leaf.ts'
import type { Policy } from './policy.ts'
import { type Env, envOf } from './runtime.ts'
import { sameOptions } from './same.ts'
import { type Step, stepOf } from './step.ts'

/** What a layer became. */
export type Built = Gate | Policy

/** A layer in its place. */
export interface Place {
  /** Kind and ordinal, stable across reloads: `breaker`, `breaker-2`. */
  readonly id: string
  readonly layer: Layer
  readonly built: Built
}

/** How many places a reload kept, changed, added, removed. */
export interface Changes {
  readonly kept: number
  readonly changed: number
  readonly added: number
  readonly removed: number
}

/** Layers, built and composed once; the work travels in the call. Adjacent gates fuse. `end` is what comes after the last layer. */
export class Chain {
  readonly layers: readonly Place[]
  readonly first: Step
  /** Set when there are gates and nothing else. */
  readonly gatesOnly: Admission | null
  /** Those that may say what they have left for a caller. */
  readonly limits: readonly Gate[]
  private readonly env: Env
  private readonly end: Step
  /** Taken out by a reload while calls waited in them: those finish as they began, or are ended by {@link close}. */
  private retired: readonly Policy[] = []

  constructor(layers: readonly Layer[], env: Env, end: Step = leaf, previous: readonly Place[] = []) {
    this.env = env
    this.end = end
    this.layers = place(layers, env, previous)
    this.limits = this.layers
      .map((p) => p.built)
      .filter((built): built is Gate => isGate(built) && built.quota !== undefined)
    const steps = fuse(this.layers, env)
    const [only] = steps
    this.gatesOnly = steps.length === 1 && only instanceof Admission ? only : null
    this.first = compose(steps, end)
  }

  /**
   * A chain of `layers` that keeps the objects of unchanged ones and hands their predecessors to changed ones. Calls in flight go on through
   * the chain they began in, so that a policy in which calls can wait is left open.
   */
  replaced(layers: readonly Layer[]): { chain: Chain; changes: Changes } {
    const chain = new Chain(layers, this.env, this.end, this.layers)
    const before = new Map(this.layers.map((p) => [p.id, p]))
    let kept = 0
    let changed = 0
    let added = 0
    const gone: Built[] = [...this.retired]
    for (const now of chain.layers) {
      const was = before.get(now.id)
      before.delete(now.id)
      if (was === undefined) added++
      else if (was.layer === now.layer || sameOptions(was.layer, now.layer)) kept++
      else changed++
      if (was !== undefined && was.built !== now.built) gone.push(was.built)
    }
    for (const { built } of before.values()) gone.push(built)
    for (const policy of gone.filter(isPolicy)) if (policy.waiting === undefined) policy.close?.()
    chain.retired = gone.filter(isPolicy).filter(({ waiting = 0 }) => waiting > 0)
    return { chain, changes: { kept, changed, added, removed: before.size } }
  }

  inspect(now: number): Snapshot[] {
    return this.layers.map(({ built, layer }) => built.inspect?.(now) ?? { kind: layer.kind, path: built.path })
  }

  find(path: string): Built | undefined {
    return this.layers.find((p) => p.built.path === path)?.built
  }

  /** Calls that wait in any policy. */
  get waiting(): number {
    return this.policies.reduce((sum, { waiting = 0 }) => sum + waiting, 0)
  }

  close(): void {
    for (const policy of this.policies) policy.close?.()
  }

  private get policies(): Policy[] {
    return [...this.layers.map((p) => p.built).filter(isPolicy), ...this.retired]
  }
}

function isPolicy(built: Built): built is Policy {
  return !isGate(built)
}

function place(layers: readonly Layer[], env: Env, previous: readonly Place[]): Place[] {
  const before = new Map(previous.map((p) => [p.id, p]))
  const seen = new Map<string, number>()
  return layers.map((layer) => {
    const ordinal = (seen.get(layer.kind) ?? 0) + 1
    seen.set(layer.kind, ordinal)
    const id = ordinal === 1 ? layer.kind : `${layer.kind}-${ordinal}`
    const was = before.get(id)
    if (was !== undefined && sameOptions(was.layer, layer)) return { id, layer, built: was.built }
    // A gate that was lifted belongs to others as well: it is not ours to change.
    const mine = was !== undefined && !isLifted(was.layer)
    return { id, layer, built: layer.build(layerEnv(env, id), mine ? was.built : undefined) }
  })
}

function layerEnv(env: Env, id: string): Env {
  return { ...envOf(env, `${env.path}/${id}`), share: env.share }
}

function fuse(places: readonly Place[], env: Env): Policy[] {
  const steps: Policy[] = []
  let gates: Gate[] = []
  const flush = () => {
    if (gates.length > 0) steps.push(new Admission(gates, env))
    gates = []
  }
  for (const { built } of places) {
    if (isGate(built)) gates.push(built)
    else {
      flush()
      steps.push(built)
    }
  }
  flush()
  return steps
}

function compose(policies: readonly Policy[], end: Step): Step {
  return policies.reduceRight((inner, policy) => stepOf(policy, inner), end)
}
