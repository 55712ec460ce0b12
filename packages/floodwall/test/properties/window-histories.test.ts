import { afterAll, expect, test } from 'vitest'
import { dropShare, ThrottleWindow } from '../../src/algorithms/gates/throttle-window.ts'
import { CountRing } from '../../src/algorithms/stats/count-ring.ts'
import { Ewma, PeakEwma, TimeEwma } from '../../src/algorithms/stats/ewma.ts'
import { Histogram } from '../../src/algorithms/stats/histogram.ts'
import { WindowedMaximum, WindowedMinimum } from '../../src/algorithms/stats/minimum.ts'
import { RecentHistogram } from '../../src/algorithms/stats/recent-histogram.ts'
import { TimeRing } from '../../src/algorithms/stats/time-ring.ts'
import { Hanging } from '../../src/algorithms/trips/hanging.ts'
import { Clock, type Dice, type Life, live, near, STARTS, same, WIDTHS } from './histories.ts'
import { oldestOf } from './naive-results.ts'

// Every window and every statistic against a list of all that was ever recorded: 10^5 random histories each, with idle gaps, readings that are
// equal, on an edge, a step back or no time at all, values that are no samples, and clears.

const NOT_SAMPLES = [-5, Number.NaN, Number.POSITIVE_INFINITY, 1e300]

interface Event {
  readonly lane: number
  readonly amount: number
  readonly at: number
}

/** Now and then what is recorded is no sample. */
function sampleOf(dice: Dice): number {
  return dice.hits(0.05) ? dice.pick(NOT_SAMPLES) : dice.hits(0.5) ? dice.below(21) : dice.spread(1e-4, 1e6)
}

const isSample = (value: number) => value >= 0 && value <= Number.MAX_SAFE_INTEGER

/** The steps of a history: `act` gets the reading and where time stands. */
function steps(dice: Dice, clock: Clock, act: (said: number, newest: number) => void): number {
  const times = dice.from(3, 17)
  for (let i = 0; i < times; i++) act(clock.read(), clock.newest)
  return times
}

function timeRing(dice: Dice): number {
  const [buckets, widthMs, lanes] = [dice.from(1, 12), dice.pick(WIDTHS), dice.from(1, 3)]
  const clock = new Clock(dice, widthMs, dice.pick(STARTS))
  let ring = new TimeRing(buckets, widthMs, lanes)
  let events: Event[] = []
  let dropped = 0
  // Of the clock of the ring, after it was moved to another process.
  let ahead = 0
  return steps(dice, clock, (said, newest) => {
    const now = said + ahead
    const what = dice.below(20)
    const lane = dice.below(lanes)
    if (what < 8) {
      // Eighths add up exactly, so that sums can be compared to the last bit.
      const amount = dice.hits(0.05) ? dice.pick(NOT_SAMPLES) : dice.below(8000) / 8
      ring.add(lane, amount, now)
      if (isSample(amount)) events.push({ lane, amount, at: newest })
      else dropped++
    } else if (what < 13) {
      ring.count(lane, now)
      events.push({ lane, amount: 1, at: newest })
    } else if (what < 14) {
      ring.clear(now)
      events = []
    } else if (what < 16 && !clock.isBehind && said === clock.now) {
      const history = ring.history(now)
      const next = history.length === 0 ? newest : dice.pick([0, 55.125, 1e9])
      ahead = next - newest
      ring = new TimeRing(buckets, widthMs, lanes)
      ring.recall(JSON.parse(JSON.stringify(history)), next)
      dropped = 0
    }
    const oldest = oldestOf({ buckets, widthMs }, newest)
    for (let of = 0; of < lanes; of++) {
      let want = 0
      for (const event of events) if (event.lane === of && event.at >= oldest) want += event.amount
      same(`total of lane ${of}`, ring.total(of, newest + ahead), want)
    }
    same('dropped', ring.dropped, dropped)
  })
}

