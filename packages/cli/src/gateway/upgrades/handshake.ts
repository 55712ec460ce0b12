import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Call, Outcome, Verdict } from 'floodwall'
import type { Dispatcher } from 'undici'
import { Attempt } from '../exchange/attempt.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { BadAnswer, notValid } from '../exchange/failures.ts'
import { ResponseHead } from '../heads/response-head.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import type { Offer } from './offer.ts'
import { accepts } from './websocket.ts'

/** An attempt that may end in a tunnel. As long as the server says anything but 101 it is an attempt like any other. */
export class Handshake extends Attempt {
  private readonly offer: Offer
  private socket: Socket | null = null
  private answer101: IncomingHttpHeaders = {}

  constructor(exchange: Exchange, call: Call, upstream: Upstream, done: (outcome: Outcome<unknown>) => void) {
    super(exchange, call, upstream, done)
    this.offer = exchange.offer as Offer
  }

  onRequestUpgrade(
    _controller: Dispatcher.DispatchController,
    _status: number,
    headers: IncomingHttpHeaders,
    duplex: Duplex,
  ): void {
    const socket = duplex as Socket
    socket.on('error', () => {})
    // Its place among the connections is free again: the tunnel is none of them.
    this.upstream.broke(this)
    if (this.isOver) return void socket.destroy()
    if (!this.fits(headers)) {
      socket.destroy()
      return this.refuse()
    }
    this.socket = socket
    this.answer101 = headers
    this.tunnelled()
  }

  override relay(): void {
    const { socket, exchange, offer } = this
    if (socket === null) return super.relay()
    const { lines } = new ResponseHead(101, this.answer101, exchange.peer.trusted)
    exchange.route.editAnswer(lines, exchange.head)
    lines.push('Connection', 'Upgrade', 'Upgrade', offer.protocol)
    if (exchange.changeTo(lines)) {
      const flows = exchange.route.bandwidth?.tunnel(exchange)
      return exchange.proxy.upgrades.connect(offer, socket, flows, (tunnel) => {
        exchange.proxy.tellTunnel(exchange, this.upstream, tunnel)
        // How long it was says nothing about the server.
        this.settle('ignored')
      })
    }
    this.upstream.failed('invalid')
    this.drop('failure')
    exchange.answer(notValid)
  }

  override drop(verdict?: Verdict): void {
    this.socket?.destroy()
    super.drop(verdict)
  }

  private refuse(): void {
    this.upstream.failed('invalid')
    this.fail(new BadAnswer('the server has changed to something that nobody asked for'))
  }

  private fits(headers: IncomingHttpHeaders): boolean {
    const { protocol, request } = this.offer
    if (headers.upgrade?.toLowerCase() !== protocol) return false
    return protocol !== 'websocket' || accepts(request.headers['sec-websocket-key'] as string, headers)
  }
}
