import { isIP } from 'node:net'
import type * as v from 'valibot'
import { made } from './words.ts'

/** Where something listens: `127.0.0.1:8080`, `[::1]:8080`, `localhost:0`. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** A socket in the file system: who may open the file may connect. */
export interface SocketPath {
  readonly path: string
}

/** An upstream: its origin for connections, its authority and path as a name. */
export interface Target {
  readonly origin: string
  /** What goes before every path: `/base`, or nothing. */
  readonly base: string
  readonly id: string
}

const FORM = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+)):(\d{1,5})$/i

const addressForm = 'HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080 (port 0: any free one)'

/** The address that `text` says; undefined when it says none. */
function addressOf(text: string): Address | undefined {
  const parts = FORM.exec(text)
  if (parts === null) return undefined
  const [, six, name, digits] = parts
  const port = Number(digits)
  if (port > 65_535 || (six !== undefined && isIP(six) !== 6)) return undefined
  return { host: six ?? (name as string), port }
}

export const address: v.GenericSchema<string, Address> = made(addressOf, addressForm)

/** `sun_path` of Linux has 108 bytes with its zero, that of macOS 104. */
const LONGEST_PATH = 103

const adminForm = 'HOST:PORT such as 127.0.0.1:9090, or unix:/PATH such as unix:/run/floodwall/admin.sock'

export const adminAddress: v.GenericSchema<string, Address | SocketPath> = made(
  (text) => (text.startsWith('unix:') ? socketPathOf(text.slice(5)) : addressOf(text)),
  adminForm,
)

function socketPathOf(path: string): SocketPath | undefined {
  return path.startsWith('/') && Buffer.byteLength(path) <= LONGEST_PATH && !path.includes('\0') ? { path } : undefined
}

export function showAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** The same for either kind. */
export function showPlace(place: Address | SocketPath): string {
  return 'path' in place ? `unix:${place.path}` : showAddress(place)
}

/** True when only this machine can reach it. */
export function isLoopback(place: Address | SocketPath): boolean {
  if ('path' in place) return true
  const { host } = place
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

const BASE = /^(?:\/[\w.~!$&()*+,=:@-]+)*$/

/** The target that `text` says, or what it should have been. */
export function targetOf(text: string): Target | { readonly expected: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.hostname === '') return { expected: 'an address such as http://127.0.0.1:3000' }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return { expected: 'an http or https address' }
  if (url.username !== '' || url.password !== '') return { expected: 'an address without user and password' }
  if (url.search !== '' || url.hash !== '') return { expected: 'an address without query and fragment' }
  const base = url.pathname.replace(/\/$/, '')
  if (!BASE.test(base))
    return { expected: 'a path of letters, digits and - . _ ~ ! $ & ( ) * + , = : @ between slashes' }
  const port = url.port === '' ? (isSecure(url) ? '443' : '80') : url.port
  return { origin: url.origin, base, id: `${url.hostname}:${port}${base}` }
}

/** True for an upstream that is spoken to in TLS. */
export function isSecure({ origin }: { readonly origin: string }): boolean {
  return origin.startsWith('https:')
}
