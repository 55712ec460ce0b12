import { exitCodes } from '../exit-codes.ts'
import { configOf, type Flags } from './config.ts'
import { Misconfigured } from './document.ts'
import { Gateway } from './gateway.ts'
import { flushed, type LogLevel, logTo } from './log.ts'

export interface GatewayOptions extends Flags {
  readonly logLevel: LogLevel
}

/** `floodwall gateway`: runs until a signal ends it. Answers with the exit code. */
export async function runGateway(options: GatewayOptions): Promise<number> {
  let gateway: Gateway
  const log = logTo(options.logLevel)
  try {
    gateway = new Gateway(configOf(options), log)
  } catch (error) {
    if (!(error instanceof Misconfigured)) throw error
    console.error(error.message)
    return exitCodes.misused
  }
  const asked = signal()
  try {
    await gateway.start()
  } catch (error) {
    console.error(`floodwall gateway: ${reasonOf(error)}`)
    return exitCodes.failed
  }
  log.info({ signal: await asked.first }, 'stopping')
  const drained = await Promise.race([gateway.drain(), asked.second.then(() => false)])
  log.info({ drained }, 'stopped')
  await flushed(log)
  return drained ? exitCodes.fine : exitCodes.failed
}

/** The first signal asks for an end, the second for one at once. */
function signal(): { readonly first: Promise<string>; readonly second: Promise<string> } {
  const next = (): Promise<string> =>
    new Promise((resolve) => {
      for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => resolve(name))
    })
  const first = next()
  return { first, second: first.then(next) }
}

function reasonOf(error: unknown): string {
  const { code, message, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number }
  const where = port === undefined ? String(address) : `${address}:${port}`
  if (code === 'EADDRINUSE') return `${where} is in use by another process`
  if (code === 'EADDRNOTAVAIL') return `${where} is not an address of this machine`
  if (code === 'EACCES') return `${where} needs more rights than this process has`
  return message
}
