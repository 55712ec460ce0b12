// A server of node:http behind a pipeline: what is too much is told so, who has no time left is not worked for, and it drains.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { bulkhead, deadline, pipeline, queue } from 'floodwall'
import { protect } from 'floodwall/http'

const database = pipeline('database', [deadline({ within: '2s', margin: 10 })])
const query = () =>
  // Nobody passes the request along: that is the ambient context.
  database.call(
    ({ signal, remainingMs }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        setTimeout(() => resolve(`with ${remainingMs > 1000 ? 'plenty of time' : 'little time'}`), 50)
      }),
  )

const door = pipeline('door', [queue({ size: 2, atMost: '200ms' }), bulkhead({ slots: 2 })])
const guard = protect(
  door,
  async (_, response) => {
    response.end(await query())
  },
  { trust: ['127.0.0.1'], within: '5s', ambient: true },
)

const server = createServer(guard)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
const url = `http://127.0.0.1:${port}`

async function ask(name, headers = {}) {
  const answer = await fetch(url, { headers })
  const text = await answer.text()
  console.log(`${name}: ${answer.status} ${answer.ok ? text : JSON.parse(text).code}`)
}

console.log('two at once, two in the queue, and the fifth is told')
await Promise.all([1, 2, 3, 4, 5].map((n) => ask(`request ${n}`)))

console.log('a caller who is trusted says how long it waits')
await ask('waits 500 ms', { 'x-floodwall-timeout-ms': '500' })
await ask('waits 30 ms', { 'x-floodwall-timeout-ms': '30' })

console.log('drain')
const last = ask('the last one')
setTimeout(() => void guard.close().then(() => server.close()), 10)
setTimeout(() => void ask('too late').catch(() => {}), 20)
await last
