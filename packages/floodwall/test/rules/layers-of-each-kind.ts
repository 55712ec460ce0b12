import { breaker, bulkhead, deadline, type Kind, keyed, type Layer, queue, rateLimit, retry, shadow, timeout } from 'floodwall'
import { builtIn } from 'floodwall/rules'

// One layer of each kind, with many of its options said. A kind that is new in the table of kinds gets a line here.

export const kinds: Readonly<Record<string, Kind>> = Object.fromEntries(builtIn)

/** A layer of each kind, by the kind's name; new ones each time. */
export function layersOfEachKind(): Record<string, Layer> {
  return {
    breaker: breaker({ consecutive: 3, slowAfter: '2s' }),
    bulkhead: bulkhead({ slots: 4 }),
    deadline: deadline({ within: '1s', floor: 5 }),
    keyed: keyed({ of: rateLimit({ rate: 2 }), max: 3 }),
    queue: queue({ size: 3, order: 'lifo', atMost: 200 }),
    rateLimit: rateLimit({ rate: 5, per: '2s', burst: 7, charge: 'time' }),
    retry: retry({ attempts: 2, backoff: { first: 10 } }),
    shadow: shadow({ of: bulkhead({ slots: 1 }) }),
    timeout: timeout({ after: '50ms' }),
  }
}
