import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Call } from '../../core/call.ts'
import type { Snapshot } from '../../core/gate.ts'
import type { Pipeline } from '../../core/pipeline.ts'
import { ServerEdge, type ServerOptions, writeAnswer } from '../../server/index.ts'

/** A listener for `createServer`, and the call in which it runs. */
export type Listener = (request: IncomingMessage, response: ServerResponse, call: Call) => unknown

export interface HttpOptions extends ServerOptions<IncomingMessage> {
  /**
   * Answers in place of a listener that threw, and tells whom it concerns. Default: refusals and ends of time are answered as what they are;
   * of all else the answer is 500, and Node hears of the error as it does of any async listener's: an unhandled rejection, or whatever
   * `captureRejections` makes of it.
   */
  readonly onError?: (error: unknown, request: IncomingMessage, response: ServerResponse) => void
}

/** A protected listener. */
export interface Protected {
  (request: IncomingMessage, response: ServerResponse): void
  /** What is, now: JSON-safe. */
  inspect(): Snapshot
  /** Refuses what comes from now on, and resolves when every request that is here has been answered. */
  close(): Promise<void>
}

/** `listener` behind `pipeline`. Throws a ConfigError on bad options. */
export function protect(pipeline: Pipeline, listener: Listener, options: HttpOptions = {}): Protected {
  const { onError, ...own } = options
  const edge = new ServerEdge<IncomingMessage>(pipeline, own)

  const answerFault = (response: ServerResponse): void => {
    if (response.headersSent) response.destroy()
    else writeAnswer(response, edge.answerOfFault())
  }

  /** Resolves when the response is over, and rejects with what the listener threw. */
  const guarded = (request: IncomingMessage, response: ServerResponse): Promise<void> =>
    new Promise((resolve, reject) => {
      /** A box: `undefined` may be thrown, too. */
      let thrown: { readonly error: unknown } | undefined
      const threw = (error: unknown): void => {
        if (onError !== undefined) {
          try {
            return onError(error, request, response)
          } catch (worse) {
            thrown = { error: worse }
            return answerFault(response)
          }
        }
        const known = edge.answerOfError(error, request)
        if (known !== undefined && !response.headersSent) return writeAnswer(response, known)
        thrown = { error }
        answerFault(response)
      }
      const over = (): void => {
        if (thrown === undefined) resolve()
        else reject(thrown.error)
      }
      try {
        edge.serve(request, response, request, { proceed: (call) => listener(request, response, call), threw, over })
      } catch (error) {
        // An option of the user's: `key`, `route`, `trust`.
        answerFault(response)
        reject(error)
      }
    })
  // For Node a listener returns nothing; that it hears of a promise all the same is what we build on.
  const heard = guarded as (request: IncomingMessage, response: ServerResponse) => void
  return Object.assign(heard, { inspect: () => edge.inspect(), close: () => edge.close() })
}
