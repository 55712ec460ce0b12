import type { Init } from 'floodwall'
import type { Exchange } from './exchange.ts'

/** What the pipeline is told of an exchange. */
export class ExchangeInit implements Init {
  readonly data: Exchange

  constructor(exchange: Exchange) {
    this.data = exchange
  }

  /** Asked when something has failed: only then is it known whether the body is still here. */
  get idempotent(): boolean {
    return this.data.repeatable
  }
}
