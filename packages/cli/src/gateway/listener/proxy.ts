import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Call, Done } from 'floodwall'
import type { AccessLog } from '../access/access-log.ts'
import { entryOfExchange, entryOfRefused } from '../access/entry-of.ts'
import type { Telemetry } from '../admin/telemetry.ts'
import { Exchange } from '../exchange/exchange.ts'
import { type Cause, internal } from '../exchange/failures.ts'
import { Problem } from '../exchange/problem.ts'
import { RequestHead } from '../heads/request-head.ts'
import { RequestIds } from '../heads/request-ids.ts'
import type { Log } from '../log.ts'
import type { Site } from '../site.ts'
import type { Peer, Peers } from './peer.ts'

const noRoute = new Problem('no-route', 'No route leads from here to a server.')
const tooLong = new Problem('body-too-large', 'The body of the request is larger than it may be here.', {
  closing: true,
})

/** No route fits; with another method one would. */
function strayed(methods: readonly string[]): Problem {
  if (methods.length === 0) return noRoute
  const lines = ['Allow', methods.join(', ')]
  return new Problem('method-not-allowed', 'This path does not know this method.', { lines })
}

/** What the data path stands on. */
export interface Ground {
  readonly site: Site
  readonly peers: Peers
  readonly telemetry: Telemetry
  readonly log: Log
  /** None: there is no access log. */
  readonly accessLog: AccessLog | undefined
  readonly mostHeaderLines: number
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

  handle(request: IncomingMessage, response: ServerResponse): void {
    const { site, peers, telemetry, mostHeaderLines } = this.ground
    const peer = peers.of(request.socket)
    const head = RequestHead.of(request, peer.address, mostHeaderLines)
    if (head instanceof Problem) return this.turnAway(head, request, response, peer)
    const route = site.router.route(head)
    if (route === undefined) return this.turnAway(strayed(site.router.methods(head)), request, response, peer)
    if (head.bodyBytes > route.mostBodyBytes(site.limits)) return this.turnAway(tooLong, request, response, peer)
    route.apply(head)
    const id = peer.trusted && head.given !== '' ? head.given : this.ids.next()
    head.lines.push('x-request-id', id)
    const exchange = new Exchange(this, id, route, peer, request, response, head)
    peer.add(exchange)
    telemetry.inFlight++
    try {
      route.pipeline.start(work, (outcome) => exchange.finish(outcome), exchange.init)
    } catch (error) {
      // One request must not end the process, whatever it found.
      this.ground.log.error({ error }, 'a request met an error of the gateway itself')
      exchange.answer(internal)
    }
  }

  /** A name for a request that has none yet. */
  nextId(): string {
    return this.ids.next()
  }

  private turnAway(problem: Problem, request: IncomingMessage, response: ServerResponse, peer: Peer): void {
    const id = this.nextId()
    const { telemetry, accessLog } = this.ground
    telemetry.turnedAway.add(request.method as string, problem.status)
    accessLog?.record(entryOfRefused(request, peer.address, id, problem.status, problem.code))
    this.tellProblem(problem, id)
    const closing = problem.closing || this.draining
    peer.closing ||= closing
    problem.send(response, id, closing)
  }

  tellProblem(problem: Problem, id: string): void {
    const { log } = this.ground
    if (log.isLevelEnabled('debug'))
      log.debug({ id, code: problem.code, status: problem.status }, 'answered by the gateway')
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
    accessLog?.record(entryOfExchange(exchange, tookMs))
  }
}

/** The same for every call: the exchange travels in it. */
function work(call: Call, done: Done): void {
  ;(call.data as Exchange).attempt(call, done)
}
