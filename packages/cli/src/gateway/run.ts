import { exitCodes } from '../exit-codes.ts'
import { configOf, type Flags } from './config/config.ts'
import { Misconfigured } from './config/document.ts'
import { Gateway } from './gateway.ts'
import { journalTo, type LogLevel } from './log.ts'

export interface GatewayOptions extends Flags {
  readonly logLevel: LogLevel
}

/** `floodwall gateway`: runs until a signal ends it. Answers with the exit code. */
export async function runGateway(options: GatewayOptions): Promise<number> {
  let gateway: Gateway
  const { log, close } = journalTo(options.logLevel)
  try {
    gateway = new Gateway(configOf(options), log)
  } catch (error) {
    if (!(error instanceof Misconfigured)) throw error
    console.error(error.message)
    return exitCodes.misused
  }
  const asked = signals()
  try {
    await gateway.start()
  } catch (error) {
    console.error(`floodwall gateway: ${reasonOf(error)}`)
    return exitCodes.failed
  }
  log.info({ signal: await asked.first }, 'stopping')
  const drained = await Promise.race([gateway.drain(), asked.second.then(() => false)])
  log.info({ drained }, 'stopped')
  await close()
  return drained ? exitCodes.fine : exitCodes.failed
}

/** The first signal asks for an end, the second for one at once. */
function signals(): { readonly first: Promise<string>; readonly second: Promise<string> } {
  const hear = [(_name: string): void => {}, (_name: string): void => {}]
  const first = new Promise<string>((resolve) => void (hear[0] = resolve))
  const second = new Promise<string>((resolve) => void (hear[1] = resolve))
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => hear.shift()?.(name))
  return { first, second }
}

function reasonOf(error: unknown): string {
  const { code, message, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number }
  const where = port === undefined ? String(address) : `${address}:${port}`
  if (code === 'EADDRINUSE') return `${where} is in use by another process`
  if (code === 'EADDRNOTAVAIL') return `${where} is not an address of this machine`
  if (code === 'EACCES') return `${where} needs more rights than this process has`
  return message
}
