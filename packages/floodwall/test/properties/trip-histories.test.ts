import type { Verdict } from 'floodwall'
import { afterAll, expect, test } from 'vitest'
import type { BreakerSettings } from '../../src/algorithms/gates/breaker-settings.ts'
import { tripOf } from '../../src/algorithms/gates/breaker-trip.ts'
import { isSlow } from '../../src/algorithms/trips/rates.ts'
import type { Trip } from '../../src/algorithms/trips/trip.ts'
import { Watched } from '../../src/algorithms/trips/watched.ts'
import type { CostOptions, CostSettings } from '../trips/naive-error-cost.ts'
import { Clock, type Dice, live, near, STARTS, same, WIDTHS } from './histories.ts'
import { type NaiveSettings, NaiveTrip } from './naive-trip.ts'

// Every trip against a list of everything that ever happened: 10^5 random histories each, with idle gaps, readings that are equal, on an edge, a
// step back or no time at all, resets, and moves to another process.

const SLOW_AFTER_MS = 100
const MOST_CALLS = 10

/** What a history of this kind has: of the optional ones each with a chance of a half. */
interface Kind {
  readonly window: 'span' | 'calls' | 'either'
  readonly needs: readonly (keyof typeof conditions)[]
  readonly may?: readonly (keyof typeof conditions)[]
  /** Calls are told of when they begin. */
  readonly begins?: true
}

const conditions = {
  failureRate: (dice: Dice) => ({ failurePercent: dice.from(1, 100) }),
  slowRate: (dice: Dice) => ({ slowPercent: dice.from(1, 100) }),
  errorCount: (dice: Dice) => ({ errorCount: dice.from(1, 10) }),
  consecutive: (dice: Dice) => ({ consecutive: dice.from(1, 6) }),
  errorCost: (dice: Dice) => ({ errorCost: costs(dice, false) }),
  secondStage: (dice: Dice) => ({ errorCost: costs(dice, true) }),
} satisfies Record<string, (dice: Dice) => Partial<NaiveSettings>>

function costs(dice: Dice, secondStage: boolean): CostOptions {
  const window = (lastCalls: number): CostSettings => ({
    lastCalls: dice.from(20, lastCalls),
    over: dice.pick([1000, 60_000]),
    maxErrorRate: dice.pick([0.05, 0.3, 0.5, 0.9]),
    minEvidence: dice.pick([1, 2, 6]),
  })
  return {
    short: window(100),
    long: window(1000),
    epsilon: dice.pick([0.02, 0.1]),
    maxFailedLatencyMultiple: dice.pick([1, 2, Number.POSITIVE_INFINITY]),
    minErrorCost: dice.pick([0, 0.05, 0.5]),
    accumulate: dice.pick(['sum', 'ema']),
    secondStage,
  }
}

const KINDS: Readonly<Record<string, Kind>> = {
  'failure rate over a span': { window: 'span', needs: ['failureRate'] },
  'failure rate of calls': { window: 'calls', needs: ['failureRate'] },
  'slow rate over a span': { window: 'span', needs: ['slowRate'] },
  'slow rate of calls': { window: 'calls', needs: ['slowRate'] },
  'slow rate, with calls that hang': { window: 'either', needs: ['slowRate'], begins: true },
  'error count over a span': { window: 'span', needs: ['errorCount'] },
  'error count of calls': { window: 'calls', needs: ['errorCount'] },
  'rates of one window together': {
    window: 'either',
    needs: ['slowRate'],
    may: ['failureRate', 'errorCount'],
    begins: true,
  },
  consecutive: { window: 'span', needs: ['consecutive'] },
  'error cost': { window: 'span', needs: ['errorCost'] },
  'error cost, second stage': { window: 'span', needs: ['secondStage'] },
  'any of several': {
    window: 'either',
    needs: ['consecutive'],
    may: ['failureRate', 'slowRate', 'errorCount', 'errorCost'],
    begins: true,
  },
}

