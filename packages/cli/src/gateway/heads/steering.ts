import type { Criticality } from 'floodwall'
import {
  CRITICALITY_KEY,
  type Inbound,
  names,
  readBaggage,
  readCriticality,
  readInbound,
  timeoutAliases,
  writeBaggage,
  writeCriticality,
} from 'floodwall/wire'

// What does a trusted peer say about its call, and what does the server hear of it?
//
// Its word about time is not passed on but told anew, as what is left when the server is asked: under the name it came by, for servers that
// know only that, and under ours. The number of the attempt is the gateway's own, since the server is asked by the gateway. The highest class
// is for those whom the settings name: from others it is the next one, here and behind.

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
  private readonly criticalPlus: boolean

  /** `criticalPlus`: its sender may name the highest class. */
  constructor(criticalPlus: boolean) {
    this.criticalPlus = criticalPlus
  }

  /** What the line is to say behind; undefined: it is not passed on. */
  add(name: string, said: string): string | undefined {
    const lower = name.toLowerCase()
    const value = this.criticalPlus ? said : demoted(lower, said)
    const before = this.values.get(lower)
    this.values.set(lower, before === undefined ? value : [...(typeof before === 'string' ? [before] : before), value])
    return toldAnew.has(lower) ? undefined : value
  }

  read(): Inbound {
    const { criticalPlus } = this
    return readInbound((name) => this.values.get(name), { trusted: true, mostMs: LONGEST_MS, criticalPlus })
  }

  /** Other names under which the time was told. */
  get aliases(): string[] {
    return [...this.values.keys()].filter((name) => name !== names.timeout && timeouts.has(name))
  }
}

/** `value` without a claim to the highest class. */
function demoted(name: string, value: string): string {
  if (name === names.criticality) return isHighest(value) ? CRITICAL : value
  if (name !== names.baggage || !isHighest(readBaggage(value, CRITICALITY_KEY))) return value
  return writeBaggage(value, CRITICALITY_KEY, CRITICAL) ?? ''
}

const CRITICAL = writeCriticality('critical')

function isHighest(said: string | undefined): boolean {
  return said !== undefined && readCriticality(said) === 'criticalPlus'
}

/** What came with a request, where anything did. */
export interface Said {
  readonly within: number | undefined
  readonly criticality: Criticality | undefined
  readonly cohort: number | undefined
  readonly standsFor: number
  /** 0: the first try of its caller. */
  readonly attempt: number
  /** First tries, second tries ... of the caller's last seconds. */
  readonly attempts: readonly number[]
  readonly aliases: readonly string[]
}

/** Nothing was said, or by nobody who is believed. */
export const nothingSaid: Said = {
  within: undefined,
  criticality: undefined,
  cohort: undefined,
  standsFor: 1,
  attempt: 0,
  attempts: [],
  aliases: [],
}

export function saidIn(steering: Steering): Said {
  const { within, criticality, cohort, standsFor, attempt, attempts } = steering.read()
  return { within, criticality, cohort, standsFor, attempt, attempts, aliases: steering.aliases }
}
