// Who stands between the load and the origin. `args` are what node is started with; the first one is the yardstick, and
// floodwall stands next to it so that the two are always measured one after the other.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { everything } from './everything.mjs'

const file = (path) => fileURLToPath(new URL(path, import.meta.url))
const cli = file('../../packages/cli/bin/floodwall.js')

export const yardstick = 'bare proxy'

function gateway(...args) {
  if (!existsSync(cli)) throw new Error(`no gateway at ${cli}`)
  return [cli, 'gateway', ...args]
}

/**
 * `spare` is another free port, `folder` an empty one. `scraped`: there are metrics on the spare port, and somebody reads them.
 *
 * @typedef {{ port: number, spare: number, upstream: string, folder: string }} Place
 * @type {{ name: string, scraped?: boolean, args(at: Place): (string | number)[] }[]}
 */
export const contenders = [
  {
    name: yardstick,
    args: ({ port, upstream }) => [file('../bare-proxy/server.mjs'), port, upstream],
  },
  {
    name: 'bare proxy, ticks kept fast',
    args: ({ port, upstream }) => [
      '--import',
      file('./keep-ticks.mjs'),
      file('../bare-proxy/server.mjs'),
      port,
      upstream,
    ],
  },
  {
    name: 'floodwall gateway',
    args: ({ port, upstream, spare }) =>
      // A machine that hiccups for 100 ms must not answer 504.
      gateway(
        ...['--listen', `127.0.0.1:${port}`, '--admin', `127.0.0.1:${spare}`, '--upstream', upstream],
        ...['--timeout', '2s'],
      ),
  },
  {
    name: 'floodwall gateway, everything on',
    scraped: true,
    args: (at) => gateway('--config', everything(at)),
  },
  {
    name: 'http-proxy, keep-alive agent',
    args: ({ port, upstream }) => [file('./http-proxy.mjs'), port, upstream],
  },
  {
    name: '@fastify/http-proxy',
    args: ({ port, upstream }) => [file('./fastify-http-proxy.mjs'), port, upstream],
  },
  {
    name: 'bare reply',
    args: ({ port }) => [file('./origin.mjs'), port],
  },
]
