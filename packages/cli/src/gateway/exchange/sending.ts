import type { Dispatcher } from 'undici'
import type { Upstream } from '../upstreams/upstream.ts'
import type { Exchange } from './exchange.ts'

/** What undici is told of one try at `upstream`. */
export function sendingTo({ base }: Upstream, exchange: Exchange): Dispatcher.DispatchOptions {
  const { head, body, offer, route } = exchange
  // Undefined: as the connection has it.
  const idleMs = route.config.limits.idleMs as number
  return {
    path: base + head.path,
    method: head.method,
    headers: head.lines,
    body: body === null ? null : body.content(),
    upgrade: offer === null ? null : offer.protocol,
    headersTimeout: idleMs,
    bodyTimeout: idleMs,
  }
}
