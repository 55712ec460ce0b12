// The gateway as a process, and what it holds.
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const bin = fileURLToPath(new URL('../../packages/cli/bin/floodwall.js', import.meta.url))

/** Broken answers are what this is about: nothing may be taken out of choice for them. */
const configOf = (port) => ({
  listen: '127.0.0.1:0',
  admin: '127.0.0.1:0',
  upstreams: [`http://127.0.0.1:${port}`],
  layers: [{ kind: 'deadline', within: '5s' }, { kind: 'retry', backoff: { first: 1, atMost: 5 } }],
  endpoint: [],
  limits: { head: '2s', request: '4s', idle: '3s', stall: '3s' },
})

export async function startGateway(upstreamPort) {
  const folder = mkdtempSync(join(tmpdir(), 'floodwall-fuzz-'))
  const file = join(folder, 'gateway.json')
  writeFileSync(file, JSON.stringify(configOf(upstreamPort)))
  const child = spawn(process.execPath, [bin, 'gateway', '--config', file, '--log-level', 'info'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  let errors = ''
  let exited = false
  child.stderr.on('data', (chunk) => {
    errors = (errors + chunk).slice(-4000)
  })
  child.on('exit', () => {
    exited = true
  })
  const ready = await new Promise((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      if (said.length < 20_000) said += chunk
      const line = said.split('\n').find((text) => text.includes('"msg":"ready"'))
      if (line !== undefined) resolve(JSON.parse(line))
    })
    child.on('exit', (code) => reject(new Error(`the gateway ended with ${code}: ${errors}`)))
  })
  const inspect = async () => (await fetch(`${ready.admin}/inspect`)).json()
  const held = () => ({
    fds: readdirSync(`/proc/${child.pid}/fd`).length,
    rssMiB: Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024,
  })
  return {
    port: Number(new URL(ready.listen).port),
    held,
    inspect,
    /** A finding when it died, or when anything is still held a while after the last connection. */
    async settled(ledger) {
      if (exited) return ledger.found('died', errors)
      let seen
      for (let i = 0; i < 100; i++) {
        seen = (await inspect()).gateway
        if (seen.inFlight === 0 && seen.connections === 0) return
        await pause(100)
      }
      ledger.found('leak', `still held: ${seen.inFlight} requests, ${seen.connections} connections`)
    },
    async stop() {
      if (!exited) {
        child.kill('SIGKILL')
        await new Promise((resolve) => child.once('exit', resolve))
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
