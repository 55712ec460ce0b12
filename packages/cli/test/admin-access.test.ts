import { once } from 'node:events'
import { chmodSync, existsSync, lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as send } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run } from './support/child.ts'
import { later } from './support/cleanup.ts'
import { configFile, startGateway } from './support/gateway.ts'
import { type Answer, ask, wire } from './support/http.ts'
import { startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'

const TOKEN = 'correct-horse-battery-staple'
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

// C34: the control page as a way in.
describe('C34: who may read', () => {
  test('with a token file: probes for all, the rest for whoever knows the token', async () => {
    const { port } = await startOrigin()
    const config = { adminToken: configFile(`${TOKEN}\n`, 'token') }
    const gateway = await startGateway({ upstreams: [port], config })
    const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
      ask(gateway.adminPort, { path, headers })
    for (const path of ['/healthz', '/readyz']) expect((await get(path)).status).toBe(200)
    for (const path of ['/inspect', '/metrics', '/config', '/nothing']) {
      const bare = await get(path)
      expect(bare).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } })
      expect(bare.body).toBe('This page needs a token: "Authorization: Bearer ...".\n')
      expect((await get(path, bearer(`${TOKEN}x`))).status).toBe(401)
      expect((await get(path, bearer(TOKEN))).status).toBe(path === '/nothing' ? 404 : 200)
    }
    // In the address it would be in every log on the way.
    expect((await get(`/inspect?token=${TOKEN}`)).status).toBe(401)
    for (const wrong of ['', 'Bearer', `Basic ${TOKEN}`, TOKEN, `Bearer ${TOKEN.slice(1)}`, 'Bearer  ']) {
      expect((await get('/inspect', { authorization: wrong })).status).not.toBe(200)
    }
    expect((await get('/inspect', { authorization: `bearer ${TOKEN}` })).status).toBe(200)
    // Right, and still not by the name of another site.
    expect((await get('/inspect', { ...bearer(TOKEN), host: 'evil.test' })).status).toBe(403)
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip']) {
      expect((await get('/inspect', { [name]: '127.0.0.1' })).status).toBe(401)
    }
    expect(JSON.stringify(await get('/inspect', bearer(TOKEN)))).not.toContain(TOKEN)
    expect((await get('/config', bearer(TOKEN))).body).not.toContain(TOKEN)
    expect(gateway.cli.stdout).not.toContain(TOKEN)
  })

  test('1,000 wrong tokens: counted, limited and logged, and the right one is taken all the while', async () => {
    const { port } = await startOrigin()
    const config = { adminToken: configFile(TOKEN, 'token') }
    const gateway = await startGateway({ upstreams: [port], config })
    const line = await wire(gateway.adminPort)
    const host = `Host: 127.0.0.1:${gateway.adminPort}\r\n`
    for (let i = 0; i < 1000; i++)
      line.write(`GET /inspect HTTP/1.1\r\n${host}Authorization: Bearer guess-${i}\r\n\r\n`)
    await until(() => line.statuses.length === 1000)
    expect((await ask(gateway.adminPort, { path: '/config', headers: bearer(TOKEN) })).status).toBe(200)
    expect(line.statuses.slice(0, 10)).toEqual(Array(10).fill(401))
    expect(line.statuses.filter((status) => status === 429).length).toBeGreaterThan(500)
    const { body } = await ask(gateway.adminPort, { path: '/metrics', headers: bearer(TOKEN) })
    expect(body).toContain('\nfloodwall_admin_wrong_tokens_total 1000\n')
    const guesses = gateway.log.filter(({ msg }) => msg === 'somebody guesses the admin token')
    expect(guesses.length).toBeGreaterThan(0)
    expect(guesses.length).toBeLessThan(10)
  })

  test.each([
    ['short', 'too-short\n', /adminToken: expected a file with one token of at least 16 visible characters/],
    ['of two words', 'correct horse battery staple\n', /adminToken: expected a file with one token/],
    ['empty', '', /adminToken: expected a file with one token/],
  ])('a token that is %s starts nothing', async (_how, text, fault) => {
    const file = configFile(`upstreams: [http://127.0.0.1:1]\nadminToken: ${configFile(text, 'token')}\n`)
    const { code, stderr } = await run('gateway', '--config', file, '--check')
    expect(code).toBe(2)
    expect(stderr).toMatch(fault)
  })

  test('other machines: never without a token, and by its own names alone', async () => {
    const { port } = await startOrigin()
    const open = configFile(`upstreams: [http://127.0.0.1:${port}]\nadmin: 0.0.0.0:0\n`)
    expect((await run('gateway', '--config', open, '--check')).code).toBe(2)
    const config = {
      admin: '0.0.0.0:0',
      adminToken: configFile(TOKEN, 'token'),
      adminHosts: ['ops.test', 'ops.test:8443'],
    }
    const gateway = await startGateway({ upstreams: [port], config })
    const status = async (host: string): Promise<number> =>
      (await ask(gateway.adminPort, { path: '/inspect', headers: { host, ...bearer(TOKEN) } })).status
    for (const host of ['ops.test', 'OPS.test:8443', `127.0.0.1:${gateway.adminPort}`])
      expect(await status(host)).toBe(200)
    for (const host of ['ops.test:1', 'evil.test', `evil.test:${gateway.adminPort}`])
      expect(await status(host)).toBe(403)
    expect((await ask(gateway.adminPort, { path: '/readyz', headers: { host: '10.1.2.3:80' } })).status).toBe(200)
  })
})

