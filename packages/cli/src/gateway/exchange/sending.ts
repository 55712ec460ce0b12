import type { Call } from 'floodwall'
import { knownStanding, names, timeoutAliases, writeCohort, writeGrpcTimeout } from 'floodwall/wire'
import type { Dispatcher } from 'undici'
import type { RequestHead } from '../heads/request-head.ts'
import type { Route } from '../routes/route.ts'
import type { Attempt } from './attempt.ts'
import type { Exchange } from './exchange.ts'
import { MARGIN_MS } from './margin.ts'

/** What undici is told of one try. */
export function sendingTo({ call, upstream }: Attempt, exchange: Exchange): Dispatcher.DispatchOptions {
  const { head, body, offer, route } = exchange
  // Undefined: as the connection has it.
  const idleMs = route.config.limits.idleMs as number
  return {
    path: upstream.base + head.path,
    method: head.method,
    headers: route.config.propagate ? told(head, call, route) : head.lines,
    body: body === null ? null : body.content(),
    upgrade: offer === null ? null : offer.protocol,
    headersTimeout: idleMs,
    bodyTimeout: idleMs,
  }
}

/** The lines, with what this try has left, the how-manieth it is, and how often this route tries at all. */
function told(head: RequestHead, call: Call, route: Route): string[] {
  const { attempt, deadline } = call
  const { lines, said } = head
  const cohort = knownStanding(call)
  const attempts = route.attemptsText(call.now)
  const timeless = deadline === Number.POSITIVE_INFINITY
  if (timeless && attempt === 0 && cohort === undefined && attempts === undefined) return lines
  const all = lines.slice()
  if (cohort !== undefined) all.push(names.cohort, writeCohort(cohort))
  if (!timeless) {
    // Who had less was not to be sent; the clock may have moved on since.
    const left = Math.max(1, Math.floor(call.remainingMs - MARGIN_MS))
    all.push(names.timeout, String(left))
    for (const name of said.aliases) {
      all.push(name, name === timeoutAliases.grpc ? (writeGrpcTimeout(left) as string) : String(left))
    }
  }
  if (attempt > 0) all.push(names.attempt, String(attempt))
  if (attempts !== undefined) all.push(names.attempts, attempts)
  return all
}
