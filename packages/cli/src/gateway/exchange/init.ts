import type { Criticality, Init } from 'floodwall'
import type { Exchange } from './exchange.ts'

/** What the pipeline is told of an exchange. */
export class ExchangeInit implements Init {
  readonly data: Exchange
  // Undefined where nothing was said: the pipeline looks at these for every call.
  readonly within: number
  readonly criticality: Criticality

  constructor(exchange: Exchange) {
    const { within, criticality } = exchange.head.said
    this.data = exchange
    this.within = within as number
    this.criticality = criticality as Criticality
  }

  /** Asked when something has failed: only then is it known whether the body is still here. */
  get idempotent(): boolean {
    return this.data.repeatable
  }
}
