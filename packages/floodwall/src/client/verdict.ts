import type { Call } from '../core/call.ts'
import { type Classify, failed, type Outcome, type Verdict, verdictOfError } from '../core/outcome.ts'
import { connectionOf } from './unsent.ts'

// What does an error say about the endpoint that it came from? (What an answer says is the same for every caller: `floodwall/wire`.)

/** The request could not be made from what the caller gave: no endpoint has seen it. */
const CALLERS_FAULT = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED', 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH'])
const TOO_SLOW = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT'])

function verdictOfFault(error: unknown): Verdict {
  const verdict = verdictOfError(error)
  if (verdict !== 'failure' || typeof error !== 'object' || error === null) return verdict
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  if (code === undefined && typeof cause === 'object' && cause !== null && cause !== error) return verdictOfFault(cause)
  if (typeof code !== 'string') return verdict
  return CALLERS_FAULT.has(code) ? 'ignored' : TOO_SLOW.has(code) ? 'timeout' : verdict
}

/** The outcome of an attempt that threw `error`. `noRetry`: it cannot be sent again, its body is gone. */
export function outcomeOfError(call: Call, error: unknown, classify?: Classify, noRetry = false): Outcome<never> {
  const connection = connectionOf(error)
  if (connection !== 'made') return failed(error, connection === 'none' ? 'failure' : 'ignored', false, 0, noRetry)
  let verdict: Verdict = 'failure'
  try {
    verdict = classify === undefined ? verdictOfFault(error) : classify(false, error, call)
  } catch {
    // A classifier that throws must not lose the call.
  }
  return failed(error, verdict, true, 0, noRetry)
}
