import type { Refuser, Rejection } from '../../core/gate.ts'
import type { Layer } from '../../core/layer.ts'
import type { Env } from '../../core/runtime.ts'
import { same } from '../../core/same.ts'
import type { HashSeed } from '../keys/hash.ts'
import type { CounterCache, CounterCacheMaker } from '../sketches/counter-cache.ts'
import { lru } from '../sketches/lru.ts'
import { SpaceSaving } from '../sketches/space-saving.ts'
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
// takes that over (Space-Saving: Metwally et al. 2005), so that cycling through more values than there are places earns nothing. Who has calls inside
// or waiting is not evicted. Where nobody can go, and for what is no value (an object, a list), there is one record for all others.
//
// 2 places, 1 call a second; a and b have just called, then c: c has the debt of a, and is refused for a second, as a would have been.
//
// Invariant: all values together get at most (max + 1) times what one value gets; a call ends at the counter at which it began.

/** Refused most, of these so many are shown. */
const HOTTEST = 8

/** What counts for one value, and how it is made. */
export interface Counting<R> {
  /** The layer that counts under this limit; undefined: the one for all values. */
  layerOf(settings: HotParameterSettings, limit: OverrideLimit | undefined): Layer
  /** A new counter; or the given one, under another limit. */
  make(layer: Layer, previous?: R): R
  /** What would be forgotten with it: 0 nothing, Infinity calls that are inside or wait, in between a debt. */
  loss(counter: R, now: number): number
  /** A counter that owes what `debtor` does. */
  heir(layer: Layer, debtor: R, now: number): R
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
  private cache: CounterCache<ParameterValue, ValueRecord<R>>
  private readonly others: ValueRecord<R>
  private readonly hottest = new SpaceSaving<ParameterValue | typeof OTHERS>(HOTTEST)
  private readonly told = new Set<string>()
  /** When somebody is evicted, the time; and who. */
  private now = 0
  private gone: ValueRecord<R> | undefined
  private evicted = 0
  private inherited = 0
  private shared = 0
  private skipped = 0
  private refused = 0

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
    if (value === undefined) {
      this.skipped++
      return undefined
    }
    if (value === OTHERS) return this.share(`is of the type ${Array.isArray(read) ? 'list' : typeof read}`)
    return this.cache.get(value) ?? this.admit(value, now)
  }

  private admit(value: ParameterValue, now: number): ValueRecord<R> {
    const { counting } = this
    const layer = this.overrides.get(value) ?? this.layer
    const record = new ValueRecord<R>(value, layer, counting.make(layer))
    this.now = now
    if (!this.takePlace(value, record)) {
      this.shared++
      return this.others
    }
    const { gone } = this
    if (gone !== undefined && counting.loss(gone.counter, now) > 0) {
      this.inherited++
      record.counter = gone.layer === layer ? gone.counter : counting.heir(layer, gone.counter, now)
    }
    return record
  }

  /** In the place of `gone`, if somebody had to go. */
  private takePlace(value: ParameterValue, record: ValueRecord<R>): boolean {
    this.gone = undefined
    // A cache of somebody else's may say nothing.
    return (this.cache.add(value, record) as boolean | undefined) !== false
  }

  /** Not a value, or nobody knows which: under a limit all the same, or this would be the way around it. */
  private share(why: string): ValueRecord<R> {
    this.shared++
    if (!this.told.has(why)) this.tell(why)
    return this.others
  }

  private tell(why: string): void {
    this.told.add(why)
    const { env, settings } = this
    const what =
      typeof settings.parameter === 'function' ? 'a parameter' : `the parameter ${printable(settings.parameter)}`
    env.emit({ type: 'warning', at: env.now(), path: env.path, why: `${what} ${why}: such calls share one limit` })
  }

  /** The refusal of a value's counter, in the name of the whole. */
  refuse(gate: Refuser, inner: Rejection, { value }: ValueRecord<R>): ParameterRejection {
    this.refused++
    this.hottest.add(value)
    return new ParameterRejection(gate, inner, value)
  }

  /** Each record that there is. */
  *records(): Generator<ValueRecord<R>> {
    for (const key of this.cache.keys()) {
      const record = this.cache.get(key)
      if (record !== undefined) yield record
    }
    yield this.others
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
    const { max, cache } = this.settings
    this.settings = settings
    this.layer = this.layerOf(undefined)
    this.overrides = this.overridesOf(settings)
    const records = [...this.records()]
    for (const record of records) {
      record.layer = this.overrides.get(record.value) ?? this.layer
      record.counter = this.counting.make(record.layer, record.counter)
    }
    if (max === settings.max && cache === settings.cache) return
    this.now = now
    const held = records.filter(({ counter }) => this.counting.loss(counter, now) === Number.POSITIVE_INFINITY).length
    // A smaller table must hold all who have calls inside: those may not be forgotten.
    this.cache = this.cacheOf(settings, Math.max(settings.max, held))
    for (const record of records) if (record.value !== OTHERS) this.cache.add(record.value, record)
  }

  inspect(waiting: number): Readonly<Record<string, unknown>> {
    const { behaviour, evicted, inherited, shared, skipped, refused, settings, cache } = this
    return {
      behaviour,
      values: cache.size,
      max: settings.max,
      ...{ evicted, inherited, shared, skipped, refused, waiting },
      hottest: this.hottest.top().map(({ value, count }) => ({ value: printable(value), refused: count })),
    }
  }
}
