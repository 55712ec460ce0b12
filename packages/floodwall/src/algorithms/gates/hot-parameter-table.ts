import type { Refuser, Rejection } from '../../core/gate.ts'
import type { Layer } from '../../core/layer.ts'
import type { Env } from '../../core/runtime.ts'
import { same } from '../../core/same.ts'
import type { HashSeed } from '../keys/hash.ts'
import type { CounterCache, CounterCacheMaker } from '../sketches/counter-cache.ts'
import { DebtSketch } from '../sketches/debt-sketch.ts'
import { lru } from '../sketches/lru.ts'
import { SpaceSaving } from '../sketches/space-saving.ts'
import { kept } from '../sketches/text-copy.ts'
import { tinyLfu } from '../sketches/tiny-lfu.ts'
import type { OverrideLimit } from './hot-parameter-overrides.ts'
import { ParameterRejection } from './hot-parameter-rejection.ts'
import { behaviourOf, type HotParameterBehaviour, type HotParameterSettings } from './hot-parameter-settings.ts'
import {
  OTHERS,
  type ParameterOf,
  type ParameterValue,
  printable,
  readerOf,
  type Told,
  Values,
} from './hot-parameter-value.ts'

// Which counter belongs to this call, when anybody may invent values?
//
// Each value has a record with a counter of its own, in a counter cache that has a bound. Who is evicted may owe something: the newcomer in his place
// takes that over (Space-Saving: Metwally et al. 2005), so that cycling through more values than there are places earns nothing. And a sketch notes
// until when he owes it, so that he does not come back as somebody who owes nothing. Who has calls inside or waiting is not evicted, nor who owes what
// is never earned (rate 0). Where nobody can go, and for what is no value (an object, a list), there is one record for all others.
//
// A value with a limit of its own (`overrides`) stands beside the cache, for good: those are known and few, and what their limit means to nobody else's
// newcomer is not asked. So all in the cache have one limit, and a debt is worth the same to each of them.
//
// 2 places, 1 call a second; a and b have just called, then c: c has the debt of a, and is refused for a second, as a would have been.
//
// Invariant: all values without a limit of their own together get at most (max + 1) times what one gets; a call ends at the counter at which it
// began.

/** Refused most, of these so many are shown. */
const HOTTEST = 8
/** So many calls without the parameter, and none with it, are told; and ten times as many, and so on. */
const DOUBTFUL = 100
const DOUBT_GROWS = 10

/** What counts for one value, and how it is made. */
export interface Counting<R> {
  /** The layer that counts under this limit; undefined: the one for all values. */
  layerOf(settings: HotParameterSettings, limit: OverrideLimit | undefined): Layer
  /** A new counter; or the given one, under another limit. */
  make(layer: Layer, previous?: R): R
  /** What would be forgotten with it: 0 nothing, Infinity calls that are inside or wait, or what is never earned; in between milliseconds of debt. */
  loss(counter: R, now: number): number
  /** The counter of a newcomer who has to owe `owedMs`: `fresh` with that, or the one of him whose place it is. */
  owing(fresh: R, owedMs: number, now: number, leaver: R | undefined): R
}

/** A value and what counts for it. */
export class ValueRecord<R> {
  readonly value: ParameterValue | typeof OTHERS
  layer: Layer
  counter: R

  constructor(value: ParameterValue | typeof OTHERS, layer: Layer, counter: R) {
    this.value = value
    this.layer = layer
    this.counter = counter
  }
}

export class ParameterTable<R> {
  settings: HotParameterSettings
  private readonly counting: Counting<R>
  private readonly env: Env
  private readonly seed: HashSeed
  private readonly values: Values
  private readonly read: ParameterOf
  private layer: Layer
  private overrides: ReadonlyMap<unknown, Layer>
  /** Those of values with a limit of their own, from their first call on. */
  private readonly own = new Map<ParameterValue, ValueRecord<R>>()
  private cache: CounterCache<ParameterValue, ValueRecord<R>>
  private readonly others: ValueRecord<R>
  private readonly hottest = new SpaceSaving<ParameterValue | typeof OTHERS>(HOTTEST)
  private readonly told = new Set<string>()
  /** Of those who were evicted. */
  private readonly debts: DebtSketch
  /** The newest time. */
  private now = 0
  /** Who has just been evicted. */
  private gone: ValueRecord<R> | undefined
  private evicted = 0
  private inherited = 0
  private shared = 0
  private skipped = 0
  private refused = 0
  /** Some call had the parameter. */
  private met = false
  private doubtful = DOUBTFUL

