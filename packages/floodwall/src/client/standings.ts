import { keepStanding, standingOf } from '../algorithms/admission/standing.ts'
import type { Call } from '../core/call.ts'
import type { Env } from '../core/runtime.ts'
import { systemRuntime, unixNow } from '../core/system.ts'

/** Cohorts change as often as those of a server, when it does not say otherwise. */
const HOUR_MS = 3_600_000

/** Where the calls of a client stand in their class: found at the first look, and kept. */
export class Standings {
  private readonly env: Pick<Env, 'now' | 'random'>
  /** Unix time minus the runtime's: cohorts change at the same moment in all processes. */
  private readonly epochMs: number

  constructor(env: Pick<Env, 'now' | 'random'>) {
    this.env = env
    this.epochMs = env.now === systemRuntime.now ? unixNow() - env.now() : 0
  }

  of(call: Call): number {
    const { env, epochMs } = this
    const standing = standingOf(call, Math.floor((env.now() + epochMs) / HOUR_MS), env.random())
    keepStanding(call, standing)
    return standing
  }
}
