import { FixedWindow } from '../rates/fixed-window.ts'
import { Gcra } from '../rates/gcra.ts'
import { LeakyBucket } from '../rates/leaky-bucket.ts'
import { limitOf } from '../rates/limit.ts'
import type { Reservable } from '../rates/rate.ts'
import { SlidingLog } from '../rates/sliding-log.ts'
import { SlidingWindow } from '../rates/sliding-window.ts'
import { Bucket } from '../rates/token-bucket.ts'
import { WarmUp } from '../rates/warm-up.ts'
import { burstOf, type RateAlgorithm, type RateSettings } from './rate-limit-settings.ts'

const MAKE: Readonly<Record<RateAlgorithm, (settings: RateSettings, now: number) => Reservable>> = {
  tokenBucket: (settings, now) => new Bucket(settings, burstOf(settings), now),
  gcra: (settings, now) => new Gcra(settings, burstOf(settings), now),
  leakyBucket: (settings, now) => new LeakyBucket(settings, burstOf(settings), now),
  slidingWindow: (settings, now) => new SlidingWindow(limitOf(settings), now),
  slidingLog: (settings, now) => new SlidingLog(limitOf(settings), now),
  fixedWindow: (settings, now) => new FixedWindow(limitOf(settings), now),
  warmUp: (settings, now) => {
    const { over = 10_000, coldFactor = 3 } = settings.warmUp ?? {}
    return new WarmUp(settings, burstOf(settings), { over, coldFactor }, now)
  },
}

/** The rate that `settings` ask for, with nothing taken. */
export function rateOf(settings: RateSettings, now: number): Reservable {
  return MAKE[settings.algorithm ?? 'tokenBucket'](settings, now)
}

/** Another rate in the place of `from`: what was taken there is taken here, so that a reload is no free burst. */
export function carryOver(from: Pick<Reservable, 'left'>, to: Reservable, now: number): void {
  if (from instanceof WarmUp && to instanceof WarmUp) to.warmTo(from.warmth(now))
  // Each at its own size: half of the burst gone is not half of another one.
  const gone = to.left(now) - from.left(now)
  for (let rest = gone; rest > 0; rest -= to.most) {
    const part = Math.min(rest, to.most)
    if (!(part > 0) || to.reserve(part, now, Number.MAX_VALUE) === Number.POSITIVE_INFINITY) return
  }
}
