// node --test bench/test
// What the suite gateway-memory rests on: it refuses where its figures would mean nothing, and a transfer or a connection
// that failed is no figure. Real sockets on loopback.
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { overruns, wanted } from '../budgets.mjs'
import { assertLinux } from '../gateway/cpu.mjs'
import { connectionsUnder, limitIn } from '../gateway/memory/descriptors.mjs'
import { growthOf, residentIn } from '../gateway/memory/growth.mjs'
import { readSlowly } from '../gateway/memory/pace.mjs'
import { ask, Child } from '../lib/children.mjs'
import { parse, UsageError } from '../lib/usage.mjs'
import { gatewayMemory } from '../suites/gateway-memory.mjs'

const MB = 1024 * 1024
const script = (name) => fileURLToPath(new URL(`../gateway/memory/${name}`, import.meta.url))
const open = []

afterEach(async () => {
  for (const server of open.splice(0)) await new Promise((resolve) => server.close(resolve))
})

async function listen(answer) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => answer(socket))
  })
  open.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port
}

await test('refuses where there is no /proc, and says so', () => {
  assert.throws(
    () => assertLinux('gateway-memory', 'darwin'),
    /gateway-memory reads \/proc and needs Linux; this is darwin/,
  )
  assert.doesNotThrow(() => assertLinux('gateway-memory', 'linux'))
})

await test('reads the soft limit of open files', () => {
  const text = (soft) =>
    `Limit   Soft Limit   Hard Limit   Units\nMax processes   1   2   processes\nMax open files   ${soft}   1048576   files\n`
  assert.equal(limitIn(text('20000')), 20_000)
  assert.equal(limitIn(text('unlimited')), Number.POSITIVE_INFINITY)
  assert.throws(() => limitIn('Max processes   1   2   processes\n'), /does not tell/)
})

await test('takes as many connections as may be open, and refuses when they are too few', () => {
  assert.equal(connectionsUnder(Number.POSITIVE_INFINITY, 10_000), 10_000)
  assert.equal(connectionsUnder(10_512, 10_000), 10_000)
  assert.equal(connectionsUnder(4096, 10_000), 3584)
  assert.equal(connectionsUnder(1512, 10_000), 1000)
  assert.throws(() => connectionsUnder(1511, 10_000), /limit of open files is 1511: 1512 are the fewest.*ulimit -n/)
  assert.throws(() => connectionsUnder(256, 10_000), /limit of open files is 256/)
})

await test('takes the options of the other suites', () => {
  const suites = [gatewayMemory]
  const { suite, seconds, processes } = parse(['gateway-memory', '--seconds', '10', '--processes', '3'], suites)
  assert.deepEqual([suite, seconds, processes], [gatewayMemory, 10, 3])
  for (const wrong of ['0', '-1', '1.5', 'x', '10000']) {
    assert.throws(() => parse(['gateway-memory', '--seconds', wrong], suites), UsageError)
  }
  assert.throws(() => parse(['gateway-memroy'], suites), /no suite 'gateway-memroy': there are gateway-memory/)
})

await test('every row of the gateway has a budget, which is the limit and not above it', () => {
  const gateway = gatewayMemory.names.filter((name) => !name.includes(':'))
  assert.deepEqual(gateway, ['slow reader', 'slow upstream', 'idle connections'])
  for (const name of gateway) assert.notEqual(wanted(name), '')
  assert.deepEqual(overruns({ name: 'slow reader', growthBytes: 32 * MB }), [])
  assert.deepEqual(overruns({ name: 'slow reader', growthBytes: 32 * MB + 1 }), ['growth'])
  assert.deepEqual(overruns({ name: 'idle connections', bytesPerOp: 20_480 }), [])
  assert.deepEqual(overruns({ name: 'idle connections', bytesPerOp: 20_481 }), ['bytes'])
  assert.deepEqual(overruns({ name: 'slow upstream', growthBytes: Number.NaN }), ['growth'])
})

await test('resident memory is in kilobytes; a process that has ended has none', () => {
  assert.equal(residentIn('Name:\tnode\nVmHWM:\t  90000 kB\nVmRSS:\t   81920 kB\n'), 80 * MB)
  assert.throws(() => residentIn('Name:\tnode\nState:\tZ (zombie)\n'), /has ended/)
})

await test('growth is from before to the highest, also when that is at the end', async () => {
  const rising = [100, 130]
  const grown = await growthOf(
    1,
    async () => {},
    () => rising.shift(),
  )
  assert.deepEqual(grown, { beforeBytes: 100, growthBytes: 30 })
  let now = 100
  const peak = async () => {
    now = 170
    await new Promise((resolve) => setTimeout(resolve, 100))
    now = 120
  }
  assert.deepEqual(await growthOf(1, peak, () => now), { beforeBytes: 100, growthBytes: 70 })
})

await test('pauses a stream that is ahead of its time, and no other', () => {
  const paused = (bytes, bytesPerSecond) => {
    let pauses = 0
    const pause = () => pauses++
    const stream = Object.assign(new EventEmitter(), { pause, resume() {} })
    readSlowly(stream, bytesPerSecond, () => {})
    stream.emit('data', Buffer.alloc(bytes))
    return pauses
  }
  assert.equal(paused(1000, 10_000), 1)
  assert.equal(paused(1000, 1e9), 0)
})

await test('half an answer is no transfer', async () => {
  const port = await listen((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'))
  const order = JSON.stringify({ port, bytes: 100, bytesPerSecond: 1e6 })
  await assert.rejects(
    ask(process.execPath, [script('reader.mjs'), order], { name: 'reader' }),
    /ended after 4 of 100 bytes/,
  )
})

await test('nor is a refusal', async () => {
  const port = await listen((socket) => socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n'))
  const reader = [script('reader.mjs'), JSON.stringify({ port, bytes: 100, bytesPerSecond: 1e6 })]
  await assert.rejects(ask(process.execPath, reader, { name: 'reader' }), /502/)
  const sender = [script('sender.mjs'), JSON.stringify({ port, bytes: 100 })]
  await assert.rejects(ask(process.execPath, sender, { name: 'sender' }), /502/)
})

await test('connections are held until one of them is lost', async () => {
  const sockets = []
  const port = await listen((socket) => {
    sockets.push(socket)
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
  })
  const holder = new Child(process.execPath, [script('holder.mjs'), JSON.stringify({ port, connections: 40 })])
  try {
    const [line] = await once(holder.process.stdout, 'data')
    assert.deepEqual(JSON.parse(line), { open: 40 })
    assert.equal(sockets.length, 40)
    assert.equal(holder.ended, false)
    sockets[7].destroy()
    await once(holder.process, 'close')
    assert.match(holder.said, /a connection was lost with 40 of 40 open: the server closed it/)
  } finally {
    await holder.stop()
  }
})
