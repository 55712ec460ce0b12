import * as v from 'valibot'
import type { KeyOf } from '../algorithms/gates/keyed.ts'
import { type Ask, type Gate, Permit, type Snapshot } from '../core/gate.ts'
import { type Kind, kindOf, snapshotOf } from '../core/layer.ts'
import { type Env, envOf } from '../core/runtime.ts'
import { parse } from '../core/schema.ts'
import { systemRuntime } from '../core/system.ts'
import { Heat, type HeatSettings, heatOptions } from './heat.ts'

// Which keys come most often, and when does one become hot?
//
// A gate that looks and never refuses. Who has become hot or has cooled is found by comparing with what was told last, at most once a second
// and when a call comes by: no timer, at most k keys a second, and what was told is made good in the end, whatever came between.
//
// k 20, share 0.01: a key is told as hot from 1 % of all calls on, and as cooled below 0.5 %: one at the edge does not flicker.
//
// Invariant: keys told as hot and not as cooled are at most k.

const hotKeysOptions = v.strictObject({
  ...heatOptions(20, 0.01),
  /** Default: the call's `key`. */
  by: v.optional(v.custom<KeyOf>((input) => typeof input === 'function', 'a function from the call to its key')),
})

export type HotKeysOptions = v.InferInput<typeof hotKeysOptions>
type HotKeysSettings = v.InferOutput<typeof hotKeysOptions>

const hotKeysSnapshot = v.strictObject({
  ...snapshotOf('hotKeys'),
  /** The most frequent ones, at most k. */
  keys: v.array(
    v.strictObject({
      key: v.union([v.string(), v.number()]),
      perSecond: v.number(),
      share: v.number(),
      hot: v.boolean(),
    }),
  ),
  perSecond: v.number(),
  /** Keys that were told as hot and not as cooled. */
  hot: v.number(),
  /** Calls that say no key. */
  keyless: v.number(),
})

/** As for refusals: an event a second is enough for people, and no flood for machines. */
const TELL_EVERY_MS = 1000
/** A hot key has cooled below this part of what makes it hot. */
const COOL = 0.5
/** Longer keys are told apart by their ends and their length: strangers may send texts of a megabyte. */
const LONGEST_KEY = 200

export class HotKeys implements Gate {
  readonly kind = 'hotKeys'
  readonly path: string
  private readonly env: Env
  private settings: HotKeysSettings
  private heat: Heat
  private readonly told = new Set<string | number>()
  private nextTellingAt = Number.NEGATIVE_INFINITY
  private keyless = 0

  constructor(options: HotKeysOptions = {}, env: Env = envOf(systemRuntime, 'hotKeys')) {
    this.path = env.path
    this.env = env
    this.settings = parse(hotKeysOptions, options, 'hotKeys')
    this.heat = new Heat(this.settings, env)
  }

  tryAcquire(ask: Ask): Permit {
    const key = this.keyOf(ask)
    if (key === undefined) this.keyless++
    else this.heat.add(key, ask.now)
    if (ask.now >= this.nextTellingAt) this.tell(ask.now)
    return new Permit(this, 0)
  }

  /** Undefined for '' (nobody said), and for a `by` that throws: that must not cost the call. */
  private keyOf(ask: Ask): string | number | undefined {
    try {
      const key: unknown = this.settings.by === undefined ? ask.key : this.settings.by(ask)
      if (typeof key === 'string' && key !== '') return key.length > LONGEST_KEY ? shortened(key) : key
      return typeof key === 'number' && Number.isFinite(key) ? key : undefined
    } catch {
      return undefined
    }
  }

  private tell(now: number): void {
    this.nextTellingAt = now + TELL_EVERY_MS
    const { heat, told } = this
    for (const key of told) {
      if (heat.isHot(key, now, COOL)) continue
      told.delete(key)
      this.emit(key, false, now)
    }
    for (const { key, hot } of heat.list(now)) {
      if (!hot || told.has(key)) continue
      told.add(key)
      this.emit(key, true, now)
    }
  }

  private emit(key: string | number, hot: boolean, now: number): void {
    const { perSecond, share } = this.heat.warmth(key, now)
    this.env.emit({ type: 'hot', at: now, path: this.path, key, hot, perSecond, share })
  }

  /** Other settings, same counts. */
  reconfigure(settings: HotKeysSettings): void {
    this.heat = new Heat(settings as HeatSettings, this.env, this.heat)
    this.settings = settings
    this.nextTellingAt = Number.NEGATIVE_INFINITY
  }

  /** It counts who asks, also those whom a gate further in refuses. */
  settled(): void {}
  cancelled(): void {}

  idle(now: number): boolean {
    return this.heat.idle(now)
  }

  inspect(now: number): Snapshot {
    const { kind, path, heat, told, keyless } = this
    return { kind, path, keys: heat.list(now), perSecond: heat.perSecond(now), hot: told.size, keyless }
  }
}

/** The two ends: a copy of both, since a slice alone would hold the whole. */
function shortened(key: string): string {
  const half = LONGEST_KEY / 2
  return `${key.slice(0, half)}…${key.length}…${key.slice(-half)}`
}

/** Counts the calls of each key, tells which are hot, and lets everything pass. */
export const hotKeys: Kind<HotKeysOptions, HotKeysSettings> = kindOf({
  kind: 'hotKeys',
  options: hotKeysOptions,
  snapshot: hotKeysSnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof HotKeys)) return new HotKeys(settings, env)
    previous.reconfigure(settings)
    return previous
  },
})
