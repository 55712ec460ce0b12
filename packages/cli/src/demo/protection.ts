import { PATIENCE_MS, servers } from './story.ts'

// How the gateway of the demo is configured: as a user would for servers that usually answer in 60 ms, but for times that are short, so that
// what is isolated can return within a phase.

/** For one try. */
export const TRY_MS = 300
/** Isolated the first time for ..., later for at most ... */
export const OPEN_MS = 500
export const OPEN_AT_MOST_MS = 1_000
/** A server that has returned gets its whole share after this. */
export const SLOW_START_MS = 2_000

export const protection: object = {
  layers: [
    // An answer of ours must reach a client that still waits.
    { kind: 'deadline', within: PATIENCE_MS - 100 },
    { kind: 'retry', attempts: 3, backoff: { first: '10ms' } },
  ],
  endpoint: [{ kind: 'timeout', after: TRY_MS }],
  balance: {
    slowStart: SLOW_START_MS,
    // Also without health checks: who is out is asked by one request now and then, not by all of them.
    whenOut: 'recover',
    isolation: { errorCost: {}, consecutive: 5, openFor: OPEN_MS, openAtMost: OPEN_AT_MOST_MS, probes: 1 },
    // One of them may be missing.
    recovery: { minWorking: servers.length - 1 },
  },
}
