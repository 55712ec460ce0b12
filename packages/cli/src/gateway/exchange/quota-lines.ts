import type { Init, Outcome } from 'floodwall'
import { rateLimitNames } from 'floodwall/wire'
import type { Exchange } from './exchange.ts'
import { withLevel } from './level-line.ts'

// What does a caller hear of the route's limits?
//
// A server's own word on an answer that passes stays alone: beside it ours would be a second list, perhaps of an older draft that no reader could join with
// it. Where a limit of ours refuses, there is no server's word.

/** `lines` of the head of an answer, with the level of the route and what its caller has left. `outcome`: nobody else has answered. */
export function withOurs(lines: string[], exchange: Exchange, status: number, outcome?: Outcome<unknown>): string[] {
  const { limits } = exchange.route
  const rejection = outcome?.rejection
  if (rejection !== undefined) {
    const after = lines.indexOf('Retry-After')
    put(lines, limits.ofRefusal(rejection, initOf(exchange), after < 0 ? undefined : Number(lines[after + 1])))
  } else if (limits.tells && !isTold(lines)) put(lines, limits.ofAnswer(initOf(exchange), status))
  return withLevel(lines, exchange)
}

function initOf({ route, head, peer }: Exchange): Init {
  const key = route.keyOf(head, peer.trusted)
  const { criticality } = head.said
  return { ...(key !== undefined && { key }), ...(criticality !== undefined && { criticality }) }
}

function put(lines: string[], fields: { readonly policy: string; readonly limit: string } | undefined): void {
  if (fields !== undefined) lines.push(rateLimitNames.policy, fields.policy, rateLimitNames.limit, fields.limit)
}

function isTold(lines: readonly string[]): boolean {
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i] as string
    // Names of answers are in lower case, but for those that the settings add.
    if (name.length === rateLimitNames.limit.length && name.toLowerCase() === rateLimitNames.limit) return true
    if (name.length === rateLimitNames.policy.length && name.toLowerCase() === rateLimitNames.policy) return true
  }
  return false
}
