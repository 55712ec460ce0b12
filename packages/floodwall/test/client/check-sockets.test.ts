import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { Cluster, envOf, systemRuntime } from 'floodwall'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { checkHttp } from '../../src/client/check-http.ts'
import { checkTcp } from '../../src/client/check-tcp.ts'
import { checks } from '../../src/client/index.ts'
import { faultOf } from '../../src/client/prober.ts'
import { deadPort, http, type Running, tcp } from './support/servers.ts'

/** What the check comes to: 'well', or its fault. */
async function outcome(check: unknown): Promise<string> {
  try {
    await check
    return 'well'
  } catch (error) {
    return faultOf(error)
  }
}

const never = new AbortController().signal

/** What `GET /health` of a server comes to, and that no connection is left. */
async function ask(server: Running, maxBody = 1024, signal = never): Promise<string> {
  const result = await outcome(checkHttp('/health', maxBody)({ id: server.id }, signal))
  await vi.waitFor(() => expect(server.connections()).toBe(0), 10_000)
  return result
}

describe('http', () => {
  const answers: [string, RequestListener, string][] = [
    ['200', (_, res) => res.end('ok'), 'well'],
    ['204', (_, res) => res.writeHead(204).end(), 'well'],
    ['299 without a body', (_, res) => res.writeHead(299).end(), 'well'],
    ['404', (_, res) => res.writeHead(404).end('no'), 'status 404'],
    ['500 with an endless body', (_, res) => void res.writeHead(500).write('x'), 'status 500'],
    ['103 and then 200', (_, res) => (res.writeEarlyHints({ link: '</a>' }), res.end()), 'well'],
    ['nothing', (_, res) => res.destroy(), 'ECONNRESET'],
    [
      'half a body',
      (_, res) => (res.writeHead(200, { 'content-length': 9 }).write('x'), setImmediate(() => res.destroy())),
      'ECONNRESET',
    ],
  ]
  test.each(answers)('%s', async (_, handler, expected) => {
    expect(await ask(await http(handler))).toBe(expected)
  })

  test('the request: its path, on a connection that is closed after it, and no content', async () => {
    const seen: unknown[] = []
    const server = await http((req, res) => {
      seen.push([req.method, req.url, req.headers.connection, req.headers.host, req.headers['user-agent']])
      res.end()
    })
    await ask(server)
    expect(seen).toEqual([['GET', '/health', 'close', server.id, 'floodwall-check']])
  })

  test('a redirect is not followed', async () => {
    let followed = 0
    const server = await http((req, res) => {
      if (req.url !== '/health') followed++
      res.writeHead(302, { location: '/elsewhere' }).end()
    })
    expect(await ask(server)).toBe('status 302')
    expect(followed).toBe(0)
  })

  test('of an endless body it reads so much as it was told to, and closes the connection', async () => {
    let sent = 0
    const server = await http((_, res) => {
      const more = () => {
        while (!res.destroyed && res.write(Buffer.alloc(1000))) sent += 1000
        if (!res.destroyed) setImmediate(more)
      }
      more()
    })
    expect(await ask(server, 64_000)).toBe('well')
    expect(sent).toBeGreaterThan(0)
  })

  test.each<[string, RequestListener]>([
    ['no head', () => {}],
    ['no end of the body', (_, res) => void res.writeHead(200).write('x')],
  ])('%s: it waits until it is told to stop', async (_, handler) => {
    const server = await http(handler)
    const controller = new AbortController()
    server.server.on('request', () => setTimeout(() => controller.abort(), 20))
    expect(await ask(server, 1024, controller.signal)).not.toBe('well')
  })

  test('what is not HTTP, and headers without end', async () => {
    expect(await ask(await tcp((socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n')))).toMatch(/^HPE_/)
    const flood = await tcp((socket: Socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const more = () => {
        while (!socket.destroyed && socket.write(`x-${'y'.repeat(500)}: z\r\n`));
      }
      socket.on('drain', more)
      more()
    })
    expect(await ask(flood)).toMatch(/HEADER|HPE/)
  })
})

test('an address that is none, and a port where nobody listens', async () => {
  for (const check of [checkTcp, checkHttp('/', 1)]) {
    expect(await outcome(check({ id: 'http://host/with/a/path' }, never))).toBe('ERR_INVALID_URL')
    expect(await outcome(check({ id: 'a', address: `127.0.0.1:${await deadPort()}` }, never))).toBe('ECONNREFUSED')
  }
})

test('tcp: a connection is enough, and it is closed', async () => {
  const server = await tcp(() => {})
  expect(await outcome(checkTcp({ id: server.id }, never))).toBe('well')
  await vi.waitFor(() => expect(server.connections()).toBe(0), 10_000)
})

test('tcp: it ends when it is told to', async () => {
  const controller = new AbortController()
  // 192.0.2.0/24 is nobody's: either there is no way, or no answer.
  const check = outcome(checkTcp({ id: '192.0.2.1:9' }, controller.signal))
  controller.abort()
  expect(await check).not.toBe('well')
})

test('a server that stops and starts again: out, and back after its checks and a probe', async () => {
  let well = true
  const server = await http((_, res) => res.writeHead(well ? 200 : 503).end())
  const isolation = { openFor: '20ms', openAtMost: '50ms', probes: 1 } as const
  const cluster = new Cluster({ isolation }, envOf(systemRuntime, 'shop'))
  cluster.update([{ id: server.id }])
  const active = checks(cluster, { kind: 'http', interval: '10ms', rise: 2, fall: 2 })
  onTestFinished(() => active.close())
  const state = () => cluster.members[0]?.breaker.state()
  well = false
  await vi.waitFor(() => expect(state()).toBe('open'), 10_000)
  well = true
  await vi.waitFor(() => expect(state()).toBe('halfOpen'), 10_000)
  well = false
  await vi.waitFor(() => expect(state()).toBe('open'), 10_000)
  active.close()
  await vi.waitFor(() => expect(server.connections()).toBe(0), 10_000)
})

test('C38 checks do not keep the process alive, whether they wait or run', async () => {
  const server = await tcp(() => {})
  const hanging = await http(() => {})
  const before = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const cluster = new Cluster({}, envOf(systemRuntime, 'shop'))
  cluster.update([{ id: server.id }, { id: hanging.id }])
  const active = checks(cluster, { kind: 'http', interval: '1ms', timeout: '30s' })
  onTestFinished(() => active.close())
  await vi.waitFor(() => expect(hanging.connections()).toBe(1), 10_000)
  // Each connection is seen from both sides, and ours is not waited for.
  const held = process.getActiveResourcesInfo()
  expect(held.filter((kind) => kind === 'Timeout').length).toBeLessThanOrEqual(before)
  expect(held.filter((kind) => kind === 'TCPSocketWrap').length).toBe(server.connections() + hanging.connections())
})