function countRing(dice: Dice): number {
  const [size, lanes] = [dice.from(1, 12), dice.from(1, 8)]
  const ring = new CountRing(size, lanes)
  let all: number[] = []
  const times = dice.from(3, 30)
  for (let i = 0; i < times; i++) {
    if (dice.hits(0.03)) {
      ring.clear()
      all = []
    } else {
      const mask = dice.below(1 << lanes)
      ring.push(mask)
      all.push(mask)
    }
    const last = all.slice(-size)
    same('calls', ring.calls, last.length)
    for (let lane = 0; lane < lanes; lane++) {
      let want = 0
      for (const mask of last) if ((mask & (1 << lane)) !== 0) want++
      same(`total of lane ${lane}`, ring.total(lane), want)
    }
    if (i % 8 > 0) continue
    const told = ring.history().flatMap(({ mask, times: many }) => Array<number>(many).fill(mask))
    same('history', told.join(), last.join())
  }
  return times
}

function extremes(dice: Dice): number {
  const [buckets, widthMs] = [dice.from(1, 12), dice.pick(WIDTHS)]
  const clock = new Clock(dice, widthMs, dice.pick(STARTS))
  const least = new WindowedMinimum(buckets * widthMs, buckets)
  const most = new WindowedMaximum(buckets * widthMs, buckets)
  let events: Event[] = []
  let dropped = 0
  return steps(dice, clock, (now, newest) => {
    const what = dice.below(20)
    if (what < 13) {
      const amount = sampleOf(dice)
      least.record(amount, now)
      most.record(amount, now)
      if (isSample(amount)) events.push({ lane: 0, amount, at: newest })
      else dropped++
    } else if (what < 14) {
      least.clear(now)
      most.clear(now)
      events = []
    }
    const oldest = oldestOf({ buckets, widthMs }, newest)
    let [low, high]: [number?, number?] = []
    for (const { amount, at } of events) {
      if (at < oldest) continue
      low = Math.min(low ?? amount, amount)
      high = Math.max(high ?? amount, amount)
    }
    same('least', least.value(newest), low)
    same('most', most.value(newest), high)
    same('dropped', least.dropped + most.dropped, 2 * dropped)
  })
}

/** Values and how old they are, newest last; `weigh` computes the average anew from all of them. */
function average(
  make: (dice: Dice) => {
    readonly average: { value: number; samples: number; dropped: number; record(sample: number, now: number): void }
    readonly decayed?: (now: number) => number
    readonly clear: () => void
    readonly tauMs: number
    readonly weigh: (events: readonly Event[]) => number
  },
): Life {
  return (dice) => {
    const { average: subject, decayed, clear, tauMs, weigh } = make(dice)
    const clock = new Clock(dice, 1000, dice.pick(STARTS))
    let events: Event[] = []
    let dropped = 0
    let largest = 0
    // Only a sample moves its time.
    let at = 0
    return steps(dice, clock, (now, newest) => {
      const what = dice.below(20)
      if (what < 16) {
        const amount = sampleOf(dice)
        subject.record(amount, now)
        if (isSample(amount)) {
          if (now > at && now < Number.POSITIVE_INFINITY) at = now
          largest = Math.max(largest, amount)
          events.push({ lane: 0, amount, at })
        } else dropped++
      } else if (what < 17) {
        clear()
        events = []
      }
      const want = events.length === 0 ? 0 : weigh(events)
      near('value', subject.value, want, largest)
      if (decayed !== undefined) near('decayed', decayed(newest), want * Math.exp(-(newest - at) / tauMs), largest)
      same('samples', subject.samples, events.length)
      same('dropped', subject.dropped, dropped)
    })
  }
}

const ewma = average((dice) => {
  const alpha = dice.from(1, 100) / 100
  const subject = new Ewma(alpha)
  const weigh = (events: readonly Event[]) => {
    let sum = 0
    let left = 1
    for (let i = events.length - 1; i > 0; i--) {
      sum += left * alpha * events[i]!.amount
      left *= 1 - alpha
    }
    return sum + left * events[0]!.amount
  }
  return { average: subject, clear: () => subject.clear(), tauMs: 1, weigh }
})

