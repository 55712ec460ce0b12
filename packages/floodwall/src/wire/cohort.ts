// Where does a call stand among those of its class?
//
// Under overload a class is refused from its end: 128 cohorts of users, of which some are in and the others out. Who is in at the first service
// must be in at all that work for it, or the work of the first ones is thrown away. So the place is found once, where a user's request comes
// in, and travels with it. It is a place and not a name: it says nothing of the user, and is another one in the next hour.
//
//   x-floodwall-cohort: 17.42
//
// Source: DAGOR (Zhou et al., SoCC 2018), where business and user priority travel with each request.

import { COHORTS } from '../algorithms/admission/priority.ts'

/** The key of the cohort in W3C Baggage. */
export const COHORT_KEY = 'floodwall.cohort'

const GRAMMAR = /^\d{1,3}(?:\.\d{1,2})?$/

/** From 0, which goes first, to below 128; undefined for anything else. */
export function readCohort(text: string): number | undefined {
  if (!GRAMMAR.test(text)) return undefined
  const cohort = Number(text)
  return cohort < COHORTS ? cohort : undefined
}

const COUNT = /^\d{1,3}$/
/** Nobody may blow up what he sends by more. */
const MOST_STOOD_FOR = 100

/** For how many calls one stands, 1 to 100; undefined for anything else. */
export function readStandsFor(text: string): number | undefined {
  const count = COUNT.test(text) ? Number(text) : 0
  return count >= 1 && count <= MOST_STOOD_FOR ? count : undefined
}

/** With two decimals, rounded down. */
export function writeCohort(cohort: number): string {
  return String(Math.floor(cohort * 100) / 100)
}
