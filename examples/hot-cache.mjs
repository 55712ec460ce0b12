// A flash sale: one item of a shop is suddenly hot. What reaches the database, with and without a cache for hot keys?
import { hotKeys, pipeline } from 'floodwall'
import { admin } from 'floodwall/admin'
import { hotCache, localBroadcast } from 'floodwall/caches'

let questions = 0
const stock = new Map([['phone', 7]])

async function database(id, signal) {
  questions++
  await new Promise((resolve) => setTimeout(resolve, 5))
  signal.throwIfAborted()
  return stock.get(id) ?? 0
}

// The layer looks, tells and refuses nobody.
const watch = pipeline('items', [hotKeys({ share: 0.2 })])

async function crowd(ask) {
  questions = 0
  for (let wave = 0; wave < 20; wave++) {
    const visitors = Array.from({ length: 100 }, (_, i) => (i % 4 === 0 ? `item ${wave * 100 + i}` : 'phone'))
    await Promise.all(visitors.map((key) => watch.call(({ signal }) => ask(key, signal), { key })))
  }
  return questions
}

console.log(`without: ${await crowd(database)} questions to the database for 2000 visitors`)

const broadcast = localBroadcast() // of one process; the place of a message bus between several
const open = () =>
  hotCache({ load: (id, { signal }) => database(id, signal), ttl: '10s', stale: '1m', name: 'items', broadcast })
const [here, there] = [open(), open()]

console.log(`with: ${await crowd((key, signal) => here.get(key, { signal }))}, 500 of them for items that are not hot`)

const [{ keys }] = /** @type {any} */ (watch.inspect().layers)
console.log(
  `hot: ${keys.filter(({ hot }) => hot).map(({ key, share }) => `${key}, ${Math.round(share * 100)} % of all`)}`,
)

// Before the next sale an operator warms the other process, as with curl.
const operators = admin({ loopbackOnly: true, caches: { items: there } })
const address = await operators.listen({ port: 0 })
const order = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"keys":["phone"]}' }
await fetch(`${address}/caches/items/warm`, order)
await operators.close()

// A sale changes the stock: every process forgets it.
stock.set('phone', 6)
console.log(`there, before: ${await there.get('phone')} left`)
here.invalidate('phone')
console.log(`there, after: ${await there.get('phone')} left`)

const { hits, loads, coalesced } = here.inspect()
console.log('here:', { hits, coalesced, loads })
here.close()
there.close()
