// Draws every picture of the documents: `npm run docs:charts`. The lines are those of real layers in virtual time, seeded.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { adaptiveLimitInAFlood } from './charts/adaptive-limit.mjs'
import { balanceOverAnOutage } from './charts/balance.mjs'
import { streamsThatShare } from './charts/bandwidth.mjs'
import { bbrInAFlood } from './charts/bbr.mjs'
import { breakerOverAnOutage, breakerStates } from './charts/breaker.mjs'
import { breakerAndATargetThatHangs } from './charts/breaker-hang.mjs'
import { bulkheadAroundASlowTarget } from './charts/bulkhead.mjs'
import { breakersBeforeFaults } from './charts/choosing.mjs'
import { deadlineAlongAChain } from './charts/deadline.mjs'
import { tailWithAndWithout } from './charts/hedge.mjs'
import { oneHotItem } from './charts/hot-keys.mjs'
import { oneItemOnSale } from './charts/hot-parameter.mjs'
import { bothSides, gatePolicyPipeline, twoEnds } from './charts/house.mjs'
import { keyedLimits } from './charts/keyed.mjs'
import { keysOfAWhole } from './charts/keyed-rate-limit.mjs'
import { tablesOverAnOutage } from './charts/local-table.mjs'
import { overloadOverAFlood } from './charts/overload.mjs'
import { crowdBeforeAPace } from './charts/pace.mjs'
import { partitionsOfALimit } from './charts/partitions.mjs'
import { queueByOrder } from './charts/queue.mjs'
import { ratesOfTheGreedy } from './charts/rate-algorithms.mjs'
import { tokensOfABucket } from './charts/rate-limit.mjs'
import { backoffCeilings, budgetInAnOutage } from './charts/retry.mjs'
import { shadowOfALimit } from './charts/shadow.mjs'
import { throttleOverAnOutage } from './charts/throttle.mjs'
import { twoMoments } from './charts/timeout.mjs'

export const folder = fileURLToPath(new URL('../../docs/pictures', import.meta.url))

/** The pictures by file name. */
export const pictures = /** @type {Readonly<Record<string, () => string>>} */ ({
  'adaptive-limit.svg': adaptiveLimitInAFlood,
  'balance.svg': balanceOverAnOutage,
  'bandwidth.svg': streamsThatShare,
  'bbr.svg': bbrInAFlood,
  'breaker.svg': breakerOverAnOutage,
  'breaker-hang.svg': breakerAndATargetThatHangs,
  'breaker-states.svg': breakerStates,
  'bulkhead.svg': bulkheadAroundASlowTarget,
  'choosing.svg': breakersBeforeFaults,
  'deadline.svg': deadlineAlongAChain,
  'hedge.svg': tailWithAndWithout,
  'both-sides.svg': bothSides,
  'gate-policy-pipeline.svg': gatePolicyPipeline,
  'two-ends.svg': twoEnds,
  'hot-keys.svg': oneHotItem,
  'hot-parameter.svg': oneItemOnSale,
  'keyed.svg': keyedLimits,
  'keyed-rate-limit.svg': keysOfAWhole,
  'local-table.svg': tablesOverAnOutage,
  'pace.svg': crowdBeforeAPace,
  'partitions.svg': partitionsOfALimit,
  'overload.svg': overloadOverAFlood,
  'queue.svg': queueByOrder,
  'rate-algorithms.svg': ratesOfTheGreedy,
  'rate-limit.svg': tokensOfABucket,
  'retry-backoff.svg': backoffCeilings,
  'retry-budget.svg': budgetInAnOutage,
  'shadow.svg': shadowOfALimit,
  'throttle.svg': throttleOverAnOutage,
  'timeout.svg': twoMoments,
})

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder)) if (name.endsWith('.svg') && !(name in pictures)) rmSync(join(folder, name))
  for (const [name, draw] of Object.entries(pictures)) writeFileSync(join(folder, name), draw())
  console.log(`${Object.keys(pictures).length} pictures in docs/pictures`)
}