function settingsOf(dice: Dice, kind: Kind, widthMs: number): NaiveSettings {
  const { needs, may = [] } = kind
  const isSpan = kind.window === 'span' || (kind.window === 'either' && dice.hits(0.5))
  const window = isSpan ? { buckets: dice.from(1, 12), widthMs } : { lastCalls: dice.from(1, MOST_CALLS) }
  const atLeast = dice.from(1, MOST_CALLS)
  const named = needs.concat(may.filter(() => dice.hits(0.5)))
  if (named.length === 1 && may.length > 0) named.push('failureRate')
  // What errors cost takes the place of their rate.
  const has = named.includes('errorCost') ? named.filter((name) => name !== 'failureRate') : named
  const none = { failurePercent: undefined, slowPercent: undefined, errorCount: undefined }
  return Object.assign(
    { ...none, consecutive: undefined, errorCost: undefined, slowAfterMs: SLOW_AFTER_MS, window },
    // A window that can never hold the minimum would never open.
    { atLeast: Math.min(atLeast, 'lastCalls' in window ? window.lastCalls : atLeast) },
    ...has.map((name) => conditions[name](dice)),
  ) as NaiveSettings
}

function make(of: NaiveSettings): Trip {
  const { window, failurePercent, slowPercent, errorCount, consecutive, errorCost, atLeast } = of
  const share = (percent: number | undefined) => (percent === undefined ? undefined : percent / 100)
  const span = 'widthMs' in window
  return tripOf({
    failureRate: share(failurePercent),
    slowRate: share(slowPercent),
    slowAfter: slowPercent === undefined ? undefined : SLOW_AFTER_MS,
    over: span ? window.buckets * window.widthMs : 10_000,
    buckets: span ? window.buckets : 10,
    lastCalls: span ? undefined : window.lastCalls,
    errorCount,
    consecutive,
    errorCost,
    atLeast,
  } as BreakerSettings)
}

/** The words with which a condition must be told when it has opened. */
const WORDS: Readonly<Record<string, (naive: NaiveTrip, newest: number) => string>> = {
  failureRate: (naive, at) => `${naive.counts(at).failures} of ${naive.counts(at).calls} calls failed`,
  errorCount: (naive, at) => `${naive.counts(at).failures} calls failed`,
  slowRate(naive, at) {
    const late = naive.late(at)
    const { slow, calls } = naive.counts(at)
    return `${slow + late} of ${calls + late} calls took longer than ${SLOW_AFTER_MS}ms`
  },
  consecutive: (naive) => `${naive.failuresInARow} calls failed in a row`,
  errorCost: () => 'failures cost ',
}

const TOOK = [0, 99, 100, 101, 5000]
const VERDICTS: readonly Verdict[] = ['success', 'failure', 'timeout']

class History {
  opened = 0
  private trip: Trip
  private readonly naive: NaiveTrip
  private readonly of: NaiveSettings
  private readonly begins: boolean
  private readonly clock: Clock
  private readonly dice: Dice
  /** How far the clock of the trip's process is ahead. */
  private ahead = 0

  constructor(dice: Dice, kind: Kind) {
    const widthMs = dice.pick(WIDTHS)
    this.dice = dice
    this.begins = kind.begins === true
    this.clock = new Clock(dice, widthMs, dice.pick(STARTS))
    this.of = settingsOf(dice, kind, widthMs)
    this.trip = make(this.of)
    this.naive = new NaiveTrip(this.of)
    dice.log?.push(JSON.stringify(this.of))
  }

