import type { Call } from 'floodwall'
import { knownStanding, names, timeoutAliases, writeCohort, writeGrpcTimeout } from 'floodwall/wire'
import type { Dispatcher } from 'undici'
import type { RequestHead } from '../heads/request-head.ts'
import type { Attempt } from './attempt.ts'
import type { Exchange } from './exchange.ts'

/** What undici is told of one try. */
export function sendingTo({ call, upstream }: Attempt, exchange: Exchange): Dispatcher.DispatchOptions {
  const { head, body, offer, route } = exchange
  // Undefined: as the connection has it.
  const idleMs = route.config.limits.idleMs as number
  return {
    path: upstream.base + head.path,
    method: head.method,
    headers: route.config.propagate ? told(head, call) : head.lines,
    body: body === null ? null : body.content(),
    upgrade: offer === null ? null : offer.protocol,
    headersTimeout: idleMs,
    bodyTimeout: idleMs,
  }
}

/** Taken off what is left: the server's answer has to come back. */
const MARGIN_MS = 5

/** The lines, with what this try has left and the how-manieth it is. */
function told(head: RequestHead, call: Call): string[] {
  const { attempt, deadline } = call
  const { lines, said } = head
  const cohort = knownStanding(call)
  if (deadline === Number.POSITIVE_INFINITY && attempt === 0 && cohort === undefined) return lines
  const all = lines.slice()
  if (cohort !== undefined) all.push(names.cohort, writeCohort(cohort))
  if (deadline !== Number.POSITIVE_INFINITY) {
    const left = Math.max(1, Math.floor(call.remainingMs - MARGIN_MS))
    all.push(names.timeout, String(left))
    for (const name of said.aliases) {
      all.push(name, name === timeoutAliases.grpc ? (writeGrpcTimeout(left) as string) : String(left))
    }
  }
  if (attempt > 0) all.push(names.attempt, String(attempt))
  return all
}
