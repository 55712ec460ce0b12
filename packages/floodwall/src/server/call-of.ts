import type { IncomingMessage } from 'node:http'
import type { Call } from '../core/call.ts'

const VISIT: unique symbol = Symbol('floodwall.visit') as never

/** A request as Node hands it out, or one of a framework that keeps that one as `raw`. */
export type AnyRequest = IncomingMessage | { readonly raw: IncomingMessage }

/** What is known of a request that was let in. */
export interface Admitted {
  readonly call: Call | null
  /** What its handler failed with, although a status is all that is written of it. */
  failure: { readonly error: unknown } | null
}

/** The call in which a request is handled: its signal, the time that is left. Undefined before it was let in, and where nothing protects. */
export function callOf(request: AnyRequest): Call | undefined {
  return admitted(request)?.call ?? undefined
}

/** @internal */
export function admitted(request: AnyRequest): Admitted | undefined {
  const raw = 'raw' in request ? request.raw : request
  return (raw as { [VISIT]?: Admitted })[VISIT]
}

/** @internal */
export function admit(request: IncomingMessage, known: Admitted): void {
  ;(request as { [VISIT]?: Admitted })[VISIT] = known
}