const timeEwma = average((dice) => {
  const tauMs = dice.pick([1, 1000, 10_000])
  const subject = new TimeEwma(tauMs)
  const weigh = (events: readonly Event[]) => {
    const newest = events.at(-1)!.at
    let [sum, weights] = [0, 0]
    for (const { amount, at } of events) {
      const weight = Math.exp(-(newest - at) / tauMs)
      sum += weight * amount
      weights += weight
    }
    return sum / weights
  }
  return { average: subject, decayed: (now) => subject.decayed(now), clear: () => subject.clear(), tauMs, weigh }
})

const peakEwma = average((dice) => {
  const tauMs = dice.pick([1, 1000, 10_000])
  const subject = new PeakEwma(tauMs)
  const weigh = (events: readonly Event[]) => {
    let peak = 0
    let since = events[0]!.at
    for (const { amount, at } of events) {
      const left = Math.exp(-(at - since) / tauMs)
      peak = amount >= peak ? amount : at > since ? peak * left + amount * (1 - left) : peak
      since = at
    }
    return peak
  }
  return { average: subject, decayed: (now) => subject.decayed(now), clear: () => subject.clear(), tauMs, weigh }
})

/** The documented error, and a hair for the rounding of a product. */
function within(what: string, got: number | undefined, want: number | undefined): void {
  if (got === undefined || want === undefined) return same(what, got, want)
  const most = Math.max(Math.min(want, 4_294_967.295) / 31, 0.0005) * (1 + 1e-9)
  if (!(Math.abs(got - want) <= most)) throw new Error(`${what} is ${got}, and not ${want}`)
}

/** By nearest rank. */
function ranked(values: readonly number[], hundredths: number): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil((hundredths * values.length) / 100) - 1)]
}

function histogram(dice: Dice): number {
  const subject = new Histogram()
  let all: number[] = []
  let dropped = 0
  const times = dice.from(3, 14)
  for (let i = 0; i < times; i++) {
    const what = dice.below(30)
    const amount = sampleOf(dice)
    if (what < 1) {
      subject.clear()
      all = []
    } else if (what < 2) {
      const other = new Histogram()
      other.record(amount)
      subject.merge(other)
      subject.merge(subject)
      all = [...all, ...(isSample(amount) ? [amount] : [])].flatMap((value) => [value, value])
      dropped = 2 * (dropped + (isSample(amount) ? 0 : 1))
    } else {
      subject.record(amount)
      if (isSample(amount)) all.push(amount)
      else dropped++
    }
    same('count', subject.count, all.length)
    same('dropped', subject.dropped, dropped)
    for (const got of [subject.min, subject.percentile(0)]) same('min', got, ranked(all, 0))
    for (const got of [subject.max, subject.percentile(1)]) same('max', got, ranked(all, 100))
    const hundredths = dice.from(0, 100)
    within(`percentile ${hundredths}`, subject.percentile(hundredths / 100), ranked(all, hundredths))
    const bound = dice.spread(1e-4, 1e6)
    const counted = subject.countAtOrBelow(bound)
    const slack = Math.max(bound / 15, 0.001)
    if (counted < all.filter((value) => value <= bound - slack).length)
      throw new Error(`${counted} of them <= ${bound}`)
    if (counted > all.filter((value) => value <= bound + slack).length)
      throw new Error(`${counted} of them <= ${bound}`)
  }
  return times
}

function recentHistogram(dice: Dice): number {
  const halfMs = dice.pick(WIDTHS)
  const subject = new RecentHistogram(2 * halfMs)
  const clock = new Clock(dice, halfMs, dice.pick(STARTS))
  const all: Event[] = []
  return steps(dice, clock, (now, newest) => {
    if (dice.hits(0.8)) {
      const amount = sampleOf(dice)
      subject.record(amount, now)
      if (isSample(amount)) all.push({ lane: 0, amount, at: newest })
    }
    const oldest = oldestOf({ buckets: 2, widthMs: halfMs }, newest)
    const values = all.filter(({ at }) => at >= oldest).map(({ amount }) => amount)
    same('count', subject.count(newest), values.length)
    const hundredths = dice.from(0, 100)
    within(`percentile ${hundredths}`, subject.percentile(hundredths / 100, newest), ranked(values, hundredths))
  })
}

