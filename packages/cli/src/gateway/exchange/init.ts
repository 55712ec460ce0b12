import type { Criticality, Init } from 'floodwall'
import type { Exchange } from './exchange.ts'

/** What the pipeline is told of an exchange. */
export class ExchangeInit implements Init {
  readonly data: Exchange
  // Undefined where nothing was said: the pipeline looks at these for every call.
  readonly within: number
  readonly criticality: Criticality
  /** Calls that cost alike, and that a server may ask to hold back: a method of a route. */
  readonly method: string
  readonly waitedMs: number
  readonly cohort: number
  readonly standsFor: number

  constructor(exchange: Exchange) {
    const { head, route } = exchange
    const { within, criticality, cohort, standsFor } = head.said
    this.data = exchange
    this.method = route.apiOf(head.method)
    this.within = within as number
    this.criticality = criticality as Criticality
    this.waitedMs = exchange.proxy.waitedMs(route)
    this.cohort = cohort as number
    this.standsFor = standsFor
  }

  /** Asked when something has failed: only then is it known whether the body is still here. */
  get idempotent(): boolean {
    return this.data.repeatable
  }
}
