// Servers in processes of their own, started and known to answer.
import { createServer, get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Child } from '../lib/children.mjs'
import { onCore } from './cores.mjs'

const READY_MS = 15_000

/** Starts `node ...args` on a core and waits until `port` answers 200. */
export async function serve(name, node, args, { core, port }) {
  const [command, list] = onCore(core, node, args.map(String))
  const server = new Child(command, list)
  server.process.stdout.resume()
  const until = Date.now() + READY_MS
  while (!(await answers(port))) {
    if (server.ended) throw new Error(`${name}: ended with status ${server.process.exitCode}\n${server.said}`)
    if (Date.now() > until) throw new Error(`${name}: no 200 on port ${port} within ${READY_MS} ms\n${server.said}`)
    await pause(50)
  }
  return server
}

function answers(port) {
  return new Promise((resolve) => {
    const request = get({ port, host: '127.0.0.1', path: '/', agent: false, timeout: 1000 }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
  })
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  await new Promise((resolve) => server.close(resolve))
  return port
}
