import type { Behaviour } from './story.ts'
import type { Sample } from './tally.ts'

// What the demo and its child processes say to each other. All of it is JSON.

/** How often children report. */
export const REPORT_EVERY_MS = 250

/** To a server. */
export type Order = { readonly kind: 'behave'; readonly as: Behaviour }

/** From a server. */
export type ServerNews =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'behaving' }
  | ServerReport

export interface ServerReport {
  readonly kind: 'report'
  readonly spanMs: number
  /** Requests that came in. */
  readonly arrivals: number
  /** Requests that ended. Not ok: it failed, or the client left before the answer. */
  readonly served: readonly Sample[]
}

/** To the load generator. */
export type LoadOrder =
  | { readonly kind: 'start'; readonly plan: LoadPlan }
  | { readonly kind: 'phase'; readonly phase: number }
  | { readonly kind: 'finish' }

export interface LoadPlan {
  readonly perSecond: number
  readonly phaseMs: number
  /** It stops by itself after so many arrivals, whoever forgets it. */
  readonly arrivalsAtMost: number
  readonly inFlightAtMost: number
  readonly timeoutMs: number
  /** Each arrival is sent once to each lane: to one of its origins. */
  readonly lanes: readonly (readonly string[])[]
}

/** From the load generator. */
export type LoadNews =
  | { readonly kind: 'ready' }
  | LoadReport
  | { readonly kind: 'finished'; readonly latestMs: number }

export interface LoadReport {
  readonly kind: 'report'
  readonly spanMs: number
  /** Requests that became due. */
  readonly arrivals: number
  /** By lane: everything that was due before this has ended. */
  readonly settledMs: readonly number[]
  /** By lane: whom its balancer does not ask, in the order of its origins. */
  readonly leftOut: readonly (readonly boolean[])[]
  readonly sent: readonly Sent[]
}

/**
 * A request as the client saw it. `phase` is -1 outside of phases; `atMs` counts from the first phase, without the
 * moments between phases.
 */
export type Sent = readonly [lane: number, phase: number, atMs: number, tookMs: number, ending: Ending]

/** The status of the answer, or why there was none. */
export type Ending = number | 'refused' | 'cut off' | 'timed out'

export function isOk(ending: Ending): boolean {
  return typeof ending === 'number' && ending < 400
}
