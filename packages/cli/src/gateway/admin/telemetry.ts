import { Histogram } from 'floodwall/stats'
import { type Cause, causes } from '../exchange/failures.ts'

// What the gateway has counted. Written on the hot path, so plain numbers in fixed places; read when somebody asks. The places come from
// closed lists, never from what a client wrote.

/** Everything else is OTHER. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'OTHER'] as const
const OTHER = methods.length - 1
const placeOfMethod: ReadonlyMap<string, number> = new Map(methods.map((method, i) => [method, i]))

/** `none`: the client left before there was an answer. */
const statusClasses = ['none', '1xx', '2xx', '3xx', '4xx', '5xx', 'other'] as const
const CLASSES = statusClasses.length

export class Telemetry {
  inFlight = 0
  /** The client left while its answer was on the way, or before. */
  clientsGone = 0
  /** From the head of the request to the end of the answer. */
  readonly latency: Histogram = new Histogram()
  /** Answers that broke off after the head had been passed on. */
  readonly brokenOff: Map<Cause, number> = new Map(causes.map((cause) => [cause, 0]))
  private readonly requests = new Float64Array(methods.length * CLASSES)

  concluded(method: string, status: number, tookMs: number): void {
    this.inFlight--
    this.count(method, status)
    this.latency.record(tookMs)
  }

  /** Answered before it became an exchange: malformed, or refused by its head. */
  turnedAway(method: string, status: number): void {
    this.count(method, status)
  }

  private count(method: string, status: number): void {
    const place = placeOfMethod.get(method) ?? OTHER
    const group = status < 600 ? Math.trunc(status / 100) : CLASSES - 1
    this.requests[place * CLASSES + group]!++
  }

  /** The counts that are not 0, with their labels. */
  *requestCounts(): Generator<{ method: string; status: string; count: number }> {
    for (let i = 0; i < this.requests.length; i++) {
      const count = this.requests[i]!
      if (count === 0) continue
      yield { method: methods[Math.trunc(i / CLASSES)]!, status: statusClasses[i % CLASSES]!, count }
    }
  }

  inspect(): object {
    const byStatus: Record<string, number> = {}
    for (const { status, count } of this.requestCounts()) byStatus[status] = (byStatus[status] ?? 0) + count
    const { inFlight, clientsGone, latency } = this
    return { inFlight, clientsGone, requests: byStatus, latencyMs: latency.snapshot() }
  }
}