/** A folder of its own, with a short path. */
function socketPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'fw-'))
  later(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'admin.sock')
}

async function askAt(socketPath: string, path: string, host = 'localhost'): Promise<number> {
  const request = send({ socketPath, path, headers: { host }, agent: false }).end()
  const [response] = await once(request, 'response')
  response.resume()
  return response.statusCode as number
}

describe('C34: a socket in the file system', () => {
  test('is for its owner alone, and gone at the end', async () => {
    const { port } = await startOrigin()
    const path = socketPath()
    const gateway = await startGateway({ upstreams: [port], config: { admin: `unix:${path}` } })
    expect(gateway.log[0]).toMatchObject({ msg: 'ready', admin: `unix:${path}` })
    expect(lstatSync(path).mode & 0o777).toBe(0o600)
    expect(await askAt(path, '/inspect')).toBe(200)
    expect(await askAt(path, '/inspect', 'evil.test')).toBe(403)
    gateway.cli.kill('SIGTERM')
    expect((await gateway.cli.finished()).code).toBe(0)
    expect(existsSync(path)).toBe(false)
  })

  test('a second signal leaves none behind either', async () => {
    const origin = await startOrigin(() => {})
    const path = socketPath()
    const config = { admin: `unix:${path}`, drain: '1h' }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    await wire(gateway.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => origin.seen.length === 1)
    gateway.cli.kill('SIGTERM')
    await until(async () => (await askAt(path, '/readyz')) === 503)
    gateway.cli.kill('SIGTERM')
    expect((await gateway.cli.finished()).code).toBe(1)
    expect(existsSync(path)).toBe(false)
  })

  test('what a process that died has left is taken away; what lives, and what is no socket, is not', async () => {
    const { port } = await startOrigin()
    const path = socketPath()
    const config = { admin: `unix:${path}` }
    const killed = await startGateway({ upstreams: [port], config })
    killed.cli.kill('SIGKILL')
    await killed.cli.finished()
    expect(existsSync(path)).toBe(true)
    const next = await startGateway({ upstreams: [port], config })
    expect(await askAt(path, '/healthz')).toBe(200)
    const args = ['gateway', '--upstream', `http://127.0.0.1:${port}`, '--listen', '127.0.0.1:0', '--admin']
    const inUse = { code: 1, stdout: '', stderr: `floodwall gateway: ${path} is in use by another process\n` }
    expect(await run(...args, `unix:${path}`)).toEqual(inUse)
    expect(await askAt(path, '/healthz')).toBe(200)
    next.cli.kill()
    await next.cli.finished()
    rmSync(path)
    writeFileSync(path, 'precious')
    chmodSync(path, 0o600)
    const precious = { code: 1, stdout: '', stderr: `floodwall gateway: ${path} is there already, and is no socket\n` }
    expect(await run(...args, `unix:${path}`)).toEqual(precious)
    expect(lstatSync(path).isFile()).toBe(true)
    const nowhere = join(dirname(path), 'below')
    expect((await run(...args, `unix:${nowhere}/admin.sock`)).stderr).toBe(
      `floodwall gateway: ${nowhere} is not there\n`,
    )
  })

  test.each(['unix:', 'unix:relative.sock', `unix:/${'long'.repeat(30)}`])('"%s" is no place', async (admin) => {
    const { code, stderr } = await run('gateway', '--upstream', 'http://127.0.0.1:1', '--admin', admin)
    expect(code).toBe(2)
    expect(stderr).toMatch(/^--admin: expected HOST:PORT such as .* or unix:\/PATH/)
  })
})

