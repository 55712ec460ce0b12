import type { BreakerOptions } from 'floodwall'
import { expect, test } from 'vitest'
import { Ours } from './ours.ts'
import { cases, isTagged, type Recorded, type Step, stepOf } from './recorded.ts'

// The random lives with clean traffic, life by life: after a difference our breaker begins anew when theirs has closed. Every difference must be
// one of those that are documented, and show it by its own numbers.

type Shown = readonly [permitted: boolean | null, state: string]

interface Scene {
  readonly recorded: Recorded
  readonly step: Step
  /** Their state before the step. */
  readonly before: string
  readonly ours: Ours
  readonly shown: Shown
}

const isGood = ({ op }: Step): boolean => ['success', 'result:ok', 'unrecorded'].includes(op)
const limit = ({ config }: Recorded): number => Math.fround(config.failureRateThreshold as number)

const REASONS: Readonly<Record<string, (scene: Scene) => boolean>> = {
  'a success opens nothing': ({ step, before, shown }) =>
    isGood(step) && before === 'CLOSED' && step.state === 'OPEN' && shown[1] === 'CLOSED',
  'calls that hang count as slow': ({ ours, shown }) => shown[1] === 'OPEN' && ours.why.includes('still running'),
  'half-open ends when the result is certain': ({ step, ours, shown }) =>
    step.state === 'HALF_OPEN' && shown[1] !== 'HALF_OPEN' && ours.why.includes('probes'),
  'as many probes decide as are lent': ({ recorded, step, before, shown }) =>
    before === 'HALF_OPEN' &&
    step.state !== 'HALF_OPEN' &&
    shown[1] === 'HALF_OPEN' &&
    (recorded.config.minimumNumberOfCalls as number) <
      (recorded.config.permittedNumberOfCallsInHalfOpenState as number),
  'the longest time in half-open counts from its first probe': ({ recorded, step, shown, ours }) =>
    ((recorded.config.maxWaitDurationInHalfOpenState as number | undefined) ?? 0) > 0 &&
    ((shown[1] === 'HALF_OPEN' && step.state === 'OPEN') || ours.why.includes('without a decision')),
  'slow calls were not looked at': ({ recorded, step, shown }) =>
    step.state === 'OPEN' && shown[1] !== 'OPEN' && (step.numbers[0] as number) < limit(recorded),
}

function reasonFor(scene: Scene, reasons: readonly string[]): string {
  const found = reasons.find((reason) => REASONS[reason]?.(scene) === true)
  if (found !== undefined) return found
  const { recorded, step, ours, shown } = scene
  throw new Error(`${recorded.name}: ${JSON.stringify(step)}, ours ${shown.join(' ')} (${ours.why})`)
}

const clean = cases.filter((recorded) => isTagged(recorded, 'clean'))
const LEFT = 'who left after the slow limit counts as failed'

test.each<[string, BreakerOptions, readonly string[]]>([
  ['as the preset says', {}, Object.keys(REASONS).slice(0, 5)],
  [
    'without the slow limit',
    { slowRate: undefined, slowAfter: undefined },
    Object.keys(REASONS).filter((reason) => !reason.includes('hang')),
  ],
])('%s, every difference is a documented one', (name, more, reasons) => {
  const tally = new Map<string, number>()
  let compared = 0
  let lives = 0
  for (const recorded of clean) {
    const slowMs =
      'slowAfter' in more ? Number.POSITIVE_INFINITY : (recorded.config.slowCallDurationThreshold as number)
    let ours: Ours | undefined = new Ours(recorded, more)
    let before = 'CLOSED'
    lives++
    for (const row of recorded.steps) {
      const step = stepOf(row)
      let reason: string | undefined
      if (ours !== undefined) {
        const shown = ours.play(step)
        ours.traffic.forget()
        if (shown !== undefined) compared++
        if (step.op === 'ignored' && step.arg >= slowMs) reason = LEFT
        else if (shown !== undefined && (shown[0] !== step.permitted || shown[1] !== step.state))
          reason = reasonFor({ recorded, step, before, ours, shown }, reasons)
      }
      if (reason !== undefined) {
        tally.set(reason, (tally.get(reason) ?? 0) + 1)
        ours = undefined
      } else if (ours === undefined && step.state === 'CLOSED' && before !== 'CLOSED') {
        ours = new Ours({ ...recorded, createdAt_t_ms: step.at }, more)
        lives++
      }
      before = step.state
    }
  }
  console.log(
    `${name}: ${lives} lives, ${compared} steps; ${[...tally].map(([why, times]) => `${times} ${why}`).join(', ')}`,
  )
  expect(compared).toBeGreaterThan(800)
  expect(lives).toBeGreaterThan(30)
})
