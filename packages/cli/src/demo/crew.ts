import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

// The child processes of the demo: all are known, none outlives it, and a loss is told with its reason.

/** A process that has not left when asked is killed after this. */
const PATIENCE_MS = 1_500
/** Exit is known before the last words have been read. */
const LAST_WORDS_MS = 200
const LAST_WORDS_AT_MOST = 4_000

const orphan = new URL('./orphan.js', import.meta.url).href

export class Member {
  readonly title: string
  readonly process: ChildProcess
  /** The end of what it wrote to stderr. */
  lastWords = ''

  constructor(title: string, process: ChildProcess) {
    this.title = title
    this.process = process
    process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.lastWords = (this.lastWords + text).slice(-LAST_WORDS_AT_MOST)
    })
  }

  /** A message to a process that is gone is lost, and its loss is told elsewhere. */
  send(message: object): void {
    if (this.process.connected) this.process.send(message, () => {})
  }

  get gone(): boolean {
    return this.process.pid === undefined || this.process.exitCode !== null || this.process.signalCode !== null
  }

  /** With all that it may have started itself. */
  kill(signal: NodeJS.Signals): void {
    const { pid } = this.process
    if (pid === undefined || this.gone) return
    try {
      if (process.platform === 'win32') this.process.kill(signal)
      else process.kill(-pid, signal)
    } catch {
      // It was faster.
    }
  }
}

export class Crew {
  private readonly members: Member[] = []
  private readonly env: NodeJS.ProcessEnv
  private readonly onLoss: (error: Error) => void
  private dismissed = false

  /** Each member removes `folder` when the demo is killed. */
  constructor(folder: string, onLoss: (error: Error) => void) {
    this.env = { ...process.env, FLOODWALL_DEMO_FOLDER: folder }
    this.onLoss = onLoss
  }

  hire(title: string, script: URL, args: readonly string[] = []): Member {
    const child = spawn(process.execPath, ['--import', orphan, fileURLToPath(script), ...args], {
      env: this.env,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // A group of its own: Ctrl-C in a terminal reaches the demo only, which then ends its children in order.
      detached: process.platform !== 'win32',
      windowsHide: true,
    })
    const member = new Member(title, child)
    this.members.push(member)
    child.once('error', (error) => this.lost(member, `could not be started: ${error.message}`))
    child.once('exit', (code, signal) => {
      const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`
      setTimeout(() => this.lost(member, how), LAST_WORDS_MS)
    })
    return member
  }

  private lost({ title, lastWords }: Member, how: string): void {
    if (this.dismissed) return
    const words = lastWords.trim()
    this.onLoss(new Error(`${title} ${how}${words === '' ? '' : `; it said:\n${words}`}`))
  }

  /** Asks all to leave, the latest first, and sees to it that they do. */
  async dismiss(): Promise<void> {
    this.dismissed = true
    const present = this.members.filter(({ gone }) => !gone).toReversed()
    const gone = Promise.all(present.map(({ process }) => new Promise((resolve) => process.once('exit', resolve))))
    for (const member of present) member.kill('SIGTERM')
    const impatience = setTimeout(() => this.kill(), PATIENCE_MS)
    await gone
    clearTimeout(impatience)
  }

  /** At once, for when there is no time to wait. */
  kill(): void {
    this.dismissed = true
    for (const member of this.members) member.kill('SIGKILL')
  }
}

/** The first message of this kind. Rejects when `signal` aborts. */
export function heard<News extends { readonly kind: string }, Kind extends News['kind']>(
  { process }: Member,
  kind: Kind,
  signal: AbortSignal,
): Promise<Extract<News, { readonly kind: Kind }>> {
  return new Promise((resolve, reject) => {
    const listen = (news: News): void => {
      if (news.kind !== kind) return
      stop()
      resolve(news as Extract<News, { readonly kind: Kind }>)
    }
    const abort = (): void => {
      stop()
      reject(signal.reason)
    }
    const stop = (): void => {
      process.off('message', listen)
      signal.removeEventListener('abort', abort)
    }
    if (signal.aborted) return reject(signal.reason)
    process.on('message', listen)
    signal.addEventListener('abort', abort)
  })
}
