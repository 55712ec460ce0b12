import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Call, Done, Outcome } from 'floodwall'
import type { AccessLog } from '../access/access-log.ts'
import { entryOfExchange, entryOfRefused } from '../access/entry-of.ts'
import type { Telemetry } from '../admin/telemetry.ts'
import { Exchange } from '../exchange/exchange.ts'
import { type Cause, internal, tooLong } from '../exchange/failures.ts'
import { ExchangeInit } from '../exchange/init.ts'
import type { AllKeptBytes } from '../exchange/kept-bytes.ts'
import { linger } from '../exchange/linger.ts'
import { Problem } from '../exchange/problem.ts'
import type { BodyLimits } from '../exchange/request-body.ts'
import { RequestHead, refusedMethod } from '../heads/request-head.ts'
import { RequestIds } from '../heads/request-ids.ts'
import type { Log } from '../log.ts'
import type { Route } from '../routes/route.ts'
import type { Site } from '../site.ts'
import type { Tunnel } from '../upgrades/tunnel.ts'
import { notUpgraded, type Upgrades } from '../upgrades/upgrades.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import { type Arrival, arrive } from './arrival.ts'
import type { Peer } from './peer.ts'
import type { Peers } from './peers.ts'

const noRoute = new Problem('no-route', 'No route leads from here to a server.')
const ambiguous = new Problem('bad-request', 'The path may be read as more than one.', { closing: true })

/** No route fits; with another method one would. */
function strayed(methods: readonly string[]): Problem {
  if (methods.length === 0) return noRoute
  const lines = ['Allow', methods.join(', ')]
  return new Problem('method-not-allowed', 'This path does not know this method.', { lines })
}

/** Java's client makes this offer with every first request, bodies and all, and goes on in HTTP/1.1 when it is not taken. */
function mayIgnore(offer: string): boolean {
  return offer === '' || offer === 'h2c'
}

const notHttp = new Problem('version-not-supported', 'HTTP is spoken here.', { closing: true })
const outOfTurn = new Problem(
  'not-implemented',
  'A connection is changed when all answers on it are written, and not before.',
  {
    closing: true,
  },
)

/** Its client is about to send something that nobody wants. Behind an offer (node:http marks those) nobody reads. */
function bringsBody(request: IncomingMessage & { readonly upgrade?: boolean }): boolean {
  const { headers, upgrade } = request
  return upgrade !== true && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
}

/** It has its line in the log when what it became is over. */
const UPGRADED = 101

/** What the data path stands on. */
export interface Ground {
  readonly site: Site
  readonly peers: Peers
  readonly telemetry: Telemetry
  readonly upgrades: Upgrades
  readonly log: Log
  /** None: there is no access log. */
  readonly accessLog: AccessLog | undefined
}

/** The data path: requests come in, exchanges go through the pipeline. */
export class Proxy {
  /** Connections are asked to close after their answer. */
  draining = false
  private readonly ground: Ground
  private readonly ids = new RequestIds()

  constructor(ground: Ground) {
    this.ground = ground
  }

  /** `expected`: the client waits to be told to go on before it sends its body. */
  handle(request: IncomingMessage, response: ServerResponse, expected = false): void {
    const { site, peers } = this.ground
    const peer = peers.of(request.socket)
    // What follows a request whose end is in doubt, or that was said to be the last, is not a request: it may be the body of one.
    if (peer.closing || peer.heardLast) return peer.deaf()
    if (request.httpVersionMinor === 0 && peer.isForeign(request)) return this.turnAway(notHttp, request, response)
    const head = RequestHead.of(request, peer, site.limits.headerCount, site.forwarded)
    if (head instanceof Problem) return this.turnAway(head, request, response)
    // What the parser takes for an offer comes to upgrade(). This one only we see, and two readings are one too many.
    if (!mayIgnore(head.offer)) return this.turnAway(notUpgraded, request, response)
    const route = this.routeOf(head)
    if (route instanceof Problem) return this.turnAway(route, request, response)
    this.exchangeOf(route, peer, request, response, head).begin(expected)
  }

