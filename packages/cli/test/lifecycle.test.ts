import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { createServer } from 'node:http'
import { describe, expect, test } from 'vitest'
import { bin, Cli, run } from './support/child.ts'
import { later } from './support/cleanup.ts'
import { startGateway } from './support/gateway.ts'
import { ask } from './support/http.ts'
import { deadPort, startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'

describe('start', () => {
  test('says where it listens; port 0 is any free one', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port] })
    const [ready] = gateway.log
    expect(ready).toMatchObject({
      level: 'info',
      msg: 'ready',
      listen: `http://127.0.0.1:${gateway.port}`,
      admin: `http://127.0.0.1:${gateway.adminPort}`,
      upstreams: [`127.0.0.1:${origin.port}`],
    })
    expect(gateway.port).not.toBe(gateway.adminPort)
  })

  test.each(['--listen', '--admin'])('a port in use (%s): one clear line, exit code 1', async (option) => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    later(() => void server.close())
    const { port } = server.address() as { port: number }
    const others = ['--listen', '--admin'].flatMap((name) => [name, `127.0.0.1:${name === option ? port : 0}`])
    const { code, stdout, stderr } = await run('gateway', '--upstream', 'http://127.0.0.1:1', ...others)
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: `floodwall gateway: 127.0.0.1:${port} is in use by another process\n`,
    })
  })
})

describe('changes are logged', () => {
  test('states of breakers, and refusals with their counts', async () => {
    const origin = await startOrigin((_request, response) => {
      response.statusCode = 500
      response.end()
    })
    const config = { layers: [], endpoint: [{ kind: 'breaker', consecutive: 3, openFor: '1h', openAtMost: '1h' }] }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    for (let i = 0; i < 6; i++) await ask(gateway.port)
    const path = `default/balance/127.0.0.1:${origin.port}/breaker`
    await until(() => gateway.log.some(({ msg }) => msg === 'refused'))
    expect(gateway.log).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: 'state changed', path, from: 'closed', to: 'open' }),
    )
    expect(gateway.log).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: 'refused', reason: 'open', count: 1 }),
    )
    expect(gateway.log.filter(({ msg }) => msg === 'refused')).toHaveLength(1)
  })
})

test('a log on a full disk: lines are lost, requests are not, and it ends when it is told to', async () => {
  const origin = await startOrigin()
  const [listen, admin] = [await deadPort(), await deadPort()]
  const full = openSync('/dev/full', 'w')
  const args = ['gateway', '--upstream', `http://127.0.0.1:${origin.port}`, '--log-level', 'debug']
  const places = ['--listen', `127.0.0.1:${listen}`, '--admin', `127.0.0.1:${admin}`, '--drain-delay', '0s']
  const child = spawn(process.execPath, [bin, ...args, ...places], { stdio: ['ignore', full, 'pipe'] })
  closeSync(full)
  later(() => void child.kill('SIGKILL'))
  let stderr = ''
  child.stderr?.on('data', (text: Buffer) => {
    stderr += text.toString()
  })
  const answers = async (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${admin}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  await until(answers)
  for (let i = 0; i < 5; i++) expect((await ask(listen, { path: `/${i}` })).body).toBe('ok')
  const [left] = await Promise.all([once(child, 'close'), child.kill('SIGTERM')])
  expect({ code: left[0], stderr }).toEqual({ code: 0, stderr: '' })
})

describe('the command line', () => {
  test.each([
    [['--help'], 0],
    [['gateway', '--help'], 0],
    [['demo', '--help'], 0],
    [['--version'], 0],
    [[], 2],
    [['gatewya'], 2],
    [['gateway', '--upstrem', 'http://x'], 2],
    [['gateway', '--log-level', 'loud'], 2],
    [['gateway'], 2],
    [['gateway', 'extra'], 2],
    [['demo', '--seconds', 'many'], 2],
  ])('%j exits with %i', async (args, code) => {
    const finished = await run(...args)
    expect(finished.code).toBe(code)
    expect(`${finished.stdout}${finished.stderr}`).not.toMatch(/at .*\.js:\d/)
  })

  test('suggests what was meant, and help has examples', async () => {
    expect((await run('gatewya')).stderr).toMatch(/unknown command 'gatewya'.*Did you mean gateway/s)
    expect((await run('gateway', '--upstrem', 'x')).stderr).toMatch(
      /unknown option '--upstrem'.*Did you mean --upstream/s,
    )
    expect((await run('gateway', '--help')).stdout).toMatch(/Examples:\n {2}\$ floodwall gateway --upstream/)
    expect((await run('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  test('runs without a file', async () => {
    const origin = await startOrigin()
    const cli = new Cli([
      'gateway',
      '--listen',
      '127.0.0.1:0',
      '--admin',
      '[::1]:0',
      '--upstream',
      `http://127.0.0.1:${origin.port}`,
    ])
    later(() => cli.kill())
    await until(() => cli.stdout.includes('"msg":"ready"'))
    // A warning may stand before it: of fewer descriptors than clients, where the machine has few.
    const ready = cli.stdout.split('\n').find((line) => line.includes('"msg":"ready"')) ?? ''
    const { listen, admin } = JSON.parse(ready) as { listen: string; admin: string }
    expect((await ask(Number(new URL(listen).port))).body).toBe('ok')
    expect(admin).toMatch(/^http:\/\/\[::1\]:\d+$/)
  })
})
