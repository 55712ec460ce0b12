import { operationOf } from '../../core/attempts.ts'
import type { Call } from '../../core/call.ts'
import { COHORTS, cohortOf } from './priority.ts'

// Where does a call stand in its class, it and all that is done on its behalf?
//
// At one place, found once: what a caller further out has said, else the cohort of the user whose call it is, else anywhere. Calls that are made
// on behalf of another stand where that one stands: a request that was let in here is not to be refused two services further on, where half of
// its work is done.
//
// The user's cohort 17, chance 0.42: 17.42. A call without a key: 128 times the chance.
//
// Invariant: 0 <= standing < 128; after `keepStanding` the same for the call, its attempts, and the calls made on its behalf.

/** `hour` and `chance` as in `placeOf`; they matter where nothing was said or kept. */
export function standingOf(call: Call, hour: number, chance: number): number {
  const root = rootOf(call)
  const kept = operationOf(root).standing
  return kept >= 0 ? kept : firstStanding(root, root.key === '' ? call.key : root.key, hour, chance)
}

/** The same for a call that has just come in: nobody has kept anything of it, and to look would allocate the place for it. */
export function standingAtDoor(call: Call, hour: number, chance: number): number {
  if (call.attempt > 0 || call.init.parent != null) return standingOf(call, hour, chance)
  return firstStanding(call, call.key, hour, chance)
}

function firstStanding({ init: { cohort } }: Call, key: string | number, hour: number, chance: number): number {
  // Not where a caller outside of the class would put it.
  if (cohort !== undefined && cohort >= 0 && cohort < COHORTS) return cohort
  return key === '' ? chance * COHORTS : cohortOf(key, hour) + chance
}

/** What was said or kept; undefined while nobody has had to know. */
export function knownStanding(call: Call): number | undefined {
  const root = rootOf(call)
  const kept = root.extra.operation?.standing ?? -1
  return kept >= 0 ? kept : root.init.cohort
}

/** From now on it stands there. */
export function keepStanding(call: Call, standing: number): void {
  operationOf(rootOf(call)).standing = standing
}

function rootOf(call: Call): Call {
  let root = call
  for (let { parent } = root.init; parent != null; parent = root.init.parent) root = parent
  return root
}
