import type { Endpoint } from '../core/init.ts'
import { show } from '../core/schema.ts'
import { unsent } from './unsent.ts'

/** Where an endpoint listens. */
export interface Target {
  /** `'http://10.0.0.1:8080'`, without a slash at the end. */
  readonly origin: string
  readonly secure: boolean
  /** A name or an address; IPv6 without brackets. */
  readonly host: string
  readonly port: number
}

/**
 * Reads an endpoint's address, or its id where it has none: `host`, `host:port`, or either after `http://` or `https://`. Throws a TypeError
 * on anything else: a path or credentials there would be ignored in silence.
 */
export function targetOf({ id, address = id }: Endpoint): Target {
  const url = parsed(address)
  if (url === null || !isOrigin(url)) {
    const expected = 'expected "host:port", "http://host:port" or "https://host:port"'
    const error = new TypeError(`endpoint ${show(id)}: ${expected}, got ${show(address.replace(/[^/]*@/, '***@'))}`)
    throw unsent(Object.assign(error, { code: 'ERR_INVALID_URL' }))
  }
  const secure = url.protocol === 'https:'
  return {
    origin: url.origin,
    secure,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
  }
}

function isOrigin({ protocol, username, password, pathname, search, hash }: URL): boolean {
  if (protocol !== 'http:' && protocol !== 'https:') return false
  return `${username}${password}${search}${hash}` === '' && pathname === '/'
}

function parsed(address: string): URL | null {
  try {
    return new URL(address.includes('://') ? address : `http://${address}`)
  } catch {
    return null
  }
}
