import { RetryShare } from 'floodwall/server'
import { Histogram } from 'floodwall/stats'
import { type Cause, causes } from '../exchange/failures.ts'
import { AllKeptBytes } from '../exchange/kept-bytes.ts'

// What the gateway has counted. Written on the hot path, so plain numbers in fixed places; read when somebody asks. The places come from
// closed lists, never from what a client wrote.

/** Everything else is OTHER. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'OTHER'] as const
const OTHER = methods.length - 1
const placeOfMethod: ReadonlyMap<string, number> = new Map(methods.map((method, i) => [method, i]))

/** `none`: the client left before there was an answer. */
const statusClasses = ['none', '1xx', '2xx', '3xx', '4xx', '5xx', 'other'] as const
const CLASSES = statusClasses.length

/** Requests by method and class of the answer. */
export class RequestCounts {
  private readonly places = new Float64Array(methods.length * CLASSES)

  add(method: string, status: number): void {
    const place = placeOfMethod.get(method) ?? OTHER
    const group = status < 600 ? Math.trunc(status / 100) : CLASSES - 1
    this.places[place * CLASSES + group]!++
  }

  /** Those that are not 0, with their labels. */
  *[Symbol.iterator](): Generator<{ method: string; status: string; count: number }> {
    for (let i = 0; i < this.places.length; i++) {
      const count = this.places[i]!
      if (count === 0) continue
      yield { method: methods[Math.trunc(i / CLASSES)]!, status: statusClasses[i % CLASSES]!, count }
    }
  }

  /** By class of the answer alone, added to `sums`. */
  byStatus(sums: Record<string, number> = {}): Record<string, number> {
    for (const { status, count } of this) sums[status] = (sums[status] ?? 0) + count
    return sums
  }
}

/** Of one route. */
export class RouteTelemetry {
  readonly requests: RequestCounts = new RequestCounts()
  /** From the head of the request to the end of the answer. */
  readonly latency: Histogram = new Histogram()
  /** How much of what trusted callers send was tried before. */
  readonly retries: RetryShare = new RetryShare()
  /** Of the bodies of answers. */
  sentBytes = 0

  concluded(method: string, status: number, tookMs: number, sentBytes: number): void {
    this.requests.add(method, status)
    this.latency.record(tookMs)
    this.sentBytes += sentBytes
  }
}

/** Of the whole gateway. */
export class Telemetry {
  inFlight = 0
  /** The client left while its answer was on the way, or before. */
  clientsGone = 0
  /** Connections beyond the limit, closed at once. */
  connectionsRefused = 0
  /** Of TLS: broken off, too slow, or with a certificate that is not accepted. */
  handshakesFailed = 0
  /** Answers that broke off after the head had been passed on. */
  readonly brokenOff: Map<Cause, number> = new Map(causes.map((cause) => [cause, 0]))
  readonly kept: AllKeptBytes = new AllKeptBytes()
  /** Answered before a route was found: malformed, refused by its head, or for nobody. */
  readonly turnedAway: RequestCounts = new RequestCounts()
}