  constructor(settings: HotParameterSettings, counting: Counting<R>, env: Env) {
    this.settings = settings
    this.counting = counting
    this.env = env
    this.seed = [env.random(), env.random(), env.random(), env.random()]
    this.values = new Values(this.seed)
    this.read = readerOf(settings.parameter)
    this.layer = this.layerOf(undefined)
    this.overrides = this.overridesOf(settings)
    this.others = new ValueRecord<R>(OTHERS, this.layer, counting.make(this.layer))
    this.debts = new DebtSketch(settings.max, this.seed)
    this.cache = this.cacheOf(settings)
  }

  private layerOf(limit: OverrideLimit | undefined): Layer {
    return this.counting.layerOf(this.settings, limit)
  }

  /** By the same equality as the values of calls. */
  private overridesOf({ overrides = [] }: HotParameterSettings): ReadonlyMap<unknown, Layer> {
    return new Map(overrides.map(([value, limit]) => [this.values.of(value), this.layerOf(limit)]))
  }

  private cacheOf({ cache, max }: HotParameterSettings, capacity = max): CounterCache<ParameterValue, ValueRecord<R>> {
    const make: CounterCacheMaker = cache === 'lru' ? lru : cache === 'tinyLfu' ? tinyLfu : cache
    return make({
      capacity,
      seed: this.seed,
      loss: ({ counter }) => this.counting.loss(counter, this.now),
      onEvict: (_, record) => {
        this.evicted++
        this.gone = record
      },
    })
  }

  /** The record of the call's value; undefined: the call has no such parameter, and the limit does not apply. */
  recordOf(call: Told, now: number): ValueRecord<R> | undefined {
    let read: unknown
    try {
      read = this.read(call)
    } catch {
      return this.share('cannot be read')
    }
    const value = this.values.of(read)
    if (value === undefined) return this.skip()
    this.met = true
    if (value === OTHERS) return this.share(`is of the type ${Array.isArray(read) ? 'list' : typeof read}`)
    return (this.own.size > 0 ? this.own.get(value) : undefined) ?? this.cache.get(value) ?? this.admit(value, now)
  }

  /** Not limited. Where that is so of all calls, the parameter may be mistyped, and nobody would know. */
  private skip(): undefined {
    this.skipped++
    if (this.met || this.skipped < this.doubtful) return
    this.doubtful *= DOUBT_GROWS
    this.warn(`was in none of ${this.skipped} calls: nothing is limited by it`)
  }

  private admit(given: ParameterValue, now: number): ValueRecord<R> {
    const { counting, overrides } = this
    const value = kept(given)
    const layer = overrides.get(value)
    const record = new ValueRecord<R>(value, layer ?? this.layer, counting.make(layer ?? this.layer))
    if (layer !== undefined) {
      this.own.set(value, record)
      return record
    }
    this.now = Math.max(this.now, now)
    this.gone = undefined
    // A cache of somebody else's may say nothing.
    if ((this.cache.add(value, record) as boolean | undefined) === false) {
      this.shared++
      return this.others
    }
    this.charge(record)
    return record
  }

  /** What he owes whose place it is, or what the value itself owes from before: the larger one. */
  private charge(record: ValueRecord<R>): void {
    const { counting, now, gone } = this
    const inheritedMs = gone === undefined ? 0 : counting.loss(gone.counter, now)
    if (inheritedMs > 0) this.inherited++
    // A cache of somebody else's has forgotten who had to stay.
    if (gone !== undefined && inheritedMs === Number.POSITIVE_INFINITY) return void (record.counter = gone.counter)
    const owedMs = Math.max(inheritedMs, this.debts.until(record.value) - now)
    const leaver = inheritedMs > 0 ? gone : undefined
    if (owedMs > 0) record.counter = counting.owing(record.counter, owedMs, now, leaver?.counter)
    // Last: they may meet in the sketch.
    if (leaver !== undefined) this.debts.note(leaver.value, now + inheritedMs)
  }