const WAYS = ['countAccepted', 'countFailed', 'countOverloaded', 'countRefused'] as const

function throttleWindow(dice: Dice): number {
  const [buckets, widthMs] = [dice.from(1, 12), dice.pick(WIDTHS)]
  const clock = new Clock(dice, widthMs, dice.pick(STARTS))
  const subject = new ThrottleWindow(buckets * widthMs, buckets)
  let all: Event[] = []
  return steps(dice, clock, (now, newest) => {
    const what = dice.below(20)
    if (what < 17) {
      const lane = dice.below(WAYS.length)
      const many = dice.from(1, 4)
      for (let i = 0; i < many; i++) subject[WAYS[lane]!](now)
      all.push({ lane, amount: many, at: newest })
    } else if (what < 18) {
      subject.clear(now)
      all = []
    }
    const oldest = oldestOf({ buckets, widthMs }, newest)
    const counts = [0, 0, 0, 0]
    for (const { lane, amount, at } of all) if (at >= oldest) counts[lane]! += amount
    const [accepts = 0, failed = 0, overloaded = 0, refused = 0] = counts
    const told = [subject.accepts(newest), subject.failed(newest), subject.overloaded(newest), subject.refused(newest)]
    same('counts', told.join(), counts.join())
    const results = accepts + failed + overloaded
    same('results', subject.results(newest), results)
    same('empty', subject.empty(newest), results + refused === 0)
    const bad = failed + overloaded
    const requests = overloaded === 0 ? results : results + (refused * overloaded) / bad
    same('requests', subject.requests(newest), requests)
    const k = dice.pick([1, 1.25, 2])
    same('drop', subject.drop(k, newest), Math.max(0, (requests - k * accepts) / (requests + 1)))
    same('the formula', dropShare(requests, accepts, k), subject.drop(k, newest))
  })
}

function hanging(dice: Dice): number {
  const eighthMs = dice.pick(WIDTHS)
  const clock = new Clock(dice, eighthMs, dice.pick(STARTS))
  const subject = new Hanging(8 * eighthMs)
  let out: { readonly serial: number; readonly at: number }[] = []
  return steps(dice, clock, (now, newest) => {
    const what = dice.below(20)
    if (what < 9) out.push({ serial: subject.begin(now), at: newest })
    else if (what < 15) {
      const [gone] = out.splice(dice.below(out.length), 1)
      if (gone !== undefined) subject.end(gone.serial)
    } else if (what < 16) {
      subject.clear()
      out = []
    }
    const slot = (at: number) => Math.floor(at / eighthMs)
    same('late', subject.late(newest), out.filter(({ at }) => slot(newest) - slot(at) > 8).length)
  })
}

const lives = {
  TimeRing: timeRing,
  CountRing: countRing,
  'WindowedMinimum and WindowedMaximum': extremes,
  Ewma: ewma,
  TimeEwma: timeEwma,
  PeakEwma: peakEwma,
  Histogram: histogram,
  RecentHistogram: recentHistogram,
  ThrottleWindow: throttleWindow,
  Hanging: hanging,
} satisfies Record<string, Life>

const lines: string[] = []
afterAll(() => console.log(lines.join('\n')))

test.each(Object.entries(lives))('%s: 10^5 histories agree with lists', { timeout: 600_000 }, (name, life) => {
  let total = 0
  lines.push(
    live(name, 1_000_000 * (101 + Object.keys(lives).indexOf(name)), (dice) => {
      const taken = life(dice)
      total += taken
      return taken
    }),
  )
  expect(total).toBeGreaterThan(500_000)
})
