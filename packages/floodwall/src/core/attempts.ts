import { Operation } from './aside.ts'
import type { Call } from './call.ts'
import type { Endpoint } from './init.ts'

// How do the attempts of an operation hang together?
//
// As a tree. What is tried again follows what was tried before (`later`); what runs side by side are branches of one attempt, and each branch
// may be tried again by itself. Numbers count through the whole operation, in the order in which attempts were begun.
//
//   0 ─ later ─> 3          a retry around a hedge: the first try had two branches, 0 and 1, the second of which was tried again as 2
//   ├ 0
//   └ 1 ─ later ─> 2
//
// Invariant: an attempt is reached from the first one in exactly one way, so that a cancel from outside comes to each once; and nothing leads
// from one branch to another, so that a cancel of one ends that one.

/** What all attempts of the operation share. */
export function operationOf(call: Call): Operation {
  const { extra } = call
  extra.operation ??= extra.earlier === null ? new Operation() : operationOf(extra.earlier)
  return extra.operation
}

/** `next` follows on what began last of `call`. */
export function follow(call: Call, next: Call): Call {
  let latest = call
  for (let later = call.extra.later; later !== null; later = later.extra.later) latest = later
  latest.extra.later = next
  next.extra.earlier = latest
  next.extra.attempt = operationOf(next).attempts++
  return next
}

/** `next` runs beside the other branches of `call`; the first of them is the attempt that `call` itself would have been. */
export function branch(call: Call, next: Call): Call {
  const { extra } = call
  next.extra.earlier = call
  next.extra.attempt = extra.branches.length === 0 ? extra.attempt : operationOf(next).attempts++
  extra.branches = [...extra.branches, next]
  return next
}

/** True when any attempt of the operation went to `endpoint`. */
export function wentTo(call: Call, endpoint: Endpoint): boolean {
  let first = call
  for (let earlier = call.extra.earlier; earlier !== null; earlier = earlier.extra.earlier) first = earlier
  return leadsTo(first, endpoint)
}

function leadsTo(from: Call, endpoint: Endpoint): boolean {
  for (let call: Call | null = from; call !== null; call = call.extra.later) {
    if (call.endpoint === endpoint || call.extra.branches.some((beside) => leadsTo(beside, endpoint))) return true
  }
  return false
}
