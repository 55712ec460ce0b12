// node server.mjs '{"contender": NAME, "handler": NAME, "perMs": UNITS, "port": P, "floodwall": FILE, "pauseMs": MS}'
// One server in a process of its own, whose loop stands still for `pauseMs` once a second. SIGUSR2 makes its work five times slower, and the next one as fast as before; SIGHUP writes what its
// guard knows to stderr.
import { pathToFileURL } from 'node:url'
import { floodwall } from '../../hot/floodwall.mjs'
import { contenders } from './contenders.mjs'
import { handlers, warmUp } from './work.mjs'

const SLOW = 5

const order = JSON.parse(process.argv[2])
const { make, slots } = handlers[order.handler]
const task = make(order.perMs)
let slower = 1
warmUp(order.perMs)
const { open } = contenders.find(({ name }) => name === order.contender)
/** An adapter from the same build. */
const adapter = (name) => {
  const { floodwall: file } = order
  return import(
    file === undefined ? `floodwall/${name}` : new URL(`adapters/${name}/index.js`, pathToFileURL(file)).href
  )
}
const library = { ...(await floodwall(order.floodwall)), adapter }
const guard = await open(library, { run: () => task(slower), slots }, order.port)

process.on('SIGUSR2', () => {
  slower = slower === 1 ? SLOW : 1
})
process.on('SIGHUP', () => process.stderr.write(`${JSON.stringify(guard?.inspect() ?? null)}\n`))

function standStill() {
  const until = performance.now() + order.pauseMs
  while (performance.now() < until);
}
if (order.pauseMs > 0) setInterval(standStill, 1000)