describe('C34: what is shown', () => {
  test('nothing that a browser could put in a frame, run, or keep', async () => {
    const { port } = await startOrigin()
    const gateway = await startGateway({ upstreams: [port] })
    for (const path of ['/inspect', '/config', '/metrics', '/healthz', '/nothing']) {
      expect((await gateway.admin(path)).headers).toMatchObject({
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      })
    }
    const upgrade = await wire(
      gateway.adminPort,
      `GET /inspect HTTP/1.1\r\nHost: localhost:${gateway.adminPort}\r\nOrigin: http://evil.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    )
    await until(() => upgrade.statuses.length > 0)
    expect(upgrade.statuses).toEqual([200])
  })

  test('/config: the settings in effect, defaults too, without secrets', async () => {
    const { port } = await startOrigin()
    const config = {
      adminToken: configFile(TOKEN, 'token'),
      routes: [
        {
          id: 'api',
          path: '/api/**',
          headers: { 'x-api-key': 'hunter2-key', 'x-tier': 'hunter2-tier', 'x-any': true },
          request: { set: { authorization: 'Basic hunter2', 'x-door': 'hunter2-door' }, remove: ['x-old'] },
          response: { set: { 'x-tier': 'silver', 'x-secret': 'hunter2' } },
          layers: [{ kind: 'keyed', of: { kind: 'rateLimit', rate: 10 } }],
        },
      ],
    }
    const gateway = await startGateway({ upstreams: [port], config })
    const { body } = await ask(gateway.adminPort, { path: '/config', headers: bearer(TOKEN) })
    expect(body).not.toContain('hunter2')
    expect(JSON.parse(body)).toMatchObject({
      listen: '127.0.0.1:0',
      admin: { at: '127.0.0.1:0', token: true, hosts: [] },
      clusters: {
        default: {
          endpoints: [`http://127.0.0.1:${port}`],
          endpoint: [{ kind: 'breaker' }],
        },
      },
      routes: [
        {
          id: 'api',
          path: '/api/**',
          cluster: 'default',
          timeout: { afterMs: 2000, from: 'settings' },
          headers: { 'x-api-key': '***', 'x-tier': '***', 'x-any': true },
          request: { set: { authorization: '***', 'x-door': '***' } },
          response: { set: { 'x-tier': 'silver', 'x-secret': '***' } },
          layers: [{ kind: 'keyed', of: { kind: 'rateLimit', rate: 10 } }],
        },
      ],
      drainMs: 10_000,
      drainDelayMs: 1000,
    })
  })
})

describe('C34: it stays reachable', () => {
  test('who is slow, or says too much, is sent away', async () => {
    const { port } = await startOrigin()
    const gateway = await startGateway({ upstreams: [port] })
    const slow = await wire(gateway.adminPort, 'GET /inspect HTTP/1.1\r\nHost: ')
    const large = await wire(gateway.adminPort, `GET /inspect HTTP/1.1\r\nX: ${'x'.repeat(9000)}\r\n\r\n`)
    await until(() => large.closed)
    expect(large.statuses).toEqual([431])
    await until(() => slow.closed, 15_000)
    expect(slow.statuses).toEqual([408])
  })

  test('more than 256 connections are closed at once', async () => {
    const { port } = await startOrigin()
    const gateway = await startGateway({ upstreams: [port] })
    const lines = await Promise.all(Array.from({ length: 300 }, () => wire(gateway.adminPort)))
    await until(() => lines.filter(({ closed }) => closed).length >= 44)
    for (const { socket } of lines) socket.destroy()
    await until(async () => (await gateway.admin('/healthz')).status === 200)
  })
})
