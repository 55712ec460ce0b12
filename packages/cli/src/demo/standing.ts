import type { EndpointFacts } from './facts.ts'
import { SLOW_START_MS } from './protection.ts'

/** What a server's state means for it. */
export type Standing = 'in choice' | 'back' | 'on probation' | 'isolated'

const STANDINGS: Readonly<Record<string, Standing>> = {
  open: 'isolated',
  forcedOpen: 'isolated',
  halfOpen: 'on probation',
}

export function standingOf({ state, sinceMs, isolations }: EndpointFacts): Standing {
  const standing = STANDINGS[state]
  if (standing !== undefined) return standing
  // In choice, but not yet with its whole share.
  return isolations > 0 && sinceMs < SLOW_START_MS ? 'back' : 'in choice'
}

/** Until when? `isolated 0.8 s`. */
export function showStanding(endpoint: EndpointFacts): string {
  const standing = standingOf(endpoint)
  return standing === 'isolated' ? `isolated ${(endpoint.probeInMs / 1000).toFixed(1)} s` : standing
}
