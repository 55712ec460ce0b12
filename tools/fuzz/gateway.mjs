// The gateway as a process, and what it holds.
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const own = fileURLToPath(new URL('../../packages/cli/bin/floodwall.js', import.meta.url))

/** Nothing is held any more after so long, or it is for ever. */
const SETTLED_MS = 15_000
const LOOK_EVERY_MS = 100

/**
 * @typedef {object} Held
 * @property {number} fds
 * @property {number} rssMiB
 */

/**
 * Broken answers are what this is about: nothing may be taken out of choice for them.
 *
 * @param {number} upstreamPort
 */
const configOf = (upstreamPort) => ({
  listen: '127.0.0.1:0',
  admin: '127.0.0.1:0',
  upstreams: [`http://127.0.0.1:${upstreamPort}`],
  layers: [
    { kind: 'deadline', within: '6s' },
    { kind: 'retry', backoff: { first: 1, atMost: 5 } },
  ],
  endpoint: [],
  // The deadline is over first.
  timeout: '10s',
  // Longer than a busy machine may keep the fuzzer itself from running.
  limits: { head: '4s', request: '8s', idle: '6s', stall: '6s' },
})

/**
 * @param {number} upstreamPort
 * @param {{ readonly bin?: string | undefined }} [options] `bin`: the command of another build
 */
export async function startGateway(upstreamPort, { bin = own } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'floodwall-fuzz-'))
  const file = join(folder, 'gateway.json')
  writeFileSync(file, JSON.stringify(configOf(upstreamPort)))
  const child = spawn(process.execPath, [bin, 'gateway', '--config', file, '--log-level', 'info'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C is for the fuzzer, which still has to look at it.
    detached: true,
  })
  const clear = () => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', clear)
  let said = ''
  let errors = ''
  let exited = false
  child.stderr.on('data', (chunk) => {
    errors = `${errors}${chunk}`.slice(-4000)
  })
  /** @type {Promise<void>} */
  const end = new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      exited = true
      errors = `ended with ${code ?? signal}: ${errors}`
      resolve()
    })
  })
  const stop = async () => {
    child.kill('SIGKILL')
    await end
    clear()
    process.off('exit', clear)
  }

  /** @type {Promise<{ listen: string, admin: string }>} */
  const ready = new Promise((resolve, reject) => {
    /** @param {Buffer} chunk */
    const read = (chunk) => {
      said += chunk
      const line = said.split('\n').find((text) => text.includes('"msg":"ready"') && text.endsWith('}'))
      if (line === undefined) return
      child.stdout.off('data', read).resume()
      resolve(JSON.parse(line))
    }
    child.stdout.on('data', read)
    void end.then(() => reject(new Error(`the gateway did not start: it ${errors}${said}`)))
  })
  const { listen, admin } = await ready.catch(async (error) => {
    await stop()
    throw error
  })

  /** @returns {Promise<{ inFlight: number, connections: number }>} */
  const open = () =>
    new Promise((resolve, reject) => {
      // A connection of its own each time: none stays open to be counted.
      get(`${admin}/inspect`, { agent: false }, (answer) => {
        let text = ''
        answer.on('data', (chunk) => {
          text += chunk
        })
        answer.on('end', () => resolve(JSON.parse(text).gateway))
      }).on('error', reject)
    })

  return {
    pid: /** @type {number} */ (child.pid),
    port: Number(new URL(listen).port),
    stop,
    alive: () => !exited,

    /** @returns {Held | undefined} undefined where the system does not tell it like Linux */
    held() {
      try {
        const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
        const [, kB] = /VmRSS:\s+(\d+) kB/.exec(status) ?? []
        return { fds: readdirSync(`/proc/${child.pid}/fd`).length, rssMiB: Number(kB) / 1024 }
      } catch {
        return undefined
      }
    },

    /**
     * A finding when it died, or when anything is still held a while after the last connection.
     *
     * @param {import('./ledger.mjs').Ledger} ledger
     */
    async settled(ledger) {
      let text = ''
      for (let waited = 0; waited < SETTLED_MS && !exited; waited += LOOK_EVERY_MS) {
        try {
          const { inFlight, connections } = await open()
          if (inFlight === 0 && connections === 0) return
          text = `still held: ${inFlight} requests, ${connections} connections`
        } catch (error) {
          text = `the admin listener does not answer: ${/** @type {Error} */ (error).message}`
        }
        await pause(LOOK_EVERY_MS)
      }
      if (exited) ledger.found('died', `the gateway ${errors}`)
      else ledger.found('leak', text)
    },
  }
}
