import * as v from 'valibot'
import type { Duration } from '../core/duration.ts'
import { amountOrZero, parse, spanOrZero } from '../core/schema.ts'
import type { Chance } from './chance.ts'

// When do callers come?
//
// Open arrivals do not know how the ones before fared: that is what a flood is. (Users who wait for their answer before they ask again are
// the other kind, see Clients.) Random times are a Poisson process: evenly spaced calls fall into step with windows and round robin, and
// hide queues, since they never come in twos.

/** A course of arrivals. Write your own with this one member. */
export interface Arrivals {
  /** A fresh course, for a population that is there since `now`, in milliseconds; all its chance comes from `chance`. */
  begin(chance: Chance, now: number): Course
}

/** One run through {@link Arrivals}. */
export interface Course {
  /** When the next caller comes, in milliseconds since the world began, never earlier than the last one; Infinity when no more will. */
  next(): number
}

/** For schemas: one of these. */
export const arrivals: v.GenericSchema<Arrivals, Arrivals> = v.custom<Arrivals>(
  (input) => typeof input === 'object' && input !== null && typeof (input as Partial<Arrivals>).begin === 'function',
  'arrivals such as poisson(100)',
)

/** At random times, so many a second on average, for ever. */
export function poisson(rate: number): Arrivals {
  return new RandomTimes([{ from: 0, rate: parse(amountOrZero, rate, 'poisson') }])
}

const stepsOptions = v.pipe(
  v.array(v.strictObject({ from: spanOrZero, rate: amountOrZero }), 'a list of { from, rate }'),
  v.minLength(1, 'at least one { from, rate }'),
  v.check((list) => ascending(list.map(({ from }) => from)), 'steps in the order of their time'),
)

/** At random times, with a rate (a second) that changes: `from` counts from the beginning of the world, before the first step nobody comes. */
export function steps(list: readonly { readonly from: Duration; readonly rate: number }[]): Arrivals {
  return new RandomTimes(parse(stepsOptions, list, 'steps'))
}

const times = v.pipe(
  v.array(spanOrZero, 'a list of spans'),
  v.check((list) => ascending(list), 'times in their order'),
)

/** At recorded times, counted from the beginning of the world. */
export function arrivalsAt(recorded: readonly Duration[]): Arrivals {
  const list = Float64Array.from(parse(times, recorded, 'arrivalsAt'))
  return {
    begin(_, now) {
      let place = list.findIndex((at) => at >= now)
      if (place < 0) place = list.length
      return { next: () => (place < list.length ? list[place++]! : Number.POSITIVE_INFINITY) }
    },
  }
}

interface RateStep {
  readonly from: number
  readonly rate: number
}

class RandomTimes implements Arrivals {
  private readonly list: readonly RateStep[]

  constructor(list: readonly RateStep[]) {
    this.list = list
  }

  begin(chance: Chance, now: number): Course {
    return new RandomCourse(this.list, chance, now)
  }
}

/**
 * The gap to the next arrival is an exponential amount of *expected arrivals*, spent at the rates that it passes through: exact at the edges of
 * steps, where drawing anew would be as good, and redrawing with the old rate would not.
 */
class RandomCourse implements Course {
  private readonly list: readonly RateStep[]
  private readonly chance: Chance
  private place: number
  private at: number

  constructor(list: readonly RateStep[], chance: Chance, now: number) {
    this.list = list
    this.chance = chance
    this.at = Math.max(now, list[0]?.from ?? 0)
    this.place = Math.max(
      0,
      list.findLastIndex(({ from }) => from <= this.at),
    )
  }

  next(): number {
    let expected = this.chance.exponential()
    for (;;) {
      const perMs = (this.list[this.place]?.rate ?? 0) / 1000
      const until = this.list[this.place + 1]?.from ?? Number.POSITIVE_INFINITY
      const most = (until - this.at) * perMs
      if (expected < most) return (this.at += expected / perMs)
      if (until === Number.POSITIVE_INFINITY) return until
      expected -= most
      this.at = until
      this.place++
    }
  }
}

function ascending(list: readonly number[]): boolean {
  return list.every((at, i) => i === 0 || at >= (list[i - 1] as number))
}
