import { milliseconds, weight } from './argument.ts'
import { fade } from './fade.ts'
import { isSample } from './sample.ts'

// What is it usually, with recent samples counting most?
//
// Three answers, which differ in what makes a sample old.
//
//   Ewma      later samples do.  value += alpha * (sample - value)
//             Source: Roberts, "Control chart tests based on geometric moving averages" (1959).
//             alpha 0.1: 100, then 200, gives 110.
//
//   TimeEwma  time does.         value = sum(sample_i * w_i) / sum(w_i), with w_i = exp(-(newest - t_i) / tau)
//             Source: Cormode et al., "Forward decay" (2009). With evenly spaced samples it settles on the familiar
//             weight 1 - exp(-interval / tau). That formula, used as it stands, gives a sample in the same tick as the
//             one before it the weight 0: most of a burst would be lost behind a coarse clock.
//             tau 10 s: 100, then 200 ten seconds later, gives (100 * 0.368 + 200) / 1.368 = 173.1.
//
//   PeakEwma  time does, but a higher sample is believed at once.
//             sample >= value: value = sample. Else, with w = exp(-elapsed / tau): value = value * w + sample * (1 - w)
//             Source: the peak EWMA of Finagle's load balancers. A server that stalls shows one slow answer and then
//             none: an average would wait for more.
//             tau 10 s: 20, then 500, gives 500; a 20 ten seconds later gives 500 * 0.368 + 20 * 0.632 = 196.6.
//
// Invariant, for all three: before the first sample the value is 0 and `samples` is 0; the first is taken whole; the
// value is finite and stays between the smallest and the largest sample (up to rounding).

export class Ewma {
  readonly alpha: number
  value = 0
  samples = 0
  /** Values that were no samples: negative, NaN, infinite. */
  dropped = 0

  /**
   * @param alpha weight of each new sample, above 0 and at most 1
   * @throws RangeError naming the argument
   */
  constructor(alpha: number) {
    this.alpha = weight('alpha', alpha)
  }

  record(sample: number): void {
    if (!isSample(sample)) {
      this.dropped++
      return
    }
    this.value = this.samples === 0 ? sample : this.value + this.alpha * (sample - this.value)
    this.samples++
  }

  clear(): void {
    this.value = 0
    this.samples = 0
  }
}

export class TimeEwma {
  readonly tauMs: number
  /** The average as of the newest sample. Silence does not change it; see `decayed`. */
  value = 0
  samples = 0
  dropped = 0

  /** Sum of all weights, as of `at`: how many fresh samples the value is worth. */
  private weight = 0
  private at = 0

  /**
   * @param tauMs after this long a sample weighs 1/e (37 %) of a new one
   * @throws RangeError naming the argument
   */
  constructor(tauMs: number) {
    this.tauMs = milliseconds('tauMs', tauMs)
  }

  record(sample: number, now: number): void {
    if (!isSample(sample)) {
      this.dropped++
      return
    }
    const elapsed = since(this.at, now)
    if (elapsed > 0) {
      this.weight *= fade(elapsed / this.tauMs)
      this.at = now
    }
    this.weight += 1
    this.value += (sample - this.value) / this.weight
    this.samples++
  }

  /** The average if silence means less and less: it falls to 37 % each tau without a sample. */
  decayed(now: number): number {
    return this.value * fade(since(this.at, now) / this.tauMs)
  }

  clear(): void {
    this.value = 0
    this.samples = 0
    this.weight = 0
  }
}

export class PeakEwma {
  readonly tauMs: number
  /** The peak as of the newest sample, and never below that sample. */
  value = 0
  samples = 0
  dropped = 0

  private at = 0

  /**
   * @param tauMs after this long 37 % of a peak is left
   * @throws RangeError naming the argument
   */
  constructor(tauMs: number) {
    this.tauMs = milliseconds('tauMs', tauMs)
  }

  record(sample: number, now: number): void {
    if (!isSample(sample)) {
      this.dropped++
      return
    }
    const elapsed = since(this.at, now)
    if (elapsed > 0) this.at = now
    if (sample >= this.value) this.value = sample
    else if (elapsed > 0) this.value = sample + (this.value - sample) * fade(elapsed / this.tauMs)
    this.samples++
  }

  /** The peak after silence until `now`: an endpoint nobody asks is forgiven, and gets asked again. */
  decayed(now: number): number {
    return this.value * fade(since(this.at, now) / this.tauMs)
  }

  clear(): void {
    this.value = 0
    this.samples = 0
  }
}

/** Time passed; 0 when the clock went back or the reading is no time, so that a step never ages or revives a value. */
function since(at: number, now: number): number {
  return now > at && now < Infinity ? now - at : 0
}
