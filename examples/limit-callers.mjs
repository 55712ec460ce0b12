// Each caller of a server has a limit of his own: by the key of an API, or by the address that the proxy in front names.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { keyed, pipeline, rateLimit } from 'floodwall'
import { protect } from 'floodwall/http'
import { byAddress, byHeader, firstOf } from 'floodwall/server'

// Sixty an hour, two of them at once.
const api = pipeline('api', [keyed({ of: rateLimit({ rate: 60, per: '1h', burst: 2 }), max: 10_000 })])
const guard = protect(api, (_, response) => void response.end('hello'), {
  // Whoever is asked through 127.0.0.1 is known by what that says of him, and nobody else's word counts.
  key: firstOf(byHeader('x-api-key'), byAddress({ proxies: ['127.0.0.1'], v6Prefix: 64 })),
})

const server = createServer(guard)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
const url = `http://127.0.0.1:${port}`

/**
 * @param {string} who
 * @param {Record<string, string>} headers
 */
async function ask(who, headers) {
  const answer = await fetch(url, { headers })
  await answer.text()
  const after = answer.headers.get('retry-after')
  const again = after === null ? '' : `, again in ${after} s`
  console.log(`${who}: ${answer.status}, RateLimit ${answer.headers.get('ratelimit')}${again}`)
}

for (let i = 0; i < 3; i++) await ask('a key', { 'x-api-key': 'k1' })
await ask('another key', { 'x-api-key': 'k2' })
// A site of IPv6 has 2^64 addresses, and one limit.
for (let i = 1; i <= 3; i++) await ask('a site of IPv6', { 'x-forwarded-for': `2001:db8::${i}` })
await ask('its neighbour', { 'x-forwarded-for': '2001:db8:0:1::1' })
// What a client writes itself stands left of what the proxy adds.
for (let i = 1; i <= 3; i++) await ask('who invents addresses', { 'x-forwarded-for': `6.6.6.${i}, 192.0.2.7` })

await guard.close()
server.close()
server.closeAllConnections()
