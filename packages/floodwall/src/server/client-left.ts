import type { Call } from '../core/call.ts'

/** Why a call was told to stop: nobody waits for its answer. */
export function clientLeft(): Error {
  const error = new Error('the client left before it was answered')
  error.name = 'AbortError'
  return error
}

/** `error` is what became of the end of `call`: it was told to stop, and stopped. */
export function isEcho(call: Call, error: unknown): boolean {
  if (!call.cancelled) return false
  const { reason } = call.signal
  if (error === reason) return true
  if (typeof error !== 'object' || error === null) return false
  const { name, cause } = error as { name?: unknown; cause?: unknown }
  return name === 'AbortError' || cause === reason
}
