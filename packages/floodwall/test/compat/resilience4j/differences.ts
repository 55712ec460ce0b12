// Where our own breaker, set up by the preset, decides otherwise than resilience4j, and why. Up to the step that is named they agree in every
// answer and every state; from there on they are in different lives.

interface Difference {
  /** Index of the first step that ends otherwise. */
  readonly step: number
  /** What ours shows there: admitted or not (null: no call), and the state. */
  readonly ours: readonly [permitted: boolean | null, state: string]
  readonly why: string
}

const SUCCESS_OPENS_NOTHING =
  'a success opens nothing: a target that has just answered would be cut off because of what was before (failure-rate.ts)'
const EVIDENCE =
  'who left after the slow limit has seen enough: it counts as failed (the evidence rule, docs/verdicts.md)'
const HANGING = 'calls that hang for longer than the slow limit count as slow before they end (hanging.ts)'
const CERTAIN = 'half-open ends as soon as the result is certain, and not when the last probe is back (probes.ts)'
const ALL_PROBES = 'as many probes decide as are lent; there minimumNumberOfCalls of them, if that is fewer'
const FROM_FIRST_PROBE =
  'the longest time in half-open counts from its first probe, not from its beginning: while nobody calls, nobody waits (breaker-half-open.ts)'
const SHORT_HEALTH = 'it was closed for less than the millisecond after which openings count from 1 again'
const BY_HAND_COUNTS_NOT = 'what is done by hand is no failed probe: the open time does not grow by it'
const NO_TIMED_HAND = 'there is no opening by hand for a time of its own'
const SAME_STATE = 'by hand into the state that it is in changes nothing: probes that are out stay out'
const ANY_HAND = 'by hand every state can be reached from every other'
const NO_TRANSITION_ON_RESULT = "there is no such option: whoever sees the result calls steer('open')"
const INITIAL = 'a state that it is put into at the start is no opening: the next one is the first'
const LATE = 'a late result never decides, and a late release gives nothing back that was not taken'

const difference = (step: number, permitted: boolean | null, state: string, why: string): Difference => ({
  step,
  ours: [permitted, state],
  why,
})

/** Traffic in which every result belongs to the state that it meets. */
export const DIFFERENCES: Readonly<Record<string, Difference>> = {
  'count-success-can-open': difference(3, null, 'CLOSED', SUCCESS_OPENS_NOTHING),
  'count-tiny-threshold': difference(199, null, 'CLOSED', SUCCESS_OPENS_NOTHING),
  'slow-and-failed': difference(3, null, 'CLOSED', SUCCESS_OPENS_NOTHING),
  'random-clean-34': difference(143, null, 'CLOSED', SUCCESS_OPENS_NOTHING),
  'ignored-and-unrecorded': difference(4, null, 'OPEN', EVIDENCE),
  'random-clean-32': difference(2, null, 'OPEN', HANGING),
  'random-clean-33': difference(11, null, 'OPEN', HANGING),
  'random-clean-35': difference(21, false, 'OPEN', HANGING),
  'random-clean-36': difference(15, false, 'OPEN', HANGING),
  'half-open-reopen': difference(5, null, 'OPEN', CERTAIN),
  'half-open-slow': difference(3, null, 'OPEN', CERTAIN),
  'whole-life-count': difference(41, null, 'OPEN', CERTAIN),
  'random-clean-31': difference(44, null, 'HALF_OPEN', ALL_PROBES),
  'half-open-max-wait-repeats': difference(4, null, 'HALF_OPEN', FROM_FIRST_PROBE),
  'open-exponential-backoff': difference(20, false, 'OPEN', SHORT_HEALTH),
  'open-again-while-open': difference(5, true, 'HALF_OPEN', BY_HAND_COUNTS_NOT),
  'forced-open-counts-attempt': difference(3, true, 'HALF_OPEN', BY_HAND_COUNTS_NOT),
  'open-for-does-not-count-attempt': difference(0, null, 'CLOSED', NO_TIMED_HAND),
  'open-until': difference(0, null, 'CLOSED', NO_TIMED_HAND),
  'auto-transition-open-for': difference(0, null, 'CLOSED', NO_TIMED_HAND),
  'half-open-again': difference(6, false, 'HALF_OPEN', SAME_STATE),
  'transition-matrix': difference(5, null, 'HALF_OPEN', ANY_HAND),
  'transition-on-result': difference(2, null, 'CLOSED', NO_TRANSITION_ON_RESULT),
}

/** Scripted traffic with late results. */
export const LATE_DIFFERENCES: Readonly<Record<string, Difference>> = {
  // Theirs closes on two successes from before it opened, while its only probe is still out.
  'half-open-late-result-decides': difference(7, null, 'HALF_OPEN', LATE),
  // Theirs opens again on two failures from before it opened: nobody has asked the target since.
  'half-open-late-failure-reopens': difference(7, null, 'HALF_OPEN', LATE),
  // Theirs lends two probes where one is permitted.
  'half-open-over-release': difference(8, false, 'HALF_OPEN', LATE),
  'half-open-minimum-below-permitted': difference(9, null, 'HALF_OPEN', ALL_PROBES),
  'whole-life-time': difference(56, null, 'HALF_OPEN', FROM_FIRST_PROBE),
  'time-window-one-second': difference(1, null, 'CLOSED', SUCCESS_OPENS_NOTHING),
  'time-expiry-needs-a-result': difference(7, null, 'CLOSED', SUCCESS_OPENS_NOTHING),
  'time-slow-calls': difference(2, null, 'CLOSED', SUCCESS_OPENS_NOTHING),
  'initial-half-open': difference(5, true, 'HALF_OPEN', INITIAL),
}
