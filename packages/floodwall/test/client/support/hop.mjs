// A service in a process of its own, on the built package: protected, and calling the next one on behalf of its caller.
// node hop.mjs '{"name": "B", "next": PORT | null, "spends": MS, "retries": true | false}'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, deadline, envOf, pipeline, retry, systemRuntime, timeout } from 'floodwall'
import { client } from 'floodwall/client'
import { protect } from 'floodwall/http'

const { name, next, spends, retries } = JSON.parse(process.argv[2])
let arrived = 0
const seen = []

function onward(port) {
  const cluster = new Cluster({ slowStart: 0 }, envOf(systemRuntime, 'next'))
  cluster.update([{ id: `127.0.0.1:${port}` }])
  const layers = retries ? [deadline({ within: '20s' }), retry()] : [deadline({ within: '20s' })]
  return client('next', cluster, [...layers, timeout({ after: '20s' })])
}

const after = next === null ? undefined : onward(next)

/** `/wait`: the last one never answers by itself; `/fail`: it always fails, at once. */
async function handle({ url, headers }, response, call) {
  arrived++
  const { signal, remainingMs, criticality, attempt } = call
  const told = headers['x-floodwall-timeout-ms']
  if (url !== '/fail') seen.push({ remainingMs, criticality, told })
  if (url === '/wait') process.send({ began: name })
  signal.addEventListener('abort', () => process.send({ stopped: name, reason: String(signal.reason) }))
  if (url === '/fail') return fail(response, call, attempt)
  await sleep(url === '/wait' && after === undefined ? 600_000 : spends, undefined, { signal })
  const answer = await after?.fetch(url, { parent: call })
  response.end(`${name}${(await answer?.text()) ?? ''}`)
}

async function fail(response, call) {
  if (after === undefined) return response.writeHead(500).end('broken')
  const answer = await after.fetch('/fail', { parent: call })
  await answer.text()
  // Whoever has tried again already says so to its caller: what it was given up with stands behind the error.
  throw new Error(`the next one answered with ${answer.status}`, { cause: answer })
}

const layers = [deadline({ within: '20s' })]
const listen = protect(pipeline(name, layers), handle, { trust: ['127.0.0.1'] })
const server = createServer((request, response) => void listen(request, response).catch(() => {}))
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))

process.on('message', () => {
  process.send({ report: { arrived, seen, running: listen.inspect().running, client: after?.inspect() ?? null } })
})
process.on('disconnect', () => process.exit())
