// Every process that a suite starts. They end with this one, also on Ctrl-C: a forgotten load generator or server
// would spoil whatever is measured next.
import { spawn } from 'node:child_process'

/** @type {Set<Child>} */
const running = new Set()

process.once('exit', () => {
  for (const child of running) child.process.kill('SIGKILL')
})
process.once('SIGINT', () => process.exit(130)) // the exit handler above kills
process.once('SIGTERM', () => process.exit(143))
process.once('SIGHUP', () => process.exit(129))

export class Child {
  /** The end of what it wrote on stderr, to be shown if it dies. */
  said = ''

  constructor(command, args) {
    // A process group of its own: else Ctrl-C reaches the children first and their deaths are reported as failures.
    this.process = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    running.add(this)
    this.process.stderr.on('data', (chunk) => {
      this.said = (this.said + chunk).slice(-4000)
    })
    this.process.on('error', (error) => {
      this.said += error.message
    })
    this.process.once('close', () => running.delete(this))
  }

  get pid() {
    return this.process.pid
  }

  get ended() {
    return this.process.exitCode !== null || this.process.signalCode !== null
  }

  async stop() {
    if (this.ended) return
    const closed = new Promise((resolve) => this.process.once('close', resolve))
    this.process.kill('SIGKILL')
    await closed
  }
}

/** Runs a child that prints one JSON value and ends. Bounded in time. */
export function ask(command, args, { name, withinMs = 120_000 }) {
  return new Promise((resolve, reject) => {
    const child = new Child(command, args)
    let text = ''
    child.process.stdout.on('data', (chunk) => {
      text += chunk
    })
    const timer = setTimeout(() => child.process.kill('SIGKILL'), withinMs)
    child.process.once('close', (code, signal) => {
      clearTimeout(timer)
      if (code !== 0) return reject(new Error(`${name}: ended with ${signal ?? `status ${code}`}\n${child.said}`))
      try {
        resolve(JSON.parse(text))
      } catch {
        reject(new Error(`${name}: printed no JSON: ${text.slice(0, 200)}`))
      }
    })
  })
}
