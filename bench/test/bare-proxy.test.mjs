// node --test bench/test
// The yardstick must be a correct proxy, or beating it would prove nothing. Real sockets on loopback.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request as send } from 'node:http'
import { connect } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import { afterEach, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { bareProxy } from '../bare-proxy/proxy.mjs'

const open = []

afterEach(async () => {
  for (const server of open.splice(0)) {
    server.closeAllConnections?.()
    await new Promise((resolve) => server.close(resolve))
  }
})

async function listen(server) {
  open.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server.address().port
}

async function pair(handler, options = {}) {
  const origin = await listen(createServer(handler))
  return listen(bareProxy({ upstream: `http://127.0.0.1:${origin}`, ...options }))
}

/** @param {import('node:http').RequestOptions & { body?: Buffer }} options */
async function fetchRaw(port, options = {}) {
  const request = send({ port, host: '127.0.0.1', agent: false, ...options })
  request.end(options.body)
  const [response] = await once(request, 'response')
  const chunks = []
  for await (const chunk of response) chunks.push(chunk)
  return {
    status: response.statusCode,
    headers: response.headers,
    raw: response.rawHeaders,
    body: Buffer.concat(chunks).toString(),
  }
}

await test('passes the message, keeps repeated lines, drops what is about the connection', async () => {
  let seen
  const port = await pair((request, response) => {
    seen = request.headers
    response.writeHead(201, [
      'Set-Cookie',
      'a=1',
      'Set-Cookie',
      'b=2',
      'Connection',
      'X-Hop, close',
      'X-Hop',
      'mine',
      'X-End',
      'yours',
      'Proxy-Authenticate',
      'Basic',
    ])
    response.end('made')
  })
  const { status, headers, body } = await fetchRaw(port, {
    path: '/a?b=c',
    headers: {
      connection: 'x-secret, keep-alive',
      'x-secret': '1',
      te: 'trailers',
      'x-forwarded-for': '6.6.6.6',
      forwarded: 'for=6.6.6.6',
      'proxy-authorization': 'Basic x',
      host: 'shop.example',
      accept: 'text/plain',
      expect: '100-continue',
    },
  })
  assert.deepEqual([status, body], [201, 'made'])
  assert.deepEqual(headers['set-cookie'], ['a=1', 'b=2'])
  assert.equal(headers['x-end'], 'yours')
  for (const gone of ['x-hop', 'proxy-authenticate']) assert.equal(headers[gone], undefined)
  for (const gone of ['x-secret', 'te', 'forwarded', 'proxy-authorization', 'expect'])
    assert.equal(seen[gone], undefined)
  assert.equal(seen.accept, 'text/plain')
  assert.equal(seen['x-forwarded-for'], '127.0.0.1')
  assert.equal(seen['x-forwarded-proto'], 'http')
  assert.equal(seen['x-forwarded-host'], 'shop.example')
})

await test('streams request bodies, with a length and without', async () => {
  const port = await pair(async (request, response) => {
    let length = 0
    for await (const chunk of request) length += chunk.length
    response.end(`${request.headers['content-length'] ?? 'chunked'} ${length}`)
  })
  const body = Buffer.alloc(3_000_000, 'x')
  assert.equal(
    (await fetchRaw(port, { method: 'PUT', headers: { 'content-length': body.length }, body })).body,
    '3000000 3000000',
  )
  assert.equal(
    (await fetchRaw(port, { method: 'POST', headers: { 'transfer-encoding': 'chunked' }, body })).body,
    'chunked 3000000',
  )
  assert.equal((await fetchRaw(port, { method: 'POST', headers: { 'content-length': 0 } })).body, '0 0')
})

await test('answers HEAD, 204 and 304 without a body', async () => {
  const port = await pair((request, response) => {
    response.writeHead(request.url === '/204' ? 204 : request.url === '/304' ? 304 : 200)
    response.end(request.method === 'HEAD' ? undefined : '')
  })
  assert.equal((await fetchRaw(port, { method: 'HEAD' })).status, 200)
  assert.equal((await fetchRaw(port, { path: '/204' })).status, 204)
  assert.equal((await fetchRaw(port, { path: '/304' })).status, 304)
})

await test('an event is not held back for the next one', async () => {
  const port = await pair((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: 1\n\n')
  })
  const request = send({ port, host: '127.0.0.1', agent: false }).end()
  const [response] = await once(request, 'response')
  const [chunk] = await once(response, 'data')
  assert.equal(chunk.toString(), 'data: 1\n\n')
  request.destroy()
})

await test('a slow reader slows the origin down', async () => {
  const chunks = 2000
  let written = 0
  const port = await pair((_request, response) => {
    const source = Readable.from(
      (function* () {
        for (; written < chunks; written++) yield Buffer.alloc(65_536)
      })(),
      { highWaterMark: 1 },
    )
    pipeline(source, response, () => {})
  })
  const socket = connect(port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(socket, 'readable')
  await pause(300)
  const stalled = written
  await pause(200)
  assert.equal(written, stalled)
  assert.ok(written < chunks)
  // Once it reads again, everything comes.
  let length = 0
  socket.on('data', (chunk) => {
    length += chunk.length
  })
  while (written < chunks) await pause(10)
  await pause(100)
  assert.ok(length > chunks * 65_536)
  socket.destroy()
})

await test('a client who leaves ends the call to the origin', async () => {
  let left
  const gone = new Promise((resolve) => {
    left = resolve
  })
  const port = await pair((_request, response) => response.on('close', left))
  const request = send({ port, host: '127.0.0.1', agent: false })
  request.on('error', () => {})
  request.end()
  await pause(50)
  request.destroy()
  await gone
})

await test('an origin that dies in the middle cuts the reply', async () => {
  const port = await pair((_request, response) => {
    response.writeHead(200, { 'content-length': 100 })
    response.write('half')
    setTimeout(() => response.destroy(), 30)
  })
  await assert.rejects(fetchRaw(port), /aborted/)
})

await test('502 when nobody listens, 504 when nobody answers', async () => {
  const nobody = await listen(bareProxy({ upstream: 'http://127.0.0.1:9' }))
  assert.equal((await fetchRaw(nobody)).status, 502)
  let left
  const gone = new Promise((resolve) => {
    left = resolve
  })
  const silent = await pair((_request, response) => response.on('close', left), { timeoutMs: 50 })
  assert.equal((await fetchRaw(silent)).status, 504)
  await gone
})

await test('refuses a request for something that is no path', async () => {
  const port = await pair((_request, response) => response.end())
  assert.equal((await fetchRaw(port, { path: 'http://elsewhere.example/' })).status, 400)
})
