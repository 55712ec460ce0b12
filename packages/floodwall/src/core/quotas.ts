import type { Ask, Gate, Quota } from './gate.ts'
import type { Criticality, Init } from './init.ts'
import type { Pipeline } from './pipeline.ts'

// What have the rate limits of a pipeline left for one caller?
//
// Asked beside the call: a refusal has none to ask for, and when the head of an answer is written others of the same caller have taken their part.
//
// Invariant: nothing is taken, and no table grows.

/** A limit in its place. */
export interface Standing {
  readonly gate: Gate
  readonly quota: Quota
}

/** The question without a call. */
class Question implements Ask {
  readonly now: number
  readonly deadline = Number.POSITIVE_INFINITY
  readonly criticality: Criticality
  readonly cost: number
  readonly key: string | number
  readonly method: string | undefined

  constructor({ criticality, cost = 1, key = '', method }: Init, otherwise: Criticality, now: number) {
    this.now = now
    this.criticality = criticality ?? otherwise
    this.cost = cost
    this.key = key
    this.method = method
  }
}

/** The limits of `pipeline` that are `wanted` and count in calls, outermost first, and what each has left for a call with `init`. */
export function quotasOf(
  { chain, env, host }: Pipeline,
  init: Init,
  wanted: (gate: Gate) => boolean = () => true,
): Standing[] {
  const { limits } = chain
  if (limits.length === 0) return []
  const ask = new Question(init, host.criticality, env.now())
  return limits.flatMap((gate) => {
    const quota = wanted(gate) ? gate.quota?.(ask) : undefined
    return quota === undefined ? [] : [{ gate, quota }]
  })
}
