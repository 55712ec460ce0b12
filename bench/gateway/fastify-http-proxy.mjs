// node fastify-http-proxy.mjs PORT UPSTREAM
import proxy from '@fastify/http-proxy'
import fastify from 'fastify'

const [port, upstream] = process.argv.slice(2)
const server = fastify({ keepAliveTimeout: 60_000 })
await server.register(proxy, { upstream, prefix: '/' })
await server.listen({ port: Number(port), host: '127.0.0.1' })
