// How often was this tried, and how often does this caller try at all?
//
// Source: "Site Reliability Engineering", ch. 21: clients keep a histogram of attempt numbers and send it along; a server that sees many
// retries in what it is told knows that others of its kind refuse, too, and answers "overloaded; do not retry".
//
//   x-floodwall-attempt: 2            the third try of its operation
//   x-floodwall-attempts: 118,9,1     of the last seconds' calls 118 were first tries, 9 second, 1 third
//
// Bounded: eight places, seven digits each; what is longer is not read.

const MOST_PLACES = 8
const ATTEMPT = /^\d{1,3}$/
const COUNTS = /^\d{1,7}(?:,\d{1,7}){0,7}$/

/** 0 for the first try. */
export function readAttempt(text: string): number | undefined {
  return ATTEMPT.test(text) ? Number(text) : undefined
}

/** Calls by attempt number. */
export function readAttempts(text: string): readonly number[] | undefined {
  return COUNTS.test(text) ? text.split(',').map(Number) : undefined
}

/** The last place takes all later ones; undefined for no calls. */
export function writeAttempts(counts: readonly number[]): string | undefined {
  const places = counts.slice(0, MOST_PLACES).map((n) => Math.min(Math.round(n), 9_999_999))
  for (const more of counts.slice(MOST_PLACES)) places[MOST_PLACES - 1] = (places[MOST_PLACES - 1] as number) + more
  while (places.length > 0 && places.at(-1) === 0) places.pop()
  return places.length === 0 ? undefined : places.map((n) => String(Math.min(n, 9_999_999))).join(',')
}
