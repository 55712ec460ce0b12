// Who goes first, among all who come?
//
// Source: Zhou et al., "Overload Control for Scaling WeChat Microservices" (SoCC 2018): business priority first, and within it one of 128
// cohorts, by a hash of the user that changes every hour. A user is in or out along a whole chain of services, and nobody is out for long.
//
// All are placed on one line, from 0 (goes first) to 512: a class is 128 long, a cohort 1. Inside its cohort a call stands at random. Who
// says no key stands at random in the whole class: a hash of the call would be the same for all of them.
//
// `critical`, the key in cohort 17: between 145 and 146. Of the same class without a key: between 128 and 256.
//
// Invariant: every place of a class lies before every place of the classes below it.

/** Cohorts of a class. */
export const COHORTS = 128
/** The end of the line: four classes. */
export const LAST_PLACE: number = 4 * COHORTS

/** The cohort of a user in an hour, 0 to 127: FNV-1a over the key, mixed with the hour as MurmurHash3 mixes its last word. */
export function cohortOf(key: string | number, hour: number): number {
  const text = typeof key === 'string' ? key : String(key)
  let hash = 0x811c9dc5 ^ hour
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash ^= Math.imul(hour, 0x9e3779b1)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) & (COHORTS - 1)
}

/** The place of a call, in [0, 512). `rank` is 0 for the highest class, 3 for the lowest; `hour` counts from anywhere, the same for all who shall agree; `chance` is uniform in [0, 1). */
export function placeOf(rank: number, key: string | number, hour: number, chance: number): number {
  const first = rank * COHORTS
  const place = first + (key === '' ? chance * COHORTS : cohortOf(key, hour) + chance)
  // A sum may be rounded up to the next class.
  return place < first + COHORTS ? place : first + COHORTS - 1e-9
}
