// What protection costs that has nothing to do: added to a request in process, and to the CPU of a server that says hello.
import { fileURLToPath } from 'node:url'
import { freePort, serve } from '../../gateway/servers.mjs'
import { ask } from '../../lib/children.mjs'
import { median, medianRun, spread } from '../../lib/numbers.mjs'
import { generate } from './staircase.mjs'

const CONNECTIONS = 16
const MOST_SECONDS = 30
const file = (name) => fileURLToPath(new URL(name, import.meta.url))

/** In one process: nanoseconds that are added. */
export const added = [
  { name: 'overload decision', row: 'decision' },
  { name: 'overload, protect and signals: added to a request', row: 'stack' },
]

/** Two servers that say hello, one of them protected. */
export const hello = [
  { name: 'hello over node:http, CPU with overload', bare: 'nothing', contender: 'floodwall' },
  { name: 'hello over fastify, CPU with overload', bare: 'nothing, fastify', contender: 'floodwall, fastify' },
]

export async function addedNs({ name, row }, { node, floodwall, rounds, processes }, progress) {
  const runs = []
  for (let i = 1; i <= processes; i++) {
    progress(`process ${i} of ${processes}: ${name}`)
    runs.push(await ask(node, [file('cost-child.mjs'), JSON.stringify({ row, rounds, floodwall })], { name }))
  }
  const difference = runs.map((run) => ({ ...run, nsPerOp: run.nsPerOp - run.bareNsPerOp, withNs: run.nsPerOp }))
  const noisy = runs.filter((run) => run.noisy).length > runs.length / 2
  return { name, ...medianRun(difference, 'nsPerOp'), spread: spread(difference.map((run) => run.nsPerOp)), noisy }
}

/** Each round loads both with the same number of requests; every other round goes backwards. */
export async function cpuRatio({ name, bare, contender }, { node, floodwall, rounds, requests }, progress) {
  const servers = []
  try {
    for (const who of [bare, contender]) {
      const port = await freePort()
      const order = { contender: who, handler: 'hello', perMs: 0, port, floodwall }
      const server = await serve(who, node, [file('server.mjs'), JSON.stringify(order)], { core: 0, port })
      servers.push({ who, port, server, used: [] })
    }
    for (const field of servers) await load(field, node, requests)
    for (let i = 1; i <= rounds; i++) {
      progress(`round ${i} of ${rounds}: ${name}`)
      for (const field of i % 2 === 1 ? servers : servers.toReversed()) {
        field.used.push(await load(field, node, requests))
      }
    }
    const [without, guarded] = servers.map(({ used }) => used)
    const ratios = guarded.map(({ each }, i) => each / without[i].each)
    const ns = (runs) => median(runs.map(({ each }) => each)) * 1e9
    return {
      ...{ name, ratio: median(ratios), nsPerOp: ns(guarded), bareNsPerOp: ns(without), spread: spread(ratios) },
      ...{ noisy: false, refused: median(guarded.map(({ refused }) => refused)) },
    }
  } finally {
    await Promise.all(servers.map(({ server }) => server.stop()))
  }
}

/** CPU seconds of a request, and the share that was refused: nobody should be. */
async function load({ port, server }, node, answers) {
  const phase = {
    ...{ name: 'hello', connections: CONNECTIONS, settleMs: 100, measureMs: MOST_SECONDS * 1000, answers },
    awake: true,
  }
  const { phases } = await generate(server, port, { most: CONNECTIONS, phases: [phase] }, node)
  const [{ good, late, refused, cpuSeconds }] = phases
  const all = good + late + refused
  return { each: cpuSeconds / all, refused: refused / all }
}
