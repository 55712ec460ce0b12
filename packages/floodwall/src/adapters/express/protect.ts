import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Snapshot } from '../../core/gate.ts'
import type { Pipeline } from '../../core/pipeline.ts'
import { ServerEdge, type ServerOptions, writeAnswer } from '../../server/index.ts'

/** What express calls `next`. */
export type NextFunction = (error?: unknown) => void

/** A middleware for Express 4 and 5. Its requests and responses are Node's. */
export interface Protected<R extends IncomingMessage> {
  (request: R, response: ServerResponse, next: NextFunction): void
  /**
   * A middleware for errors, to stand after the routes: answers refusals and ends of time that a handler let go as what they are, and passes all
   * else on.
   */
  readonly errors: (error: unknown, request: R, response: ServerResponse, next: NextFunction) => void
  /** What is, now: JSON-safe. */
  inspect(): Snapshot
  /** Refuses what comes from now on, and resolves when every request that is here has been answered. */
  close(): Promise<void>
}

/** Everything after this middleware is behind `pipeline`. Throws a ConfigError on bad options. */
export function protect<R extends IncomingMessage = IncomingMessage>(
  pipeline: Pipeline,
  options: ServerOptions<R> = {},
): Protected<R> {
  const edge = new ServerEdge<R>(pipeline, options)
  const guard = (request: R, response: ServerResponse, next: NextFunction): void => {
    edge.serve(request, response, request, { proceed: () => next() })
  }
  const errors = (error: unknown, request: R, response: ServerResponse, next: NextFunction): void => {
    const answer = response.headersSent ? undefined : edge.answerOfError(error, request)
    if (answer === undefined) next(error)
    else writeAnswer(response, answer)
  }
  return Object.assign(guard, { errors, inspect: () => edge.inspect(), close: () => edge.close() })
}
