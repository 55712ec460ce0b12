import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Limits } from '../config/limits.ts'
import { Problem } from '../exchange/problem.ts'
import type { RequestHead } from '../heads/request-head.ts'
import type { TunnelFlows } from '../routes/bandwidth.ts'
import { Offer } from './offer.ts'
import { Tunnel } from './tunnel.ts'
import { handshakeFault } from './websocket.ts'

// All connections that have changed their protocol, or offer to. They are no requests any more: without an end of their own they would go on
// for ever, so they are counted, bounded, idle for so long and no longer, and told when the gateway stops.

const SWEEP_MS = 1000

export const notUpgraded: Problem = new Problem(
  'not-implemented',
  'Connections are not changed to this protocol here.',
  {
    closing: true,
  },
)
const withBody = new Problem('bad-request', 'A request that offers another protocol has no body here.', {
  closing: true,
})
const tooMany = new Problem('too-many-upgrades', 'No more connections can be upgraded at the moment.', {
  closing: true,
})

export class Upgrades {
  /** Tunnels that are open. */
  open = 0
  /** ... and that have ever been. */
  opened = 0
  private readonly settings: { readonly limits: Limits }
  private readonly offers = new Set<Offer>()
  private readonly timer: NodeJS.Timeout
  private toServers = 0
  private toClients = 0
  private draining = false

  constructor(settings: { readonly limits: Limits }) {
    this.settings = settings
    this.timer = setInterval(() => this.sweep(performance.now()), SWEEP_MS).unref()
  }

  /** Why an offer cannot be taken; undefined: it can. */
  refusal(head: RequestHead, { protocol, request }: Offer): Problem | undefined {
    if (protocol === '') return notUpgraded
    if (head.bodyBytes > 0) return withBody
    const fault = protocol === 'websocket' ? handshakeFault(head.method, request.headers) : undefined
    if (fault !== undefined) return fault
    return this.draining || this.offers.size > this.settings.limits.upgrades ? tooMany : undefined
  }

  /** A client offers to change to `protocol`, '' for one that is not known here; `head`: what came behind its request. */
  offer(request: IncomingMessage, socket: Socket, head: Buffer, protocol: string): Offer {
    const offer = new Offer(request, socket, head, protocol)
    this.offers.add(offer)
    socket.on('close', () => {
      if (offer.tunnel === null) this.offers.delete(offer)
    })
    return offer
  }

  /** The server has taken it: from here on both speak to each other. `onEnd`: they have ended. */
  connect(offer: Offer, upstream: Socket, flows: TunnelFlows | undefined, onEnd: (tunnel: Tunnel) => void): void {
    const framed = offer.protocol === 'websocket'
    const tunnel = new Tunnel({ ...offer.take(), upstream, framed, flows }, () => {
      this.open--
      this.toServers += tunnel.toServer
      this.toClients += tunnel.toClient
      this.offers.delete(offer)
      onEnd(tunnel)
    })
    offer.tunnel = tunnel
    this.open++
    this.opened++
    if (this.draining) tunnel.leave()
  }

  /** Says goodbye to all, and takes no more. */
  drain(): void {
    this.draining = true
    for (const { tunnel } of this.offers) tunnel?.leave()
  }

  /** Ends all at once. */
  close(): void {
    clearInterval(this.timer)
    for (const offer of this.offers) offer.cut()
  }

  /** Bytes that have passed, both ways. */
  get bytes(): { readonly toServers: number; readonly toClients: number } {
    let { toServers, toClients } = this
    for (const { tunnel } of this.offers) {
      toServers += tunnel?.toServer ?? 0
      toClients += tunnel?.toClient ?? 0
    }
    return { toServers, toClients }
  }

  private sweep(now: number): void {
    for (const { tunnel } of this.offers) tunnel?.sweep(now, this.settings.limits.upgradeIdleMs)
  }
}
