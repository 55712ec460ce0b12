import { writeFileSync } from 'node:fs'
import { type Gateway, startGateway, timeoutFor } from './gateway.ts'
import { until } from './until.ts'

// Gateways whose settings change while they run.

/** Settings for a gateway that is told by SIGHUP alone. */
export async function start(port: number, settings: object): Promise<Gateway> {
  return startGateway({ upstreams: [port], config: settings, args: ['--no-watch'] })
}

/** What the file says from now on; the addresses stay. */
export function write(gateway: Gateway, port: number, settings: object): void {
  const timeout = timeoutFor(settings)
  const base = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', upstreams: [`http://127.0.0.1:${port}`], timeout }
  writeFileSync(gateway.file, JSON.stringify({ ...base, ...settings }))
}

/** Waits for one more reload than there were; good or not. */
export async function reload(gateway: Gateway): Promise<void> {
  const count = async (): Promise<number> => {
    const { done, failed } = (await gateway.inspect()).reload
    return done + failed
  }
  const before = await count()
  gateway.cli.kill('SIGHUP')
  await until(async () => (await count()) > before)
}
