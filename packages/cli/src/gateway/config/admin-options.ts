import { digestOf, isToken, tokenForm } from 'floodwall/admin'
import { hostForm } from '../routes/host-pattern.ts'
import { type Address, isLoopback, type SocketPath, showPlace } from './address.ts'
import type { Credentials } from './credentials.ts'
import type { Faults } from './faults.ts'
import { made } from './words.ts'

// Where operators read, and who is one. On a loopback address the machine's users are trusted, at a Unix socket those who may open the file;
// anywhere else, and on the same machine where others live on it too, a token says who is.

export interface AdminConfig {
  readonly place: Address | SocketPath
  /** SHA-256 of the token; undefined: none is asked for. */
  readonly token: Buffer | undefined
  /** Hosts that it answers to besides its own. */
  readonly hosts: readonly string[]
}

const HOST = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::\d{1,5})?$/

/** A name, with a port if the caller sees another one than ours. */
export const adminHost = made(
  (text) => {
    const lower = text.toLowerCase()
    return HOST.test(lower) ? lower : undefined
  },
  hostForm.replace('without a port', 'or with the port that callers see'),
)

interface Given {
  readonly admin: Address | SocketPath
  readonly adminToken?: string | undefined
  readonly adminHosts?: readonly string[] | undefined
}

/** Faults are told. */
export function adminOf(
  { admin, adminToken, adminHosts }: Given,
  credentials: Credentials,
  faults: Faults,
): AdminConfig {
  let token: Buffer | undefined
  if (adminToken !== undefined) {
    const text = credentials.text('adminToken', adminToken)?.trim()
    if (text !== undefined && !isToken(text)) {
      faults.say('adminToken', JSON.stringify(adminToken), `a file with one ${tokenForm.slice(2)}`)
    } else if (text !== undefined) token = digestOf(text)
  } else if (!isLoopback(admin)) {
    faults.say(
      'admin',
      JSON.stringify(showPlace(admin)),
      'a loopback address or a Unix socket, since there is no "adminToken"',
    )
  }
  return { place: admin, token, hosts: adminHosts ?? [] }
}