  /** A client offers to change the protocol. `early`: what came behind its request; `ignore`: hears the request as if it had not. */
  upgrade(request: IncomingMessage, socket: Socket, early: Buffer, ignore: () => void): void {
    const { site, peers, upgrades } = this.ground
    const peer = peers.of(socket)
    if (this.isOutOfTurn(peer, request, outOfTurn)) return
    const head = RequestHead.of(request, peer, site.limits.headerCount, site.forwarded)
    const route = head instanceof Problem ? head : this.routeOf(head)
    const protocol = head instanceof Problem || route instanceof Problem ? undefined : route.protocolOf(head.offer)
    if (!(head instanceof Problem) && protocol === undefined && mayIgnore(head.offer)) return ignore()
    const offer = upgrades.offer(request, socket, early, protocol ?? '')
    if (head instanceof Problem) return this.turnAway(head, request, offer.response)
    if (route instanceof Problem) return this.turnAway(route, request, offer.response)
    const problem = upgrades.refusal(head, offer)
    if (problem !== undefined) return this.turnAway(problem, request, offer.response)
    const exchange = this.exchangeOf(route, peer, request, offer.response, head)
    exchange.offer = offer
    exchange.begin(false)
  }

  /** A client asks for a tunnel to anywhere. node:http has handed its connection over, as with an offer. */
  connect(request: IncomingMessage, socket: Socket): void {
    socket.on('error', () => {})
    const peer = this.ground.peers.of(socket)
    if (!this.isOutOfTurn(peer, request, refusedMethod)) this.refuse(refusedMethod, peer, request)
  }

  /**
   * What has left HTTP has to wait for the answers that are due, and behind the last one it is nothing at all. They are written still; that
   * `problem` comes behind them is the end of the connection.
   */
  private isOutOfTurn(peer: Peer, request: IncomingMessage, problem: Problem): boolean {
    const { answering, closing, heardLast } = peer
    if (!answering && !closing && !heardLast) return false
    peer.detached()
    if (closing || heardLast) peer.deaf()
    else this.refuse(problem, peer, request)
    return true
  }

  private refuse(problem: Problem, peer: Peer, request: IncomingMessage): void {
    const id = this.lastWord(problem, peer, request)
    if (id !== undefined) this.tellProblem(problem, id)
  }

  /** Connections that change their protocol. */
  get upgrades(): Upgrades {
    return this.ground.upgrades
  }

  private routeOf(head: RequestHead): Route | Problem {
    const { site } = this.ground
    const route = site.router.route(head)
    if (route === undefined) return strayed(site.router.methods(head))
    if (!head.target.plain) {
      const readings = head.target.readings()
      if (readings === undefined || !site.router.agree(head, readings, route)) return ambiguous
    }
    // Of what has no length, the length is found out as it comes.
    const tooMuch = head.bodyBytes !== Number.POSITIVE_INFINITY && head.bodyBytes > route.mostBodyBytes(site.limits)
    return tooMuch ? tooLong : route
  }

  private exchangeOf(
    route: Route,
    peer: Peer,
    request: IncomingMessage,
    response: ServerResponse,
    head: RequestHead,
  ): Exchange {
    peer.heardLast = head.last
    const id = peer.trusted && head.given !== '' ? head.given : this.ids.next()
    head.lines.push('x-request-id', id)
    route.apply(head)
    const { attempt, attempts } = head.said
    route.telemetry.retries.seen(attempt, attempts, performance.now())
    const exchange = new Exchange(this, id, route, peer, request, response, head)
    peer.add(exchange)
    this.ground.telemetry.inFlight++
    return exchange
  }

  /** How long a request of `route` that is met now has waited; 0 where no layer asks. */
  private waitedMs({ guarded }: Route, arrival: Arrival | undefined): number {
    const { signals } = this.ground.site
    signals.touch()
    return guarded ? signals.waitedMs(arrival?.intake, arrival?.socket) : 0
  }

  /** Sends an exchange through its route. */
  run(exchange: Exchange): void {
    const { route, peer } = exchange
    const { pipeline, cluster } = route
    const arrival = arrive(peer)
    cluster.calls++
    try {
      const finish = (outcome: Outcome<unknown>): void => {
        arrival?.goOn()
        exchange.finish(outcome)
        arrival?.ended(outcome, exchange.attempts)
      }
      pipeline.start(work, finish, new ExchangeInit(exchange, this.waitedMs(route, arrival)))
    } catch (error) {
      this.fault(exchange, error)
    }
    arrival?.rest()
  }

