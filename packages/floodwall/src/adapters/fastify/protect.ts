import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Snapshot } from '../../core/gate.ts'
import type { Pipeline } from '../../core/pipeline.ts'
import { ServerEdge, type ServerOptions } from '../../server/index.ts'
import type { ErrorAnswer } from '../../wire/index.ts'

/** A plugin for Fastify 5: `app.register(guard)`. */
export interface Protected {
  (app: FastifyInstance, options: object, done: () => void): void
  /**
   * For `app.setErrorHandler`: answers refusals and ends of time that a handler let go as what they are, and throws all else on to the error
   * handler around it.
   */
  readonly errors: (error: unknown, request: FastifyRequest, reply: FastifyReply) => void
  /** What is, now: JSON-safe. */
  inspect(): Snapshot
  /** Refuses what comes from now on, and resolves when every request that is here has been answered. */
  close(): Promise<void>
}

/** Fastify reads these of a plugin: its hooks are the app's and not those of a scope of its own, and this is what it is called. */
const plugin = {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'floodwall',
  [Symbol.for('plugin-meta')]: { name: 'floodwall', fastify: '>=5' },
}

/** Every route that is registered after it is behind `pipeline`. Throws a ConfigError on bad options. */
export function protect(pipeline: Pipeline, options: ServerOptions<FastifyRequest> = {}): Protected {
  const edge = new ServerEdge<FastifyRequest>(pipeline, { route: routeOf, ...options })
  const guard = (app: FastifyInstance, _: object, registered: () => void): void => {
    app.addHook('onRequest', (request, reply, next) => {
      const refuse = (answer: ErrorAnswer) => send(reply, answer)
      edge.serve(request.raw, reply.raw, request, { proceed: () => next(), refuse })
    })
    registered()
  }
  const errors = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const answer = edge.answerOfError(error, request)
    if (answer === undefined) throw error
    send(reply, answer)
  }
  const rest = { errors, inspect: () => edge.inspect(), close: () => edge.close() }
  return Object.assign(guard, plugin, rest)
}

function send(reply: FastifyReply, { status, headers, body }: ErrorAnswer): void {
  // Bytes: of text Fastify would change the type.
  void reply.code(status).headers(headers).send(Buffer.from(body))
}

/** `GET /items/:id`; what no route takes is one name, or strangers could make as many as they like. */
function routeOf({ method, routeOptions }: FastifyRequest): string {
  return `${method} ${routeOptions.url ?? '(none)'}`
}
