// How bad is it, by one measure?
//
// A value in its own unit, when it was read, and a ramp that makes a level of it: 0 below `from`, 1 at `to`, above 1 beyond. What cannot be read
// has no value and the level 0: a missing file is normal, and says nothing.
//
// Share 0.9 on a ramp from 0.8 to 1: level 0.5.

/** Where a level begins, and where it is 1; in the unit of the signal. */
export interface Ramp {
  readonly from: number
  readonly to: number
}

/** What a signal shows: JSON-safe. */
export interface SignalView {
  /** Null: nothing to read here. */
  readonly value: number | null
  readonly unit: string
  readonly level: number
  /** Milliseconds since it was read; null: never. */
  readonly ageMs: number | null
}

export class Signal {
  readonly name: string
  readonly unit: 'share' | 'ms'
  readonly ramp: Ramp
  /** In the unit; undefined where there is nothing to read. */
  value: number | undefined
  /** When it was read, on the runtime's clock; NaN: never. */
  at: number = Number.NaN
  private readonly refresh: (now: number) => void

  constructor(name: string, unit: 'share' | 'ms', ramp: Ramp, refresh: (now: number) => void = () => {}) {
    this.name = name
    this.unit = unit
    this.ramp = ramp
    this.refresh = refresh
  }

  /** 0: nothing is wrong; 1: as bad as may be; above: too much. */
  level(now: number): number {
    this.refresh(now)
    const { value } = this
    if (value === undefined) return 0
    const { from, to } = this.ramp
    return value <= from ? 0 : (value - from) / (to - from)
  }

  /** @internal What is no number is as if it could not be read. */
  set(value: number | undefined, at: number): void {
    this.value = value !== undefined && value >= 0 && value < Number.POSITIVE_INFINITY ? value : undefined
    this.at = at
  }

  inspect(now: number): SignalView {
    const level = this.level(now)
    const { value, unit, at } = this
    return { value: value ?? null, unit, level, ageMs: Number.isNaN(at) ? null : Math.max(0, now - at) }
  }
}
