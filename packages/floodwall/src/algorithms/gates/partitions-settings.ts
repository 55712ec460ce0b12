import * as v from 'valibot'
import type { Ask, Gate } from '../../core/gate.ts'
import { isGate, type Layer, snapshotOf } from '../../core/layer.ts'
import { envOf } from '../../core/runtime.ts'
import { oneOf, positiveSpan, shareOrZero } from '../../core/schema.ts'
import { systemRuntime } from '../../core/system.ts'

/** A gate that lends a number of slots: a bulkhead, a limit that adapts. */
export interface SlotGate extends Gate {
  /** Slots that there are now. */
  readonly limit: number
  onFree(wake: () => void): () => void
}

/** Which partition a call belongs to. A name that has no share is `other`. */
export type PartitionOf = (ask: Ask) => string | number

/** Shares by name, `other` for all others. */
export type Shares = Readonly<Record<string, number>>

/** Their sum in doubles may be a little more. */
const ONE = 1 + 1e-9
/** Each borrowed slot asks what all others want. */
const MOST = 64
const CLASSES: readonly string[] = ['criticalPlus', 'critical', 'sheddablePlus', 'sheddable', 'other']

const sharesOf: v.GenericSchema<Shares, Shares> = v.pipe(
  v.record(v.string(), shareOrZero, 'shares by name, such as { web: 0.6, batch: 0.3 }'),
  v.check((shares) => Object.keys(shares).length <= MOST, `at most ${MOST} partitions`),
  v.check((shares) => sum(shares) <= ONE, 'shares that add up to at most 1'),
)

function sum(shares: Shares): number {
  return Object.values(shares).reduce((total, share) => total + share, 0)
}

/** Builds one for nobody: `build` has no effects. */
function lendsSlots(layer: unknown): layer is Layer {
  if (typeof layer !== 'object' || layer === null || !('build' in layer)) return false
  const built = (layer as Layer).build(envOf(systemRuntime, 'trial'))
  if (!isGate(built)) return false
  const { limit, holds, onFree } = built as Partial<SlotGate>
  return typeof limit === 'number' && holds === true && typeof onFree === 'function'
}

const byWhat = oneOf('criticality', 'key', 'method')

export const partitionsOptions = v.pipe(
  v.strictObject({
    /** The gate whose slots are divided. */
    of: v.custom<Layer>(lendsSlots, 'a layer that lends slots, such as a bulkhead'),
    /** The share of the slots that each is sure of, by name. What is left to 1 is that of `other`, which is all names without a share. */
    shares: sharesOf,
    /** What names a call's partition: `criticality`, `key` or `method` of the call, or a function of it. Default `criticality`. */
    by: v.optional(
      v.union(
        [byWhat, v.custom<PartitionOf>((input) => typeof input === 'function')],
        '"criticality", "key", "method", or a function from the call to a name',
      ),
      'criticality',
    ),
    /** For so long after it last wanted its slots they are kept for a partition; then others may use them. Default 1 s. */
    keepFor: v.optional(positiveSpan, '1s'),
  }),
  v.check(
    ({ by, shares }) => by !== 'criticality' || Object.keys(shares).every((name) => CLASSES.includes(name)),
    `with by: "criticality", shares of ${CLASSES.join(', ')}`,
  ),
)

export type PartitionsOptions = v.InferInput<typeof partitionsOptions>
export type PartitionsSettings = v.InferOutput<typeof partitionsOptions>

export const partitionsSnapshot = v.strictObject({
  ...snapshotOf('partitions'),
  limit: v.number(),
  used: v.number(),
  parts: v.array(
    v.strictObject({
      name: v.string(),
      share: v.number(),
      own: v.number(),
      used: v.number(),
      kept: v.number(),
      refused: v.number(),
    }),
  ),
  of: v.looseObject({ kind: v.string() }),
})
