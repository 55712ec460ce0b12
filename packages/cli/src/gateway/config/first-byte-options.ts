import { type ConfigIssue, type Layer, showMs, toMs } from 'floodwall'
import type { LayerLimits } from 'floodwall/rules'
import type { Faults } from './faults.ts'

// How long may a server take to begin its answer, and who says so?
//
// The nearest word counts: `timeout` of the route; a layer `timeout` around the operation (`layers`) or around an attempt (`endpoint`);
// `timeout` of the top level or of the command line; and where nobody has said anything, 100 ms, so that nobody waits for ever who has
// forgotten to say how long.
//
// A route says 1 s, its cluster has a layer of 500 ms: 1 s. The route says nothing: 500 ms. The cluster has no such layer: 100 ms.

/** Of who has not said anything: the default of the mission's D3, the same as that of `client()`. */
const DEFAULT_MS = 100
/** To be read by who wonders why he is cut. */
export const DEFAULT_WORDS = 'the default, "timeout" of the route or of the top level says another'

/** The time from a request that was sent to the first byte of its answer, for each attempt. */
export interface FirstByteTime {
  /** Undefined: layers see to it. */
  readonly afterMs: number | undefined
  /** Who says so: the route, its `layers`, the `endpoint` of its cluster, the top level (`settings`), or nobody (`default`). */
  readonly from: 'route' | 'layers' | 'endpoint' | 'settings' | 'default'
}

/** `given` as far as the settings allow: what is longer is a fault, or cut and told. */
export function timeoutIn(
  given: number | undefined,
  path: string,
  { mostTimeout, onExcess, warn }: LayerLimits,
  faults: Faults,
): number | undefined {
  const mostMs = toMs(mostTimeout)
  if (given === undefined || !(given > mostMs)) return given
  const expected = `at most ${showMs(mostMs)} (the limit mostTimeout)`
  const issue: ConfigIssue = { path, value: showMs(given), expected }
  if (onExcess === 'cap') warn?.(issue)
  else faults.tell([issue])
  return mostMs
}

/** Where the time of a route may be said. */
interface Said {
  readonly route: number | undefined
  readonly layers: readonly Layer[]
  /** Around each attempt; undefined: its cluster has faults. */
  readonly each: readonly Layer[] | undefined
  readonly settings: number | undefined
}

export function firstByteOf({ route, layers, each, settings }: Said, { mostTimeout }: LayerLimits): FirstByteTime {
  if (route !== undefined) return { afterMs: route, from: 'route' }
  if (layers.some(isTimeout)) return { afterMs: undefined, from: 'layers' }
  if (each?.some(isTimeout) === true) return { afterMs: undefined, from: 'endpoint' }
  if (settings !== undefined) return { afterMs: settings, from: 'settings' }
  // What nobody wrote is no excess: it keeps to the limit without a word.
  return { afterMs: Math.min(DEFAULT_MS, toMs(mostTimeout)), from: 'default' }
}

export function isTimeout({ kind }: Layer): boolean {
  return kind === 'timeout'
}

/** As people read it. */
export function showFirstByte({ afterMs, from }: FirstByteTime): string {
  if (afterMs === undefined) return `to the first byte of an answer: as its "${from}" say`
  const by = { route: 'its own "timeout"', settings: '"timeout" of the top level', default: DEFAULT_WORDS }
  return `${showMs(afterMs)} to the first byte of an answer: ${by[from as keyof typeof by]}`
}
