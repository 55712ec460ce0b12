import type { Shown } from './recorded.ts'

// Where resilience4j is wrong: what is right, and why. The steps that are not named are as they were recorded.

interface Right {
  readonly why: string
  /** By the index of the step. */
  readonly steps: Readonly<Record<number, Partial<Shown>>>
}

/** failureRate, slowCallRate, buffered, failed, slow, notPermitted, slowFailed. */
const numbers = (rate: number, calls: number, failed: number, notPermitted = 0): readonly number[] => [
  rate,
  rate < 0 ? -1 : 0,
  calls,
  failed,
  0,
  notPermitted,
  0,
]
const FOUND_NOTHING: Partial<Shown> = { numbers: numbers(-1, 0, 0), throws: undefined }

export const RIGHT: Readonly<Record<string, Right>> = {
  'defect-reset-keeps-open-timer': {
    why: 'A reset ends the state with its timer. Theirs throws in the timer thread, which no step shows: all of them stand.',
    steps: {},
  },
  'defect-reset-timer-shortens-next-open': {
    why: 'The OPEN of 900 has a wait of its own, until 1900; the timer at 1000 belonged to another.',
    steps: {
      7: { state: 'OPEN', numbers: numbers(100, 2, 2, 1), events: [] },
      8: { permitted: false, state: 'OPEN', numbers: numbers(100, 2, 2, 2), events: ['NOT_PERMITTED'] },
    },
  },
  'defect-reset-keeps-half-open-timer': {
    why: 'The limit was that of a half-open state which is over: a healthy breaker stays closed.',
    steps: {
      24: { state: 'CLOSED', events: [] },
      25: { permitted: true, state: 'CLOSED', numbers: numbers(0, 10, 0), events: [] },
    },
  },
  'defect-zero-window-after-forced-open': {
    why: 'A window of no calls remembers none: a late result is told of, changes nothing, and throws nothing at its caller.',
    steps: { 4: FOUND_NOTHING, 5: FOUND_NOTHING, 6: FOUND_NOTHING, 9: FOUND_NOTHING },
  },
  'defect-transition-on-result-without-wait': {
    why: 'Who asks to open and gives no wait gets the usual one, 60 s here, and the breaker is as whole as after any other opening.',
    steps: {
      1: {
        state: 'OPEN',
        numbers: numbers(-1, 1, 1),
        events: ['ERROR', 'STATE_TRANSITION CLOSED>OPEN'],
        throws: undefined,
      },
      2: { state: 'OPEN', numbers: numbers(-1, 1, 1, 1) },
      3: { permitted: false, state: 'OPEN', numbers: numbers(-1, 1, 1, 2), events: ['NOT_PERMITTED'] },
      4: {
        permitted: true,
        state: 'HALF_OPEN',
        numbers: numbers(-1, 0, 0),
        events: ['STATE_TRANSITION OPEN>HALF_OPEN'],
      },
      // Ten permitted calls, and ten errors: open again.
      ...Object.fromEntries(
        [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => [n + 4, { state: 'HALF_OPEN', numbers: numbers(-1, n, n) }]),
      ),
      14: { state: 'OPEN', numbers: numbers(100, 10, 10), events: ['ERROR', 'STATE_TRANSITION HALF_OPEN>OPEN'] },
      15: { state: 'OPEN', numbers: numbers(100, 10, 10) },
      16: { events: ['STATE_TRANSITION OPEN>CLOSED', 'RESET'] },
    },
  },
  'half-open-stuck': {
    why: 'Probes that nobody has reported on for an hour never will be: they are lent again, or it would refuse for ever.',
    steps: {
      4: { permitted: true, numbers: numbers(-1, 0, 0, 1), events: [] },
      5: { numbers: numbers(-1, 0, 0, 1) },
    },
  },
}
