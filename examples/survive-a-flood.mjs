// A server that can do 50 requests a second gets 200: with one line of middleware it does its best, the important ones first.
import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import { overload, pipeline } from 'floodwall'
import { protect } from 'floodwall/http'

/** Four things at once, 80 ms each, like a small pool of connections to a database. Who waits, waits in line. */
function shop() {
  let free = 4
  const line = []
  return async (_, response) => {
    if (free === 0) await new Promise((resolve) => line.push(resolve))
    else free--
    await new Promise((resolve) => setTimeout(resolve, 80))
    if (line.length > 0) line.shift()()
    else free++
    response.end('sold')
  }
}

// The one line. Who is trusted may say how much a request matters.
const guard = protect(pipeline('shop', [overload()]), shop(), { trust: ['127.0.0.1'] })

const CLASSES = ['CRITICAL', 'SHEDDABLE_PLUS', 'SHEDDABLE']
const PATIENCE_MS = 500
const ofClass = (i) => CLASSES[i % 8 === 0 ? 0 : 1 + (i % 2)]

/** Asks 200 times a second for five seconds; an answer that comes too late is of no use to anybody. */
async function flood(listener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const agent = new Agent({ keepAlive: true })
  const [times, refused] = [[], Object.fromEntries(CLASSES.map((name) => [name, 0]))]
  /** @type {Promise<void>[]} */
  const asked = []
  const ask = async (name) => {
    const sent = request({ port, agent, headers: { 'x-floodwall-criticality': name }, timeout: 3000 })
    const began = performance.now()
    sent.on('timeout', () => sent.destroy()).end()
    const [response] = await once(sent, 'response')
    await once(response.resume(), 'end')
    if (response.statusCode === 200) times.push(performance.now() - began)
    else refused[name]++
  }
  const start = performance.now()
  for (let due = 0; due < 1000; await new Promise((next) => setTimeout(next, 5)))
    for (; due < (performance.now() - start) * 0.2; due++) asked.push(ask(ofClass(due)).catch(() => {}))
  await Promise.all(asked)
  agent.destroy()
  server.close()
  const p99 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0
  const good = times.filter((took) => took <= PATIENCE_MS).length
  return { offered: asked.length, good, p99: `${Math.round(p99)} ms`, ...refused }
}

console.table({ nothing: await flood(shop()), 'overload()': await flood(guard) })
