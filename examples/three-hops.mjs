// Three processes, A -> B -> C: each is told what really remains of a second, inherits the criticality, and stops when the caller leaves.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Cluster, deadline, envOf, pipeline, systemRuntime, timeout } from 'floodwall'
import { client } from 'floodwall/client'
import { protect } from 'floodwall/http'

const [, , hop, nextPort] = process.argv
const spends = { A: 300, B: 100, C: 100 } // milliseconds
const layers = [deadline({ within: '10s' }), timeout({ after: '10s' })]

function clientOf(port) {
  const cluster = new Cluster({}, envOf(systemRuntime, `port ${port}`))
  cluster.update([{ id: `127.0.0.1:${port}` }])
  return client(`to port ${port}`, cluster, layers)
}

/** A process: works a while, C for a minute where that is asked for, and calls the next one on behalf of its caller. */
function serve() {
  const next = nextPort === undefined ? undefined : clientOf(nextPort)
  const handler = async (request, response, call) => {
    const { url = '/' } = request
    const { signal, remainingMs, criticality } = call
    if (url !== '/warm-up') console.log(`${hop}: ${Math.round(remainingMs)} ms left, ${criticality}`)
    signal.addEventListener('abort', () => console.log(`${hop} stops`))
    await sleep(url === '/minute' && next === undefined ? 60_000 : spends[hop], undefined, { signal })
    const answer = await next?.fetch(url, { parent: call })
    response.end(`${hop} ${(await answer?.text()) ?? ''}`)
  }
  const trust = ['127.0.0.1'] // Of strangers nothing is believed.
  const server = createServer(protect(pipeline(hop, layers), handler, { trust }))
  server.listen(0, '127.0.0.1', () => process.send(Object(server.address()).port))
  process.on('disconnect', () => process.exit())
}

async function drive() {
  const children = []
  let port
  for (const name of ['C', 'B', 'A']) {
    children.push(fork(fileURLToPath(import.meta.url), [name, ...(port === undefined ? [] : [String(port)])]))
    port = (await once(children.at(-1), 'message'))[0]
  }
  const caller = clientOf(port)
  await (await caller.fetch('/warm-up')).text()
  const answer = await caller.fetch('/', { within: 1000, criticality: 'sheddable' })
  console.log('answered by', await answer.text())

  await caller.fetch('/minute', { signal: AbortSignal.timeout(1500) }).catch(() => console.log('the caller leaves'))
  await sleep(500)
  for (const child of children) child.disconnect()
  await caller.close()
}

await (hop === undefined ? drive() : serve())
