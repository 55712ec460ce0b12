// Express, 4 or 5: one middleware in front of the routes, one for errors behind them.
import express from 'express'
import { breaker, bulkhead, pipeline, timeout } from 'floodwall'
import { protect } from 'floodwall/express'

const inventory = pipeline('inventory', [breaker({ consecutive: 2, openFor: '10s' })])
const stockOf = async () => {
  throw new Error('the inventory is down')
}

const door = pipeline('door', [bulkhead({ slots: 100 }), timeout({ after: '100ms' })])
const guard = protect(door, { exempt: ['/health'], ambient: true })

const app = express()
app.use(guard)
app.get('/health', (_, response) => void response.send('well'))
app.get('/stock', (_, response, next) => {
  void inventory.call(stockOf).then((stock) => response.json(stock), next)
})
app.get('/slow', (_, response) => void setTimeout(() => response.send('at last'), 200))
app.use(guard.errors)
app.use((error, _request, response, _next) => void response.status(500).send(`mine: ${error.message}`))

const server = await new Promise((resolve) => {
  const listening = app.listen(0, '127.0.0.1', () => resolve(listening))
})
const url = `http://127.0.0.1:${server.address().port}`

async function ask(path) {
  const answer = await fetch(url + path)
  const text = await answer.text()
  const wait = answer.headers.get('retry-after')
  const said = text.startsWith('{') ? `code ${JSON.parse(text).code}` : text
  console.log(`${path}: ${answer.status} ${said}${wait === null ? '' : `, again in ${wait} s`}`)
}

await ask('/health')
await ask('/stock')
await ask('/stock')
// The breaker is open: the refusal is answered as one, and not as a fault of ours.
await ask('/stock')
// The time is over, and so is the answer; what the handler still writes goes nowhere.
await ask('/slow')

const calls = /** @type {Record<string, number>} */ (door.inspect().calls)
console.log(`failed ${calls.failure}, too slow ${calls.timeout}, refused further in ${calls.ignored}`)
await guard.close()
server.close()
server.closeAllConnections()
