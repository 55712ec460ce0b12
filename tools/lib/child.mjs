import { spawn } from 'node:child_process'

/** Copies of one signal arrive together; a second key press of a person does not come sooner than this. */
const ECHO_MS = 250

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/**
 * Runs a child in the foreground and leaves as the child left: with its exit code, or by its signal.
 *
 * Each signal reaches the child once. Ctrl-C goes to the whole process group and npm forwards it again, and a server that takes
 * the second SIGINT for impatience would stop without draining. So the child gets a group of its own, where only this process
 * can reach it, and echoes are dropped here.
 *
 * @param {string} command
 * @param {readonly string[]} args
 */
export function runInForeground(command, args) {
  const child = spawn(command, args, { stdio: 'inherit', detached: process.platform !== 'win32' })
  /** @type {Map<NodeJS.Signals, number>} */
  const lastSent = new Map()

  for (const signal of SIGNALS) {
    process.on(signal, () => {
      const now = performance.now()
      if (now - (lastSent.get(signal) ?? -Infinity) < ECHO_MS) return
      lastSent.set(signal, now)
      child.kill(signal)
    })
  }

  child.on('error', (error) => {
    console.error(`cannot start ${command}: ${error.message}`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
