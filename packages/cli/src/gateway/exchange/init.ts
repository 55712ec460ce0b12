import type { CallParameters, Criticality, Init } from 'floodwall'
import { parameterOf } from 'floodwall/server'
import type { Exchange } from './exchange.ts'

/** What the pipeline is told of an exchange. */
export class ExchangeInit implements Init {
  readonly data: Exchange
  // Undefined where nothing was said: the pipeline looks at these for every call.
  readonly within: number
  readonly criticality: Criticality
  /** Calls that cost alike, and that a server may ask to hold back: a method of a route. */
  readonly method: string
  /** For layers that count each caller on his own. */
  readonly key: string
  readonly waitedMs: number
  readonly cohort: number
  readonly standsFor: number

  constructor(exchange: Exchange, waitedMs: number) {
    const { head, route } = exchange
    const { within, criticality, cohort, standsFor } = head.said
    this.data = exchange
    this.method = route.apiOf(head.method)
    this.key = route.keyOf(head, exchange.peer.trusted) as string
    this.within = within as number
    this.criticality = criticality as Criticality
    this.waitedMs = waitedMs
    this.cohort = cohort as number
    this.standsFor = standsFor
  }

  /** What the request says, for limits of single values: its path in the form in which it chose its route. */
  get parameters(): CallParameters {
    const { head } = this.data
    return (name) => parameterOf(name, head.target.path, head.raw)
  }

  /** Asked when something has failed: only then is it known whether the body is still here. */
  get idempotent(): boolean {
    return this.data.repeatable
  }
}
