// Who stands before the handlers. A contender's `open` is given the library, what the handler does (`run`, which may return a promise) and a
// port; it listens, and may return something to look into. `bare` is the one without a guard on the same framework: what its peak is, is the
// peak of those who stand on it. Imports are lazy: listing the rows must need no build.
import { once } from 'node:events'
import { createServer } from 'node:http'

const HOST = '127.0.0.1'

const plain = (run) => (_request, response) => {
  const end = () => response.end('done')
  const result = run()
  // As an async function would.
  if (result instanceof Promise) return result.then(end)
  end()
}

async function listening(port, onRequest, server = createServer()) {
  server.on('request', onRequest)
  // Connections that are kept must not be closed under a client that has paused.
  server.keepAliveTimeout = 60_000
  await once(server.listen(port, HOST), 'listening')
}

async function app() {
  const { fastify } = await import('fastify')
  return fastify({ keepAliveTimeout: 60_000 })
}

async function open(server, run, port) {
  server.get('/', (_request, reply) => {
    const result = run()
    return result instanceof Promise ? result.then(() => 'done') : reply.send('done')
  })
  await server.listen({ port, host: HOST })
}

const guarded = (layers) => async (library, handler, port) => {
  const { protect } = await library.adapter('http')
  const server = createServer()
  const guard = protect(library.pipeline('api', layers(library, handler)), plain(handler.run), { connections: server })
  await listening(port, guard, server)
  return guard
}

/** @type {{ name: string, bare: string, open(library: any, handler: { run(): unknown, slots: number }, port: number): Promise<any> }[]} */
export const contenders = [
  {
    name: 'nothing',
    bare: 'nothing',
    open: (_library, { run }, port) => listening(port, plain(run)),
  },
  {
    name: 'nothing, fastify',
    bare: 'nothing, fastify',
    open: async (_library, { run }, port) => open(await app(), run, port),
  },
  {
    // As its own documentation shows it, without the limits of memory.
    name: 'under-pressure, fastify',
    bare: 'nothing, fastify',
    async open(_library, { run }, port) {
      const server = await app()
      const { default: underPressure } = await import('@fastify/under-pressure')
      await server.register(underPressure, { maxEventLoopDelay: 1000, maxEventLoopUtilization: 0.98 })
      await open(server, run, port)
    },
  },
  {
    // With its own defaults: 42 ms of delay.
    name: 'overload-protection',
    bare: 'nothing',
    async open(_library, { run }, port) {
      const { default: overloadProtection } = await import('overload-protection')
      const guard = overloadProtection('http', { production: true })
      const listener = plain(run)
      await listening(port, (request, response) => {
        if (guard(request, response) !== true) void listener(request, response)
      })
    },
  },
  {
    name: 'fixed limit',
    bare: 'nothing',
    open: guarded(({ bulkhead, queue }, { slots }) => [queue({ size: slots, atMost: '100ms' }), bulkhead({ slots })]),
  },
  {
    name: 'floodwall',
    bare: 'nothing',
    open: guarded(({ overload }) => [overload()]),
  },
  {
    name: 'floodwall, fastify',
    bare: 'nothing, fastify',
    async open(library, { run }, port) {
      const { protect } = await library.adapter('fastify')
      const server = await app()
      const guard = protect(library.pipeline('api', [library.overload()]), { connections: server.server })
      await server.register(guard)
      await open(server, run, port)
      return guard
    },
  },
]
