import * as v from 'valibot'
import { count, countOrZero, oneOf, positiveSpan, shareOrZero, spanOrZero } from '../../core/schema.ts'
import { breakerOptions } from '../gates/breaker-settings.ts'
import type { Picker } from './picker.ts'
import { ConsistentHash } from './pickers/consistent-hash.ts'
import { PowerOfChoices } from './pickers/power-of-choices.ts'
import { RoundRobin } from './pickers/round-robin.ts'
import { Weighted } from './pickers/weighted.ts'

const pickerKinds = ['powerOfChoices', 'leastLoaded', 'random', 'roundRobin', 'weighted', 'consistentHash'] as const

function isPicker(input: unknown): boolean {
  return typeof input === 'object' && input !== null && typeof (input as Partial<Picker>).pick === 'function'
}

/** The options of a cluster. All are optional; the defaults are safe. */
export const clusterOptions = v.strictObject({
  /** How one of those in choice is chosen. Default `powerOfChoices`: two at random, the less loaded of them. */
  picker: v.optional(
    v.union(
      [oneOf(...pickerKinds), v.custom<Picker>(isPicker, 'a picker')],
      `one of ${pickerKinds.join(', ')}, or a picker`,
    ),
    'powerOfChoices',
  ),
  /** The zone that we are in: its endpoints are preferred while half of them are in choice. Default: all zones alike. */
  zone: v.optional(v.string('the name of a zone')),
  /** What isolates an endpoint: a breaker for each. Default: by the cost of its errors, or 5 failures in a row. */
  isolation: v.optional(breakerOptions, { errorCost: {}, consecutive: 5, openFor: '1s', openAtMost: '30s', probes: 3 }),
  /** At most this share of the endpoints is isolated for its results. Refused connections and failed checks do not count. Default 0.5. */
  isolatedAtMost: v.optional(shareOrZero, 0.5),
  /** ... but always this many. Default 0: a single endpoint stays in choice, since there is no better one. */
  isolatedAlways: v.optional(countOrZero, 0),
  /** Connect timeouts in a row that isolate. A refused connection does at once. Default 3. */
  connectTimeouts: v.optional(count, 3),
  /** Calls inside one endpoint at once. Default 1024. */
  maxInFlight: v.optional(count, 1024),
  /** A new or returned endpoint gets its whole share only after this. Default 10 s; 0: at once. */
  slowStart: v.optional(spanOrZero, '10s'),
  /**
   * When every endpoint is out: `recover` refuses what the first ones back cannot carry, `panic` sends to all. Default: `recover` while active
   * checks are attached, since they find out who is back; else `panic`, since calls do, and results alone may be wrong about all at once.
   */
  whenOut: v.optional(oneOf('recover', 'panic')),
  /** With `panic`: send to all also when no more than this share is in choice. Default 0: only when none is. */
  panicBelow: v.optional(shareOrZero, 0),
  recovery: v.optional(
    v.strictObject({
      /** Endpoints (or their weight) that are needed. Default: all, divided by `redundancy`. */
      minWorking: v.optional(count),
      /** The cluster is so many times stronger than needed. Default 1. */
      redundancy: v.optional(v.pipe(v.number('a number from 1'), v.minValue(1, 'a number from 1')), 1),
      /** The share that q usable endpoints keep. Default `q/n`. */
      form: v.optional(oneOf('q/n', 'q/kn'), 'q/n'),
      /** No change for so long ends it: the longest stall of an endpoint plus a check interval. Default 10 s. */
      hold: v.optional(positiveSpan, '10s'),
      /** The longest stall that is expected of an endpoint (a model load). `hold` below it gets a warning. Default: none. */
      stall: v.optional(positiveSpan),
      /** Refuse nothing at a rate that the usable ones are known to carry. Default true. */
      trustHistory: v.optional(v.boolean('true or false'), true),
    }),
    {},
  ),
})

export type ClusterOptions = v.InferInput<typeof clusterOptions>
export type ClusterSettings = v.InferOutput<typeof clusterOptions>

/** The picker of that name, or the one that was given. */
export function pickerOf(picker: ClusterSettings['picker']): Picker {
  if (typeof picker !== 'string') return picker
  switch (picker) {
    case 'powerOfChoices':
      return new PowerOfChoices(2)
    case 'leastLoaded':
      return new PowerOfChoices(Number.POSITIVE_INFINITY)
    case 'random':
      return new PowerOfChoices(1)
    case 'roundRobin':
      return new RoundRobin()
    case 'weighted':
      return new Weighted()
    case 'consistentHash':
      return new ConsistentHash()
  }
}
