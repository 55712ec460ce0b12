import { type Config, configOf } from '../../src/gateway/config/config.ts'
import { Misconfigured } from '../../src/gateway/config/document.ts'
import { configFile } from './gateway.ts'

const upstreams = ['http://127.0.0.1:3000']

/** What the gateway makes of `settings`; one server where they name none. */
export function read(settings: object): Config {
  return configOf({ config: configFile(JSON.stringify({ upstreams, ...settings })) })
}

/** What is wrong with them. */
export function faultsOf(settings: object): string[] {
  try {
    read(settings)
  } catch (error) {
    if (error instanceof Misconfigured) return error.faults.map(({ text }) => text)
    throw error
  }
  return []
}
