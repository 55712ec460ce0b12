import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

// The command line as users start it: the built one, in a process of its own.

export const bin: string = fileURLToPath(new URL('../../bin/floodwall.js', import.meta.url))

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export class Cli {
  readonly process: ChildProcess
  stdout = ''
  stderr = ''

  constructor(args: readonly string[]) {
    this.process = spawn(process.execPath, [bin, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    this.process.stdout?.on('data', (text: Buffer) => {
      this.stdout += text.toString()
    })
    this.process.stderr?.on('data', (text: Buffer) => {
      this.stderr += text.toString()
    })
  }

  /** Waits for its end. */
  async finished(): Promise<Finished> {
    if (this.process.exitCode === null && this.process.signalCode === null) await once(this.process, 'close')
    const { stdout, stderr } = this
    return { code: this.process.exitCode, stdout, stderr }
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.process.kill(signal)
  }
}

/** Runs a command to its end. */
export function run(...args: string[]): Promise<Finished> {
  return new Cli(args).finished()
}
