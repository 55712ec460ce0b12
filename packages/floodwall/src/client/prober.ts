import type { Endpoint } from '../core/init.ts'

/**
 * Looks once whether an endpoint is well. It is when the function returns, or its promise resolves, with anything but `false`; not when it
 * throws or rejects, or has not ended when `signal` fires: then it has to stop by itself, and what it says later is not heard. It must not
 * repeat a request of a user.
 */
export type Prober = (endpoint: Endpoint, signal: AbortSignal) => unknown

const LONGEST_FAULT = 100

/** An error in few words, fit for an event: its code, or its message. */
export function faultOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error).slice(0, LONGEST_FAULT)
  const { code, message, cause } = error as { code?: unknown; message?: unknown; cause?: unknown }
  if (typeof code === 'string') return code
  // What fetch throws has the reason inside.
  if (typeof cause === 'object' && cause !== null && 'code' in cause) return faultOf(cause)
  return typeof message === 'string' && message !== '' ? message.slice(0, LONGEST_FAULT) : 'an error without a message'
}
