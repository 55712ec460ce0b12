/**
 * Something besides waiting that says "too much": the event loop, a CPU quota, memory. Ring 1 sees a number only; who samples it is in
 * `server/signals`.
 */
export interface Pressure {
  /** For people: `'memory'`. */
  readonly name: string
  /** 0: nothing is wrong; 1: as bad as may be; above 1: too much. Called often, so cheap. */
  level(now: number): number
}

/** The name under which a process shares its signals: `env.share(SIGNALS, () => [])`. */
export const SIGNALS = 'floodwall/signals'

/** Where a process shares how busy it is, from 0 to 1: full use is no reason to refuse anybody, so it is kept apart from {@link SIGNALS}. */
export const BUSY = 'floodwall/busy'

/** The highest of them; what throws or is no number says nothing. */
export function highest(signals: readonly Pressure[], now: number): number {
  let most = 0
  for (let i = 0; i < signals.length; i++) {
    const level = levelOf(signals[i] as Pressure, now)
    if (level > most) most = level
  }
  return most
}

function levelOf(signal: Pressure, now: number): number {
  try {
    const level = signal.level(now)
    return level >= 0 && level < Number.POSITIVE_INFINITY ? level : 0
  } catch {
    // A sampler that fails must not refuse anybody.
    return 0
  }
}
