import type { Exchange } from './exchange.ts'
import { LINGER_BYTES } from './linger.ts'

/** Whether its answer is the last one on its connection. `whole`: it is here already, and what is left of an upload is of no use. */
export function isLast({ proxy, peer, head, incomplete }: Exchange, whole: boolean): boolean {
  const last = proxy.draining || head.last || (whole && head.bodyBytes > LINGER_BYTES && incomplete)
  if (last) peer.closing = true
  return last
}
