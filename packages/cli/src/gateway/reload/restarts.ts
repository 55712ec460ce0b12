import { type Address, type SocketPath, showPlace } from '../config/address.ts'
import type { Config } from '../config/config.ts'

// Which settings wait for a restart? Those that a listening socket, a parser or an open file was made with.

type Part = readonly [setting: string, of: (config: Config) => unknown]

const shown = (place: Address | SocketPath | undefined): string => (place === undefined ? '' : showPlace(place))

const parts: readonly Part[] = [
  ['listen', ({ listen }) => shown(listen)],
  ['tls', ({ tls }) => tls !== undefined],
  ['tls.listen', ({ tls }) => shown(tls?.listen)],
  ['tls.clientCert', ({ tls }) => tls?.clientCert],
  ['admin', ({ admin }) => shown(admin.place)],
  ['limits.headerBytes', ({ limits }) => limits.headerBytes],
  ['limits.handshake', ({ limits }) => limits.handshakeMs],
  ['accessLog', ({ accessLog }) => JSON.stringify(accessLog)],
]

/** The settings that `after` says otherwise and that stay as `running` has them. */
export function restartsFor(running: Config, after: Config): string[] {
  return parts.filter(([, of]) => of(running) !== of(after)).map(([setting]) => setting)
}

/** `after`, but for what stays as it was. */
export function inEffect(running: Config, after: Config): Config {
  const { listen, accessLog } = running
  const { headerBytes, handshakeMs } = running.limits
  const both = running.tls !== undefined && after.tls !== undefined
  return {
    ...after,
    listen,
    accessLog,
    tls: both ? { ...after.tls, listen: running.tls.listen, clientCert: running.tls.clientCert } : running.tls,
    admin: { ...after.admin, place: running.admin.place },
    limits: { ...after.limits, headerBytes, handshakeMs },
  }
}