  /** Not a value, or nobody knows which: under a limit all the same, or this would be the way around it. */
  private share(why: string): ValueRecord<R> {
    this.shared++
    if (!this.told.has(why)) {
      this.told.add(why)
      this.warn(`${why}: such calls share one limit`)
    }
    return this.others
  }

  private warn(why: string): void {
    const { env, settings } = this
    const what =
      typeof settings.parameter === 'function' ? 'a parameter' : `the parameter ${printable(settings.parameter)}`
    env.emit({ type: 'warning', at: env.now(), path: env.path, why: `${what} ${why}` })
  }

  /** The refusal of a value's counter, in the name of the whole. */
  refuse(gate: Refuser, inner: Rejection, { value }: ValueRecord<R>): ParameterRejection {
    this.refused++
    this.hottest.add(value)
    return new ParameterRejection(gate, inner, value)
  }

  /** Each record that there is; to be looked at is no use. */
  *records(): Generator<ValueRecord<R>> {
    yield* this.own.values()
    yield* this.cached()
    yield this.others
  }

  private *cached(): Generator<ValueRecord<R>> {
    const { cache } = this
    for (const key of cache.keys()) {
      const record = cache.peek === undefined ? cache.get(key) : cache.peek(key)
      if (record !== undefined) yield record
    }
  }

  /** These settings are about the same values, counted in the same way: what was counted still counts. */
  goesOnAs(settings: HotParameterSettings): boolean {
    return same(this.settings.parameter, settings.parameter) && this.behaviour === behaviourOf(settings)
  }

  get behaviour(): HotParameterBehaviour {
    return behaviourOf(this.settings)
  }

  /** Other limits, same values. */
  reconfigure(settings: HotParameterSettings, now: number): void {
    const { settings: before, overrides } = this
    this.now = Math.max(this.now, now)
    this.settings = settings
    this.layer = this.layerOf(undefined)
    this.overrides = this.overridesOf(settings)
    const records = [...this.records()]
    for (const record of records) {
      record.layer = this.overrides.get(record.value) ?? this.layer
      record.counter = this.counting.make(record.layer, record.counter)
    }
    this.debts.stretch(unitOf(settings) / unitOf(before), this.now)
    const isAlike =
      overrides.size === this.overrides.size && [...overrides.keys()].every((key) => this.overrides.has(key))
    if (isAlike && before.max === settings.max && before.cache === settings.cache) return
    this.seat(records)
  }

  /** Each record where it belongs: in a new cache, or beside it. */
  private seat(records: readonly ValueRecord<R>[]): void {
    const { settings, own, overrides, counting, now } = this
    const { max } = settings
    own.clear()
    for (const record of records) if (overrides.has(record.value)) own.set(record.value as ParameterValue, record)
    let rest = records.filter(({ value }) => value !== OTHERS && !overrides.has(value))
    // A smaller table has room for all who owe something or have calls inside: a reload forgives nobody.
    if (rest.length > max) rest = rest.filter(({ counter }) => counting.loss(counter, now) > 0)
    this.cache = this.cacheOf(settings, Math.max(max, rest.length))
    for (const record of rest) this.cache.add(record.value as ParameterValue, record)
  }

  inspect(waiting: number): Readonly<Record<string, unknown>> {
    const { behaviour, evicted, inherited, shared, skipped, refused, settings, cache, own } = this
    return {
      behaviour,
      values: cache.size + own.size,
      max: settings.max,
      ...{ evicted, inherited, shared, skipped, refused, waiting },
      hottest: this.hottest.top().map(({ value, count }) => ({ value: printable(value), refused: count })),
    }
  }
}

/** Milliseconds that one unit is worth; NaN where slots are counted. */
function unitOf({ rate = Number.NaN, per = Number.NaN }: HotParameterSettings): number {
  return per / rate
}
