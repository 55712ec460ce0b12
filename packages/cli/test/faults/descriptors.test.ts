import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { bin } from '../support/child.ts'
import { later } from '../support/cleanup.ts'
import { configFile } from '../support/gateway.ts'
import { ask, type Wire, wire } from '../support/http.ts'
import { startOrigin } from '../support/origin.ts'
import { until } from '../support/until.ts'

// Descriptors are used up: that is a lack of the gateway's, and says nothing about the servers.

interface Ready {
  readonly listen: string
  readonly admin: string
}

test.runIf(existsSync('/proc/self/limits'))(
  'no descriptor left for a connection: 503, and the server is not blamed',
  async () => {
    const origin = await startOrigin()
    const config = {
      listen: '127.0.0.1:0',
      admin: '127.0.0.1:0',
      upstreams: [`http://127.0.0.1:${origin.port}`],
      layers: [],
      endpoint: [{ kind: 'breaker' }],
    }
    const command = `ulimit -n 300; exec "${process.execPath}" "${bin}" gateway --config "${configFile(JSON.stringify(config))}"`
    const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] })
    later(() => void child.kill('SIGKILL'))
    let out = ''
    child.stdout.on('data', (text: Buffer) => {
      out += text.toString()
    })
    const lines = (): Record<string, unknown>[] =>
      out
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    let ready: Ready | undefined
    await until(() => {
      ready = lines().find(({ msg }) => msg === 'ready') as unknown as Ready | undefined
      return ready !== undefined
    })
    const { listen, admin } = ready as Ready
    const [port, adminPort] = [Number(new URL(listen).port), Number(new URL(admin).port)]
    await until(() =>
      lines().some(({ level, msg }) => level === 'warn' && String(msg).includes('may have 300 descriptors')),
    )
    const first = await wire(port)
    // More than there are descriptors: the system lets in as many as it can.
    const crowd: Wire[] = []
    for (let i = 0; i < 300; i++) crowd.push(await wire(port))
    await until(() => crowd.some(({ closed }) => closed))
    for (let i = 1; i <= 30; i++) {
      first.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
      await until(() => first.statuses.length === i)
    }
    expect(new Set(first.statuses)).toEqual(new Set([503]))
    expect(first.text).toContain('"code":"no-descriptors"')
    expect(origin.seen).toHaveLength(0)
    for (const line of crowd) line.socket.destroy()
    await until(async () => (await ask(port)).status === 200)
    const seen = JSON.parse((await ask(adminPort, { path: '/inspect' })).body) as {
      clusters: { upstreams: { failures: Record<string, number> }[] }[]
    }
    expect(seen.clusters[0]?.upstreams[0]?.failures['no-descriptors']).toBe(30)
  },
)
