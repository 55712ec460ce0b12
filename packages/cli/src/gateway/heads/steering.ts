import type { Criticality } from 'floodwall'
import { type Inbound, names, readInbound, timeoutAliases } from 'floodwall/wire'

// What does a trusted peer say about its call, and what does the server hear of it?
//
// Its word about time is not passed on but told anew, as what is left when the server is asked: under the name it came by, for servers that
// know only that, and under ours. The number of the attempt is the gateway's own, since the server is asked by the gateway.

const timeouts: ReadonlySet<string> = new Set([names.timeout, ...Object.values(timeoutAliases)])
/** Not passed on as they came. */
const toldAnew: ReadonlySet<string> = new Set([
  ...timeouts,
  names.cohort,
  names.standsFor,
  names.attempt,
  names.attempts,
])

/** A caller that waits longer than a day does not wait. */
const LONGEST_MS = 86_400_000

/** The steering lines of one request. */
export class Steering {
  private readonly values = new Map<string, string | string[]>()

  /** True when the line is to be passed on as it is. */
  add(name: string, value: string): boolean {
    const lower = name.toLowerCase()
    const before = this.values.get(lower)
    this.values.set(lower, before === undefined ? value : [...(typeof before === 'string' ? [before] : before), value])
    return !toldAnew.has(lower)
  }

  read(): Inbound {
    return readInbound((name) => this.values.get(name), { trusted: true, mostMs: LONGEST_MS, criticalPlus: true })
  }

  /** Other names under which the time was told. */
  get aliases(): string[] {
    return [...this.values.keys()].filter((name) => name !== names.timeout && timeouts.has(name))
  }
}

/** What came with a request, where anything did. */
export interface Said {
  readonly within: number | undefined
  readonly criticality: Criticality | undefined
  readonly cohort: number | undefined
  readonly standsFor: number
  readonly aliases: readonly string[]
}

/** Nothing was said, or by nobody who is believed. */
export const nothingSaid: Said = {
  within: undefined,
  criticality: undefined,
  cohort: undefined,
  standsFor: 1,
  aliases: [],
}

export function saidIn(steering: Steering): Said {
  const { within, criticality, cohort, standsFor } = steering.read()
  return { within, criticality, cohort, standsFor, aliases: steering.aliases }
}
