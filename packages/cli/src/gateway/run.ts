import { exitCodes } from '../exit-codes.ts'
import { checkAccessLog } from './access/access-log.ts'
import { showBandwidth } from './config/bandwidth-options.ts'
import { byRoute } from './config/by-route.ts'
import { type Config, configOf, type Flags } from './config/config.ts'
import { crampedBy } from './config/descriptors.ts'
import { Misconfigured } from './config/document.ts'
import { showFirstByte } from './config/first-byte-options.ts'
import { Reading } from './config/reading.ts'
import { Gateway } from './gateway.ts'
import { type Journal, journalTo, type Log, type LogLevel } from './log.ts'
import { Reload } from './reload/reload.ts'
import { tryOut } from './site.ts'

export interface GatewayOptions extends Flags {
  readonly logLevel: LogLevel
  /** Only looks at the settings. */
  readonly check?: boolean
  /** False: files may change as they like, until SIGHUP. */
  readonly watch: boolean
}

/** `floodwall gateway`: runs until a signal ends it. Answers with the exit code. */
export async function runGateway(options: GatewayOptions): Promise<number> {
  // Before anything else: who is told to end while he starts must end.
  const asked = new Signals()
  const reading = new Reading()
  let config: Config
  let gateway: Gateway
  let journal: Journal
  try {
    config = configOf(options, reading)
    tryOut(config)
    if (options.check === true) {
      if (config.accessLog !== undefined) checkAccessLog(config.accessLog)
      return approve(config)
    }
    journal = journalTo(options.logLevel)
    gateway = new Gateway(config, journal.log)
  } catch (error) {
    if (!(error instanceof Misconfigured)) throw error
    console.error(error.message)
    return exitCodes.misused
  }
  try {
    return await serve(gateway, journal.log, asked, options, reading)
  } finally {
    await journal.close()
  }
}

/** Until it ends, and how. */
async function serve(
  gateway: Gateway,
  log: Log,
  asked: Signals,
  options: GatewayOptions,
  reading: Reading,
): Promise<number> {
  try {
    const started = await Promise.race([gateway.start().then(() => true), asked.first.then(() => false)])
    if (!started) {
      await gateway.close()
      return exitCodes.fine
    }
  } catch (error) {
    console.error(`floodwall gateway: ${reasonOf(error)}`)
    return exitCodes.failed
  }
  const reload = new Reload(gateway, options, log, reading, options.watch)
  asked.whenHungUp(() => {
    reload.ask()
    gateway.accessLog?.reopen()
  })
  const signal = await asked.first
  log.info({ signal }, 'stopping')
  reload.close()
  // A person at the keyboard is no balancer that has to see it first.
  const drained = await Promise.race([gateway.drain(signal === 'SIGINT'), asked.second.then(() => false)])
  // At the second signal nothing has been closed yet; a file of a socket must not be left behind.
  if (gateway.stage !== 'closed') await gateway.close()
  log.info({ drained }, 'stopped')
  return drained ? exitCodes.fine : exitCodes.failed
}

function approve(config: Config): number {
  const { routes, clusters, concerns } = config
  for (const concern of [...concerns, ...crampedBy(config)]) console.error(`warning: ${concern}`)
  console.log(`The settings are fine: routes ${routes.length}, clusters ${clusters.length}.`)
  for (const line of byRoute(routes.map(({ id, timeout }) => [id, showFirstByte(timeout)]))) console.log(line)
  const narrow = routes.flatMap(({ id, bandwidth }) => (bandwidth ? [[id, showBandwidth(bandwidth)] as const] : []))
  for (const line of byRoute(narrow)) console.log(line)
  return exitCodes.fine
}

/** The first signal asks for an end, the second for one at once; a hang-up is about something else. */
class Signals {
  readonly first: Promise<string>
  readonly second: Promise<string>
  private hungUp = false
  private onHangUp: (() => void) | undefined

  constructor() {
    const hear = [(_name: string): void => {}, (_name: string): void => {}]
    this.first = new Promise((resolve) => void (hear[0] = resolve))
    this.second = new Promise((resolve) => void (hear[1] = resolve))
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => hear.shift()?.(name))
    process.on('SIGHUP', () => {
      if (this.onHangUp === undefined) this.hungUp = true
      else this.onHangUp()
    })
  }

  /** Hears of hang-ups, also of one that came before there was anybody to hear it. */
  whenHungUp(act: () => void): void {
    this.onHangUp = act
    if (this.hungUp) act()
  }
}

function reasonOf(error: unknown): string {
  const { code, message, address, port, path } = error as NodeJS.ErrnoException & { address?: string; port?: number }
  const where = port === undefined || port < 0 ? String(path ?? address) : `${address}:${port}`
  switch (code) {
    case 'EADDRINUSE':
      return `${where} is in use by another process`
    case 'EADDRNOTAVAIL':
      return `${where} is not an address of this machine`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${message.replace(/^getaddrinfo \w+ /, '')} is not the name of an address`
    case 'EACCES':
      return `${where} needs more rights than this process has`
    case 'ENOENT':
      return `${where} is not there`
    default:
      return message
  }
}
