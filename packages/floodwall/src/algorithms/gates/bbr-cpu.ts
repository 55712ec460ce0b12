import type { Env } from '../../core/runtime.ts'
import { BUSY, type Pressure, SIGNALS } from '../admission/pressure.ts'
import { fade } from '../stats/fade.ts'
import { isSample } from '../stats/sample.ts'
import type { BbrSettings } from './bbr-settings.ts'

// Is the CPU too busy?
//
// Source: the trigger of adaptive shedding in kratos and its article: usage, sampled each 250 ms and averaged, above 80 %; and a cool-down, since
// what shedding does to the CPU must not end the shedding. There whole per mille are averaged with 5 % of each new one: a step to 100 % is seen after
// 16 s, and a steady 81 % never. Here fractions, and half of each new one.
//
// Usage goes from 20 % to 100 %: 60 % after 250 ms, 80 % after 500 ms, 90 % after 750 ms, which is above. It falls to 0: on guard for 1 s more.
//
// There is no timer: whoever asks brings the time. A sample that comes late stands for the time since the one before it, and weighs as much as the
// samples that are missing. A Pressure is smooth by itself, and is asked each time.
//
// Invariant: on guard if and only if the newest sample was above, or one was within the cool-down before now. The average stays between the least
// and the largest sample.

export class BbrCpu {
  /** The average; NaN before the first sample. */
  usage = Number.NaN
  /** When it was sampled last. */
  at = Number.NEGATIVE_INFINITY
  private given: BbrSettings['cpu']
  private readonly shared: readonly Pressure[]
  private readonly busy: readonly Pressure[]
  private above = 1
  private coolDownMs = 0
  private everyMs = 0
  /** -ln(1 - weight): what is left of the old average fades by this each interval. */
  private rate = 0
  private isAbove = false
  private aboveAt = Number.NEGATIVE_INFINITY

  constructor(settings: BbrSettings, env: Env) {
    this.shared = env.share<Pressure[]>(SIGNALS, () => [])
    this.busy = env.share<Pressure[]>(BUSY, () => [])
    this.reconfigure(settings)
  }

  reconfigure(settings: BbrSettings): void {
    this.given = settings.cpu
    this.above = settings.above
    this.coolDownMs = settings.coolDown
    this.everyMs = settings.sampleEvery
    this.rate = -Math.log(1 - settings.weight)
  }

  /** Takes a sample if it is time to, and tells whether it is on guard. */
  hot(now: number): boolean {
    const { source } = this
    if (source === undefined) this.isAbove = false
    else if (typeof source !== 'function') this.take(pressed(source, now), 1, now)
    // As a distance: a clock that stepped back is not waited for.
    else if (!(Math.abs(now - this.at) < this.everyMs)) this.sample(source, now)
    return this.isAbove || this.hotForMs(now) > 0
  }

  /** The same without a sample: what was told lately. */
  wasHot(now: number): boolean {
    return (this.isAbove && Math.abs(now - this.at) < this.everyMs) || this.hotForMs(now) > 0
  }

  /** The rest of the cool-down. */
  hotForMs(now: number): number {
    return Math.max(0, this.coolDownMs - Math.abs(now - this.aboveAt))
  }

  private sample(source: () => number, now: number): void {
    const late = Math.abs(now - this.at) / this.everyMs
    this.take(told(source), late < Number.POSITIVE_INFINITY ? 1 - fade(late * this.rate) : 1, now)
  }

  private take(sample: number, weight: number, now: number): void {
    this.isAbove = false
    this.at = now
    // Of a function of a user's, who may not have asked for types.
    if (typeof sample !== 'number' || !isSample(sample)) return
    // A share: one reading of 1e9 must not be remembered for minutes.
    const usage = Math.min(1, sample)
    this.usage = Number.isNaN(this.usage) ? usage : this.usage + weight * (usage - this.usage)
    if (this.usage <= this.above) return
    this.isAbove = true
    this.aboveAt = now
  }

  /** What it listens to. */
  get source(): BbrSettings['cpu'] {
    return this.given ?? this.found()
  }

  private found(): Pressure | undefined {
    for (let i = 0; i < this.shared.length; i++) if (this.shared[i]?.name === 'cpu') return this.shared[i]
    return this.busy[0]
  }
}

/** A signal that throws must not take the calls with it. */
function told(source: () => number): number {
  try {
    return source()
  } catch {
    return Number.NaN
  }
}

function pressed(source: Pressure, now: number): number {
  try {
    return source.level(now)
  } catch {
    return Number.NaN
  }
}
