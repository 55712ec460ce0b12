// A dependency turns slow for ten seconds, in virtual time: what do retries do to it, and which layers help?
import { breaker, bulkhead, retry, timeout } from 'floodwall'
import { Clients, exponential, poisson, Server, World } from 'floodwall/simulator'

const breakerAndSlots = () => [breaker({ openFor: '1s' }), bulkhead({ slots: 40 }), timeout({ after: '1s' })]

const ways = [
  { name: 'nothing, nobody tries again', retries: 0, layers: [] },
  { name: 'nothing, 3 retries each', retries: 3, layers: [] },
  { name: 'timeout, 3 retries each', retries: 3, layers: [timeout({ after: '500ms' })] },
  { name: 'breaker, bulkhead, 3 retries each', retries: 3, layers: breakerAndSlots() },
  { name: 'floodwall retries within a budget', retries: 0, layers: [retry({ attempts: 4 }), ...breakerAndSlots()] },
]

const LEVELS = ' ▁▂▃▄▅▆▇█'

/** A line of blocks, one for each two seconds. */
function sparkline(series, most) {
  const pairs = series.filter((_, i) => i % 2 === 0).map((n, i) => (n + (series[2 * i + 1] ?? n)) / 2)
  return pairs.map((n) => LEVELS[Math.min(8, Math.ceil((n / most) * 8))]).join('')
}

const rows = ways.map(({ name, retries, layers }) => {
  const world = new World({ seed: 7 })
  const stock = new Server(world, 'stock', {
    workers: 10,
    service: exponential('100ms'), // 100 calls a second, and no more
    faults: [
      { from: '20s', slow: 10 },
      { from: '30s', well: true },
    ],
  })
  const shop = new Clients(world, 'shop', {
    ...{ to: stock, through: layers, arrivals: poisson(80) },
    ...{ patience: '1.2s', retries, backoff: { first: '50ms' } },
  })
  world.run('60s')
  return { name, load: stock.report(), lived: shop.report() }
})

console.log('80 customers a second, a server for 100; ten times as slow from 20 s to 30 s\n')
console.log(`${'answers a second'.padEnd(36)}${'0 s'.padEnd(10)}20 s 30 s           60 s  answered  p99 ms  in vain`)
for (const { name, load, lived } of rows) {
  const share = `${((100 * lived.success) / lived.begun).toFixed(0)} %`
  const numbers = [share.padStart(8), lived.latency.p99.toFixed(0).padStart(6), String(load.wasted).padStart(7)]
  console.log(`${name.padEnd(36)}${sparkline(lived.series.success, 100)}  ${numbers.join('  ')}`)
}
console.log('\ncalls a second at the server')
for (const { name, load } of rows) console.log(`${name.padEnd(36)}${sparkline(load.series.arrived, 320)}`)
