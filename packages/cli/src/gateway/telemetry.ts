import { type Cause, causes } from './failures.ts'

// What the gateway has counted. Written on the hot path, so plain numbers in fixed places; read when somebody asks. The places come from
// closed lists, never from what a client wrote.

/** Everything else is OTHER. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'OTHER'] as const
const OTHER = methods.length - 1
const placeOfMethod: ReadonlyMap<string, number> = new Map(methods.map((method, i) => [method, i]))

/** `none`: the client left before there was an answer. */
const statusClasses = ['none', '1xx', '2xx', '3xx', '4xx', '5xx', 'other'] as const
const CLASSES = statusClasses.length

/** Upper bounds in milliseconds, from one that a cache would answer in to the default deadline. */
export const latencyBounds: readonly number[] = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]

export class Telemetry {
  inFlight = 0
  /** The client left while its answer was on the way, or before. */
  clientsGone = 0
  latencySumMs = 0
  /** Answers by latency; the last place is for all that are slower than the last bound. Not cumulative. */
  readonly latency: Float64Array = new Float64Array(latencyBounds.length + 1)
  /** Answers that broke off after the head had been passed on. */
  readonly brokenOff: Map<Cause, number> = new Map(causes.map((cause) => [cause, 0]))
  private readonly requests = new Float64Array(methods.length * CLASSES)

  concluded(method: string, status: number, tookMs: number): void {
    this.inFlight--
    const place = placeOfMethod.get(method) ?? OTHER
    const group = status < 600 ? Math.trunc(status / 100) : CLASSES - 1
    this.requests[place * CLASSES + group]!++
    this.latencySumMs += tookMs
    let i = 0
    while (i < latencyBounds.length && tookMs > latencyBounds[i]!) i++
    this.latency[i]!++
  }

  /** Answered before it became an exchange: malformed, refused by its head. */
  turnedAway(method: string, status: number): void {
    this.inFlight++
    this.concluded(method, status, 0)
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
    return { inFlight: this.inFlight, clientsGone: this.clientsGone, requests: byStatus }
  }
}
