import { setTimeout as pause } from 'node:timers/promises'
import type { Front } from './listener/front.ts'
import type { Upgrades } from './upgrades/upgrades.ts'

// How a gateway stops without anybody noticing.
//
//   signal            delay                          grace
//     |  still serves,  |  takes no new connection,     |  cuts what is left
//     |  not ready      |  what runs may finish         |
//
// Balancers need a moment to see that it is not ready; until then they send new connections, and each is served. Every answer says that it
// was the last on its connection, so that clients go elsewhere by themselves. Upgraded connections are told to go when the delay is over, and not
// before: their clients come back at once, and would come back here.

export interface DrainTimes {
  /** From the signal until no new connection is taken. */
  readonly delayMs: number
  /** From the signal to the cut. */
  readonly graceMs: number
}

/** A client with a connection that has not asked for so long is not about to. */
const IDLE_GRACE_MS = 500
const SWEEP_MS = 50

/** True when every connection has ended by itself or was idle; false when the time was over. */
export async function drain(front: Front, upgrades: Upgrades, { delayMs, graceMs }: DrainTimes): Promise<boolean> {
  const from = performance.now()
  const late = new AbortController()
  await pause(Math.min(delayMs, graceMs))
  const ended = front.stop().then(() => true)
  upgrades.drain()
  const stopped = performance.now()
  const sweep = (): void => {
    const now = performance.now()
    if (now - from >= IDLE_GRACE_MS) front.closeIdle()
    // Who came in the last moment has only just begun to speak.
    if (now - stopped >= IDLE_GRACE_MS) front.closeSilent()
  }
  sweep()
  const timer = setInterval(sweep, SWEEP_MS)
  try {
    const left = Math.max(0, graceMs - (performance.now() - from))
    return await Promise.race([ended, pause(left, false, { signal: late.signal })])
  } finally {
    clearInterval(timer)
    late.abort()
  }
}
