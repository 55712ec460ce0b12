import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Call } from '../../core/call.ts'
import type { Snapshot } from '../../core/gate.ts'
import type { Pipeline } from '../../core/pipeline.ts'
import { type Handling, ServerEdge, type ServerOptions, writeAnswer } from '../../server/index.ts'

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

/** A listener behind its edge. */
interface House {
  readonly edge: ServerEdge<IncomingMessage>
  readonly listener: Listener
  readonly onError: HttpOptions['onError']
}

/** One request: runs the listener, and keeps what it threw until the response is over. */
class Hearing implements Handling {
  private readonly house: House
  private readonly request: IncomingMessage
  private readonly response: ServerResponse
  /** A box: `undefined` may be thrown, too. */
  private thrown: { readonly error: unknown } | undefined
  /** The listener has returned, and no promise: it throws nothing any more. */
  private silent = false
  private ended = false
  private tell: (() => void) | undefined

  constructor(house: House, request: IncomingMessage, response: ServerResponse) {
    this.house = house
    this.request = request
    this.response = response
  }

  proceed(call: Call): unknown {
    const result = this.house.listener(this.request, this.response, call)
    this.silent = result === undefined
    return result
  }

  threw(error: unknown): void {
    const { house, request, response } = this
    if (house.onError !== undefined) {
      try {
        return house.onError(error, request, response)
      } catch (worse) {
        return this.fault(worse)
      }
    }
    const known = house.edge.answerOfError(error, request)
    if (known !== undefined && !response.headersSent) writeAnswer(response, known)
    else this.fault(error)
  }

  over(): void {
    this.ended = true
    this.tell?.()
  }

  private fault(error: unknown): void {
    this.thrown = { error }
    answerFault(this.house.edge, this.response)
  }

  /** Resolves when the response is over, and rejects with what the listener threw; a promise of its own only where that may be something. */
  get heard(): Promise<void> | undefined {
    if (this.silent && this.thrown === undefined) return undefined
    return new Promise((resolve, reject) => {
      this.tell = () => (this.thrown === undefined ? resolve() : reject(this.thrown.error))
      if (this.ended) this.tell()
    })
  }
}

function answerFault(edge: ServerEdge<IncomingMessage>, response: ServerResponse): void {
  if (response.headersSent) response.destroy()
  else writeAnswer(response, edge.answerOfFault())
}

/** `listener` behind `pipeline`. Throws a ConfigError on bad options. */
export function protect(pipeline: Pipeline, listener: Listener, options: HttpOptions = {}): Protected {
  const { onError, ...own } = options
  const edge = new ServerEdge<IncomingMessage>(pipeline, own)
  const house: House = { edge, listener, onError }
  const guarded = (request: IncomingMessage, response: ServerResponse): Promise<void> | undefined => {
    const hearing = new Hearing(house, request, response)
    try {
      edge.serve(request, response, request, hearing)
    } catch (error) {
      // An option of the user's: `trust`.
      answerFault(edge, response)
      return Promise.reject(error)
    }
    return hearing.heard
  }
  // For Node a listener returns nothing; that it hears of a promise all the same is what we build on.
  const heard = guarded as (request: IncomingMessage, response: ServerResponse) => void
  return Object.assign(heard, { inspect: () => edge.inspect(), close: () => edge.close() })
}
