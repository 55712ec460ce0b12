import { adaptiveLimit } from '../algorithms/gates/adaptive-limit.ts'
import { bbr } from '../algorithms/gates/bbr.ts'
import { breaker } from '../algorithms/gates/breaker.ts'
import { keyed } from '../algorithms/gates/keyed.ts'
import { keyedRateLimit } from '../algorithms/gates/keyed-rate-limit.ts'
import { partitions } from '../algorithms/gates/partitions.ts'
import { rateLimit } from '../algorithms/gates/rate-limit.ts'
import { bulkhead } from '../algorithms/gates/semaphore.ts'
import { shadow } from '../algorithms/gates/shadow.ts'
import { throttle } from '../algorithms/gates/throttle.ts'
import { hotKeys } from '../caches/hot-keys.ts'
import type { Kind } from '../core/layer.ts'
import { balance } from '../policies/balance.ts'
import { deadline } from '../policies/deadline.ts'
import { hedge } from '../policies/hedge.ts'
import { holdBack } from '../policies/hold-back.ts'
import { hotParameter } from '../policies/hot-parameter.ts'
import { overload } from '../policies/overload.ts'
import { pace } from '../policies/pace.ts'
import { queue } from '../policies/queue.ts'
import { retry } from '../policies/retry.ts'
import { timeout } from '../policies/timeout.ts'

/** Kinds of layers by name, for rules, docs and editors. */
export type Kinds = ReadonlyMap<string, Kind>

/** The table of `kinds`. Throws RangeError on two of one name. */
export function kindsOf(...kinds: readonly Pick<Kind, 'kind' | 'options' | 'snapshot'>[]): Kinds {
  const table = new Map<string, Kind>()
  for (const kind of kinds) {
    if (table.has(kind.kind)) throw new RangeError(`two kinds are called "${kind.kind}"`)
    table.set(kind.kind, kind as Kind)
  }
  return table
}

/** Every kind that floodwall knows. Yours join with `kindsOf(...builtIn.values(), mine)`. */
export const builtIn: Kinds = kindsOf(
  // Gates, in the order in which they usually stand.
  rateLimit,
  breaker,
  bulkhead,
  adaptiveLimit,
  throttle,
  bbr,
  partitions,
  keyed,
  keyedRateLimit,
  hotKeys,
  shadow,
  hotParameter,
  // Policies.
  deadline,
  retry,
  hedge,
  holdBack,
  overload,
  queue,
  pace,
  balance,
  timeout,
)
