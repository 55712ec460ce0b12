import { type RejectedError, rejectedError } from '../core/errors.ts'
import { Rejection } from '../core/gate.ts'

/** What the users of a cache or table hear once it was closed. */
export function closedError(kind: string, path: string): RejectedError {
  const refuser = { kind, path, explain: () => 'it was closed' }
  return rejectedError(new Rejection(refuser, 'closed', 0, 0, 0, true))
}
