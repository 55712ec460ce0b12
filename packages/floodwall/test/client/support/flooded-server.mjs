// A server in a process of its own: four requests at once, 80 ms each, behind overload() with room for a busy machine; its counts on /counts.
import { createServer } from 'node:http'
import { overload, pipeline } from 'floodwall'
import { protect } from 'floodwall/http'

const counts = { arrived: 0, done: 0 }
let free = 4
const line = []
const guard = protect(
  pipeline('api', [overload({ target: '400ms' })]),
  async (request, response) => {
    if (request.url === '/counts') return void response.end(JSON.stringify(counts))
    if (free === 0) await new Promise((resolve) => line.push(resolve))
    else free--
    await new Promise((resolve) => setTimeout(resolve, 80))
    if (line.length > 0) line.shift()()
    else free++
    counts.done++
    response.end('done')
  },
  { trust: ['127.0.0.1'], exempt: ['/counts'] },
)
const server = createServer((request, response) => {
  if (request.url !== '/counts') counts.arrived++
  guard(request, response)
})
server.listen(0, '127.0.0.1', () =>
  process.send?.(/** @type {import('node:net').AddressInfo} */ (server.address()).port),
)
