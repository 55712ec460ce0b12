import { isIP } from 'node:net'

/** Where something listens: `127.0.0.1:8080`, `[::1]:8080`, `localhost:0`. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** An upstream: its origin for connections, its authority as a name. */
export interface Target {
  readonly origin: string
  readonly id: string
}

const FORM = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+)):(\d{1,5})$/i

export const addressForm = 'HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080 (port 0: any free one)'

/** The address that `text` says; undefined when it says none. */
export function addressOf(text: string): Address | undefined {
  const parts = FORM.exec(text)
  if (parts === null) return undefined
  const [, six, name, digits] = parts
  const port = Number(digits)
  if (port > 65_535 || (six !== undefined && isIP(six) !== 6)) return undefined
  return { host: six ?? (name as string), port }
}

export function showAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** True when only this machine can reach it. */
export function isLoopback({ host }: Address): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** The target that `text` says, or what it should have been. */
export function targetOf(text: string): Target | { readonly expected: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.hostname === '') return { expected: 'an address such as http://127.0.0.1:3000' }
  if (url.protocol === 'https:') return { expected: 'an http address (https to upstreams is not there yet)' }
  if (url.protocol !== 'http:') return { expected: 'an http address' }
  if (url.username !== '' || url.password !== '') return { expected: 'an address without user and password' }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    return { expected: 'an address without a path (requests bring their own)' }
  }
  return { origin: url.origin, id: `${url.hostname}:${url.port === '' ? '80' : url.port}` }
}
