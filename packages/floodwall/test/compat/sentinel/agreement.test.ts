import { describe, expect, test } from 'vitest'
import { firstDifference } from './traffic.ts'
import { breakerCases } from './vectors.ts'

// Imported rules decide as Sentinel did in its recordings, up to where it did wrong: each case that differs is here, with the reason.

const GOOD_CALLS = 'a good call opens nothing, not even the one that ends the silent period'
const ZERO = 'a threshold of 0 is no reason to open without a fault'
const WINDOW = 'a window does not forget everything at once'
const GROWS = 'the open time grows while probes fail'
const LAPSES = 'a probe that does not come back lapses'
const PROBES = 'no more calls pass than there are probes'
const GENERATIONS = 'who began before the opening does not decide'
const HANGING = 'calls that are late count before they end'

const DIFFERENT: Readonly<Record<string, string>> = {
  'slow-reference-config': GOOD_CALLS,
  'error-ratio-silent-period': GOOD_CALLS,
  'error-ratio-four-buckets': GOOD_CALLS,
  'error-count-min-request': GOOD_CALLS,
  'random-ratio-2': GOOD_CALLS,
  'slow-threshold-zero': ZERO,
  'error-ratio-threshold-zero': ZERO,
  'error-count-zero': ZERO,
  'error-count-below-one': ZERO,
  'slow-window-aligned-to-epoch': WINDOW,
  'slow-bucket-count-not-dividing': WINDOW,
  'random-ratio-3': WINDOW,
  'slow-probe-failure': GROWS,
  'error-ratio-probe-failure-repeats': GROWS,
  'error-count-tiny-timeouts': GROWS,
  'random-ratio-1': GROWS,
  'random-count-3': GROWS,
  'half-open-one-probe': LAPSES,
  'half-open-stuck-forever': LAPSES,
  'half-open-unlimited-probes': PROBES,
  'half-open-several-in-flight-one-fails': PROBES,
  'error-count-probenum-1': PROBES,
  'random-count-2': PROBES,
  'late-success-closes': GENERATIONS,
  'late-failure-reopens': GENERATIONS,
  'random-count-1': GENERATIONS,
  'random-slow-1': HANGING,
  'random-slow-2': HANGING,
  'random-slow-3': HANGING,
  'slow-probe-error-is-success': 'a probe that fails is a bad one, however fast',
  'slow-ratio-within-epsilon': 'a share below the threshold is below it',
  'clock-steps-back-many-buckets': 'no call is lost',
}

describe('the imported rule', () => {
  test.each(breakerCases.filter(({ name }) => !(name in DIFFERENT)))('decides as Sentinel did: $name', (recorded) => {
    expect(firstDifference(recorded)).toBeUndefined()
  })

  test.each(Object.entries(DIFFERENT))('differs in %s: %s', (name) => {
    expect(firstDifference(breakerCases.find((one) => one.name === name)!)).toBeDefined()
  })
})
