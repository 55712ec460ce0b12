// A client of two servers: one breaks, is isolated, is repaired, and comes back; no caller notices.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { Cluster, envOf, retry, systemRuntime, timeout } from 'floodwall'
import { checks, client, discover, fixed } from 'floodwall/client'

let broken = false

/** @param {import('node:http').RequestListener} handler */
async function serve(handler) {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { id: `127.0.0.1:${port}`, server }
}

const servers = [
  await serve((_, response) => response.end('hello from the steady one')),
  await serve((_, response) => response.writeHead(broken ? 500 : 200).end('hello from the other one')),
]
// What becomes of the endpoints is told where the cluster is made.
const emit = (event) => {
  if (event.type === 'state') console.log(`  ${event.path}: ${event.from} -> ${event.to}, ${event.why}`)
}
const cluster = new Cluster(
  { slowStart: 0, picker: 'roundRobin', isolatedAlways: 1, isolation: { consecutive: 3, openFor: '300ms' } },
  envOf({ ...systemRuntime, emit }, 'shop'),
)
const feed = discover(cluster, fixed(servers.map(({ id }) => id)))
const looking = checks(cluster, { kind: 'http', path: '/', interval: '100ms', timeout: '2s' })

// A GET that fails is tried again, at the other server. Without a list of layers an attempt would have 100 ms.
const shop = client('shop', cluster, [retry(), timeout({ after: '2s' })])

async function ask(times) {
  const seen = {}
  for (let i = 0; i < times; i++) {
    const response = await shop.fetch('/')
    const text = `${response.status} ${await response.text()}`
    seen[text] = (seen[text] ?? 0) + 1
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  console.log(seen)
}

console.log('both are well')
await ask(20)
broken = true
console.log('the other one breaks')
await ask(40)
broken = false
console.log('it is repaired')
await ask(120)

feed.close()
looking.close()
await shop.close()
for (const { server } of servers) server.close()
