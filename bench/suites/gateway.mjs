// Server CPU per request. Every contender runs all the time and is loaded in turn; a round loads each of them once, and
// every other round goes backwards, so that a slow drift of the machine falls on both sides of each pair.
import { fileURLToPath } from 'node:url'
import { contenders, yardstick } from '../gateway/contenders.mjs'
import { onCore } from '../gateway/cores.mjs'
import { assertLinux, cpuSeconds } from '../gateway/cpu.mjs'
import { scrape } from '../gateway/scrape.mjs'
import { freePort, serve } from '../gateway/servers.mjs'
import { ask } from '../lib/children.mjs'
import { temporaryFolder } from '../lib/folders.mjs'
import { median, medianRun, spread } from '../lib/numbers.mjs'
import { budgetColumns } from '../lib/report.mjs'

const CONNECTIONS = 16
const MOST_REQUESTS = 1_000_000
const file = (path) => fileURLToPath(new URL(path, import.meta.url))

const ratio = ['CPU ratio', (row) => `${row.ratio.toFixed(2)}x`]
const range = ['spread', (row) => `${(row.spread * 100).toFixed(0)}%`]

export const gateway = {
  name: 'gateway',
  about: 'server CPU per proxied request: the gateway, a bare proxy with the same semantics, other proxies (Linux)',
  columns: [
    ['row', (row) => row.name],
    ['CPU us/request', (row) => (row.nsPerOp / 1000).toFixed(1)],
    ratio,
    range,
    ['requests/s', (row) => row.perSecond.toFixed(0)],
    ['p50 ms', (row) => row.p50Ms.toFixed(2)],
    ['p99 ms', (row) => row.p99Ms.toFixed(2)],
    ...budgetColumns,
  ],
  markdown: [
    ['row', (row) => row.name],
    ratio,
    range,
    ['throughput ratio', (row) => `${row.throughput.toFixed(2)}x`],
    ...budgetColumns,
  ],
  names: contenders.map(({ name }) => name),

  async run(names, { node, rounds = 6, seconds = 3 }, progress) {
    assertLinux('gateway')
    const wanted = contenders.filter(({ name }) => name === yardstick || names.includes(name))
    const servers = []
    try {
      const originPort = await freePort()
      servers.push(
        await serve('origin', node, [file('../gateway/origin.mjs'), originPort], { core: 1, port: originPort }),
      )
      const fields = []
      for (const contender of wanted) {
        const { name, scraped } = contender
        progress(`start: ${name}`)
        const port = await freePort()
        const spare = await freePort()
        const upstream = `http://127.0.0.1:${originPort}`
        const args = contender.args({ port, upstream, spare, folder: temporaryFolder() })
        const server = await serve(name, node, args, { core: 0, port })
        servers.push(server)
        fields.push({ name, port, metrics: scraped ? spare : undefined, pid: server.pid, runs: [] })
      }
      await race(fields, { node, rounds, seconds }, progress)
      return fields.map((field) => row(field, fields[0]))
    } finally {
      await Promise.all(servers.map((server) => server.stop()))
    }
  },
}

async function race(fields, { node, rounds, seconds }, progress) {
  for (const field of fields) {
    progress(`warm up: ${field.name}`)
    await load(field, node, Math.min(2, seconds))
  }
  for (let i = 1; i <= rounds; i++) {
    for (const field of i % 2 === 1 ? fields : [...fields].reverse()) {
      progress(`round ${i} of ${rounds}: ${field.name}`)
      field.runs.push(await load(field, node, seconds))
    }
  }
}

async function load({ name, port, metrics, pid }, node, seconds) {
  const order = { port, connections: CONNECTIONS, seconds, most: MOST_REQUESTS }
  const before = cpuSeconds(pid)
  const [command, args] = onCore(1, node, [file('../gateway/load.mjs'), JSON.stringify(order)])
  const scraped = metrics === undefined ? undefined : scrape(metrics)
  const run = await ask(command, args, { name: `load on ${name}`, withinMs: (seconds + 30) * 1000 })
  await scraped?.()
  const used = cpuSeconds(pid) - before
  if (run.errors > 0 || run.requests === 0) throw new Error(`${name}: ${run.errors} errors, ${run.requests} replies`)
  return { ...run, nsPerOp: (used * 1e9) / run.requests }
}

function row({ name, runs }, { runs: bare }) {
  const paired = runs.map((run, i) => ({ ...run, bareNsPerOp: bare[i].nsPerOp, ratio: run.nsPerOp / bare[i].nsPerOp }))
  const { nsPerOp, bareNsPerOp, ratio: share } = medianRun(paired, name === yardstick ? 'nsPerOp' : 'ratio')
  return {
    name,
    nsPerOp,
    bareNsPerOp,
    ratio: share,
    bytesPerOp: null,
    turns: null,
    spread: spread(paired.map((run) => (name === yardstick ? run.nsPerOp : run.ratio))),
    perSecond: median(runs.map((run) => run.perSecond)),
    throughput: median(runs.map((run, i) => run.perSecond / bare[i].perSecond)),
    p50Ms: median(runs.map((run) => run.p50Ms)),
    p99Ms: median(runs.map((run) => run.p99Ms)),
  }
}
