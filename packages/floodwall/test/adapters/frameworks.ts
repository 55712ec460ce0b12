import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import fastify from 'fastify'
import type { Call, Pipeline, Snapshot } from 'floodwall'
import * as forExpress from 'floodwall/express'
import * as forFastify from 'floodwall/fastify'
import * as forHttp from 'floodwall/http'
import type { ServerOptions } from 'floodwall/server'

// The frameworks behind one face, so that one suite runs over all of them. A handler answers with a value, which each framework sends in its
// own way, and fails by throwing.

export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Readable
}

/** `body` is the request's, read by the framework's own parser. */
export type Handler = (call: Call, request: IncomingMessage, body: string) => Promise<Reply>

export interface Running {
  readonly port: number
  readonly guard: { inspect(): Snapshot; close(): Promise<void> }
  /** What the framework's own error handling saw. */
  readonly errors: unknown[]
  [Symbol.asyncDispose](): Promise<void>
}

type Options = ServerOptions<never>
export type Start = (pipeline: Pipeline, handler: Handler, options?: Options) => Promise<Running>

async function running(server: Server, guard: Running['guard'], errors: unknown[]): Promise<Running> {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    guard,
    errors,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}

const http: Start = (pipeline, handler, options = {}) => {
  const errors: unknown[] = []
  const guard = forHttp.protect(
    pipeline,
    async (request, response, call) => {
      const body = request.method === 'POST' ? await textOf(request) : ''
      send(response, await handler(call, request, body))
    },
    options as forHttp.HttpOptions,
  )
  const server = createServer(
    (request, response) => void heard(guard, request, response).catch((error: unknown) => errors.push(error)),
  )
  return running(server, guard, errors)
}

/** What Node hears of: the promise that is returned where a listener may yet throw. */
export async function heard(guard: forHttp.Protected, request: IncomingMessage, response: ServerResponse) {
  await (guard(request, response) as unknown as Promise<void> | undefined)
}

function send(response: ServerResponse, { status = 200, headers = {}, body = '' }: Reply): void {
  response.writeHead(status, headers)
  if (typeof body === 'string') response.end(body)
  else body.pipe(response)
}

const require = createRequire(import.meta.url)

/** Express brings no types of its own. */
interface App {
  (request: IncomingMessage, response: ServerResponse): void
  use(...handlers: unknown[]): void
  all(path: unknown, ...handlers: unknown[]): void
}
interface Express {
  (): App
  text(options: object): unknown
}
interface ExpressResponse extends ServerResponse {
  status(code: number): ExpressResponse
  set(headers: object): ExpressResponse
  send(body: string): void
}

function express(make: Express, version: 4 | 5): Start {
  return (pipeline, handler, options = {}) => {
    const errors: unknown[] = []
    const guard = forExpress.protect(pipeline, options as ServerOptions<IncomingMessage>)
    const app = make()
    app.use(guard)
    app.use(make.text({ type: () => true }))
    const route = async (request: IncomingMessage & { body?: string }, response: ExpressResponse) => {
      const call = forExpress.callOf(request) as Call
      const {
        status = 200,
        headers = {},
        body = '',
      } = await handler(call, request, (request.body as string | undefined) ?? '')
      response.status(status).set(headers)
      if (typeof body === 'string') response.send(body)
      else body.pipe(response)
    }
    // Version 4 does not look at promises.
    app.use(
      version === 4
        ? (request: IncomingMessage, response: ExpressResponse, fail: (error: unknown) => void) =>
            void route(request, response).catch((error: unknown) => fail(error))
        : route,
    )
    app.use(guard.errors)
    app.use((error: unknown, _: unknown, response: ExpressResponse, __: unknown) => {
      errors.push(error)
      response.status(500).send('framework')
    })
    return running(createServer(app), guard, errors)
  }
}

const fastifyStart: Start = async (pipeline, handler, options = {}) => {
  const errors: unknown[] = []
  const guard = forFastify.protect(pipeline, options as Parameters<typeof forFastify.protect>[1])
  const app = fastify({ forceCloseConnections: true })
  await app.register(guard)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_, body, done) => done(null, body))
  app.setErrorHandler((error, request, reply) => {
    try {
      guard.errors(error, request, reply)
    } catch (thrown) {
      errors.push(thrown)
      void reply.code(500).send('framework')
    }
  })
  app.all('/*', async (request, reply) => {
    const call = forFastify.callOf(request) as Call
    const {
      status = 200,
      headers = {},
      body = '',
    } = await handler(call, request.raw, (request.body as string | undefined) ?? '')
    return reply.code(status).headers(headers).send(body)
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { [Symbol.asyncDispose]: _, ...rest } = await running(app.server, guard, errors)
  return { ...rest, [Symbol.asyncDispose]: () => app.close() }
}

export const frameworks: readonly (readonly [string, Start])[] = [
  ['node:http', http],
  ['express 4', express(require('express4') as Express, 4)],
  ['express 5', express(require('express') as Express, 5)],
  ['fastify 5', fastifyStart],
]