  step(): void {
    const { dice, clock, naive } = this
    const said = clock.read()
    const now = said + this.ahead
    const what = dice.below(100)
    if (what < 3) {
      dice.log?.push('reset')
      this.trip.reset(now)
      naive.reset()
    } else if (what < 6) this.restart()
    else if (this.begins && this.trip instanceof Watched && what < 45) {
      dice.log?.push('begin')
      naive.begin(this.trip.begin(now, dice.below(3)), clock.newest)
    } else if (this.begins && this.trip instanceof Watched && what < 52) {
      const tag = naive.end(dice.below(100))
      dice.log?.push(`drop ${tag}`)
      this.trip.drop(tag)
    } else if (what < 92) this.record(now)
    else dice.log?.push('read')
    this.compare()
  }

  private record(now: number): void {
    const { dice, clock, naive, of } = this
    // Half of the histories of a trip that never opened would show little.
    const verdict = dice.hits(0.4) ? 'success' : dice.pick(VERDICTS)
    const tookMs = of.errorCost === undefined ? dice.pick(TOOK) : dice.spread(0.001, 1000)
    const tag = this.begins ? naive.end(dice.below(100)) : 0
    const slow = of.slowPercent !== undefined && isSlow(verdict, tookMs, SLOW_AFTER_MS)
    dice.log?.push(`${verdict} after ${tookMs}`)
    const found = naive.record(verdict !== 'success', slow, tookMs, tag % 64, clock.newest, now - this.ahead)
    const opens = this.trip.record(verdict, tookMs, now, tag)
    if (found === undefined) return
    same('open', opens, found.length > 0)
    if (!opens) return
    this.opened++
    const why = this.trip.explain(now)
    for (const name of found) {
      const words = WORDS[name]!(naive, clock.newest)
      if (!why.includes(words)) throw new Error(`it says "${why}", and not "${words}"`)
    }
  }

  /** Saved, and taken up by another process, on another clock, some time later. What errors cost is not saved. */
  private restart(): void {
    const { dice, clock, naive, of } = this
    if (clock.isBehind || of.errorCost !== undefined) return
    const memory = this.trip.remember?.(clock.now + this.ahead) ?? {}
    const ageMs = dice.below(8 * 1000) / 8
    clock.now += ageMs
    clock.newest = clock.now
    // An empty window has no edges that could be moved.
    const isEmpty = memory.buckets?.length === 0
    const next = isEmpty ? clock.now : dice.pick([0, 55.125, 1e9])
    this.ahead = next - clock.now
    dice.log?.push(`restart, ${ageMs} later at ${next}`)
    this.trip = make(of)
    this.trip.recall?.(JSON.parse(JSON.stringify(memory)), ageMs, next)
    naive.restored(this.ahead)
  }

  private compare(): void {
    const { clock, naive, trip } = this
    const now = clock.newest + this.ahead
    const want = naive.nearness(clock.newest, clock.newest)
    if (this.of.errorCost === undefined) same('nearness', trip.nearness(now), want)
    else near('nearness', trip.nearness(now), want, want)
    if (!(trip instanceof Watched)) return
    const { calls, slow } = naive.counts(clock.newest)
    const late = naive.late(clock.newest)
    const share = (slow + late) / Math.max(1, calls + late)
    same('late', trip.late(now), late)
    same('slow share', trip.slowShare(now), share)
    const { slowPercent = 101, atLeast } = this.of
    const hangs = late > 0 && calls + late >= atLeast && (slow + late) * 100 >= slowPercent * (calls + late)
    same('hangs', trip.hangs(now), hangs)
  }
}

const lines: string[] = []
afterAll(() => console.log(lines.join('\n')))

test.each(Object.entries(KINDS))('%s: 10^5 histories agree with lists', { timeout: 600_000 }, (name, kind) => {
  let opened = 0
  const base = 1_000_000 * (1 + Object.keys(KINDS).indexOf(name))
  const line = live(name, base, (dice) => {
    const history = new History(dice, kind)
    const steps = dice.from(3, 17)
    for (let i = 0; i < steps; i++) history.step()
    opened += history.opened
    return steps
  })
  lines.push(`${line}, opened ${opened.toLocaleString('en')} times`)
  expect(opened).toBeGreaterThan(10_000)
})