  /** One request must not end the process, whatever it found. */
  fault(exchange: Exchange, error: unknown): void {
    this.ground.log.error({ error }, 'a request met an error of the gateway itself')
    exchange.answer(internal)
  }

  /** From now on every answer is the last on its connection. */
  drain(): void {
    this.draining = true
  }

  /** Answers by the head alone. */
  turnAway(problem: Problem, request: IncomingMessage, response: ServerResponse): void {
    const peer = this.ground.peers.of(request.socket)
    const id = this.ids.next()
    this.count(problem, id, peer, request)
    this.tellProblem(problem, id)
    const closing = problem.closing || this.draining
    peer.closing ||= closing
    // What comes next is not the first any more.
    peer.arrival = undefined
    const last = problem.begin(response, id, closing)
    if (closing && bringsBody(request)) linger(request, response, peer, last)
    else response.end(last)
  }

  /** What came has no answer of its own, so that `problem` is the last that is said on its connection. Its name; undefined when nothing is. */
  lastWord(problem: Problem, peer: Peer, request?: IncomingMessage): string | undefined {
    const id = this.ids.next()
    if (!peer.garbled(problem, problem.wire(id))) return undefined
    this.count(problem, id, peer, request)
    return id
  }

  private count(problem: Problem, id: string, peer: Peer, request?: IncomingMessage): void {
    const { telemetry, accessLog } = this.ground
    telemetry.turnedAway.add(request?.method ?? '', problem.status)
    accessLog?.record(entryOfRefused(request, peer.address, id, problem.status, problem.code))
  }

  /** How much of a request's body may come, and be kept. */
  bodyLimits(route: Route): BodyLimits {
    const { limits } = this.ground.site
    return { most: route.mostBodyBytes(limits), keep: route.config.replayBytes, keepOfAll: limits.replayBytes }
  }

  /** What is kept of the bodies of all requests. */
  get kept(): AllKeptBytes {
    return this.ground.telemetry.kept
  }

  tellProblem(problem: Problem, id: string): void {
    const { log } = this.ground
    if (log.isLevelEnabled('debug'))
      log.debug({ id, code: problem.code, status: problem.status }, 'answered by the gateway')
  }

  /** A connection that was upgraded has ended, and so has its request, as far as there is one. */
  tellTunnel(exchange: Exchange, upstream: Upstream, { toServer, toClient }: Tunnel): void {
    const { log, accessLog } = this.ground
    const { id, since } = exchange
    const tookMs = performance.now() - since
    exchange.sentBytes = toClient
    accessLog?.record(entryOfExchange(exchange, tookMs, upstream))
    if (!log.isLevelEnabled('debug')) return
    log.debug({ id, toServer, toClient, tookMs: Math.round(tookMs) }, 'an upgraded connection ended')
  }

  tellGone(): void {
    this.ground.telemetry.clientsGone++
  }

  tellBroken(cause: Cause): void {
    const { brokenOff } = this.ground.telemetry
    brokenOff.set(cause, (brokenOff.get(cause) ?? 0) + 1)
  }

  concluded(exchange: Exchange, tookMs: number): void {
    const { telemetry, accessLog } = this.ground
    const { route, head, status, sentBytes } = exchange
    telemetry.inFlight--
    route.telemetry.concluded(head.method, status, tookMs, sentBytes)
    if (status !== UPGRADED) accessLog?.record(entryOfExchange(exchange, tookMs))
    if (status === 504 || exchange.attempts > 1) this.tellDefault(route)
  }

  /** Once for each route: who has not set a time does not know that there is one. */
  private tellDefault({ id, firstByte }: Route): void {
    const news = firstByte.news()
    if (news !== undefined) this.ground.log.warn({ route: id }, news)
  }
}

/** The same for every call: the exchange travels in it. */
function work(call: Call, done: Done): void {
  ;(call.data as Exchange).attempt(call, done)
}
