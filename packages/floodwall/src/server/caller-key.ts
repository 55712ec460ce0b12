import type { IncomingMessage } from 'node:http'
import * as v from 'valibot'
import { ConfigError } from '../core/errors.ts'
import { count, oneOf, parse, show } from '../core/schema.ts'
import type { AnyRequest } from './call-of.ts'
import { clientIn } from './forwarded-for.ts'
import { addressIn, networkOf } from './network-address.ts'
import { trust, trusting } from './trust.ts'

// Whose request is it?
//
// Ready-made answers for the option `key` of the adapters. What cannot be known is never one key for all of its kind: that would be a limit that strangers use
// up for each other, or a way around one's own. Who sends no key and has no user is known by his address.
//
// Keys of different kinds never meet: those of a header begin with its name and `=`, those of users with `user=`, and no address has one. Who sends
// `x-api-key: 192.0.2.7` does not use up what 192.0.2.7 may.
//
// Invariant: a key function throws at nobody, and what it answers is bounded.

type Key = string | number

/** A function of the request that says whose it is; undefined or '': it does not know. */
export type KeyFunction<R> = (request: R) => Key | null | undefined

/** What the option `key` takes. */
export interface CallerKey<R extends AnyRequest = AnyRequest> {
  (request: R): Key
  /** The same, and undefined where its own way does not tell. */
  find(request: R): Key | undefined
}

function bits(most: number): v.GenericSchema<number, number> {
  const form = `a whole number of bits from 0 to ${most}`
  return v.custom<number>((n) => Number.isInteger(n) && (n as number) >= 0 && (n as number) <= most, form)
}

export const addressPrefixes = {
  /** So many bits of an IPv4 address are one caller. Default 32: each address. */
  v4Prefix: v.optional(bits(32), 32),
  /** So many bits of an IPv6 address. Default 64: the least that a customer gets; 56 or 48 where they get more. */
  v6Prefix: v.optional(bits(128), 64),
}

const addressOptions = v.strictObject({
  /** The proxies in front, as `trust` is written. Default: nobody; then it is the peer. */
  proxies: v.optional(trust, () => []),
  /** What they write, and the only one that is read: of another one a stranger could be the author. Default `x-forwarded-for`. */
  header: v.optional(oneOf('x-forwarded-for', 'forwarded'), 'x-forwarded-for'),
  ...addressPrefixes,
})

const valueOptions = v.strictObject({
  /** A longer value is none. Default 256 characters: no user and no key of an API is longer. */
  most: v.optional(count, 256),
  /** Who is asked where there is none. Default: {@link byAddress}. */
  otherwise: v.optional(
    v.custom<KeyFunction<never>>((input) => typeof input === 'function', 'a function of the request'),
  ),
})

export type AddressKeyOptions = v.InferInput<typeof addressOptions>
export interface ValueKeyOptions<R extends AnyRequest = AnyRequest> {
  readonly most?: number
  readonly otherwise?: KeyFunction<R>
}

/** What is known of the other end of a connection. */
interface Peer {
  readonly network: string | undefined
  /** Its address, if it is one of the proxies. */
  readonly proxy: string | undefined
}

/** By the network of the client: the peer, or whom the proxies in front name. Without an address (a Unix socket) it is nobody's. */
export function byAddress(options: AddressKeyOptions = {}): CallerKey {
  const { proxies, header, ...prefixes } = parse(addressOptions, options, 'byAddress')
  const trusts = trusting(proxies)
  const direct = typeof proxies !== 'function' && proxies.length === 0
  /** A connection has one peer: looked up once. */
  const peers = new WeakMap<object, Peer>()
  const peerOf = (socket: IncomingMessage['socket']): Peer => {
    let known = peers.get(socket)
    if (known === undefined) {
      const { remoteAddress = '' } = socket
      const address = addressIn(remoteAddress)
      const proxy = !direct && address !== undefined && trusts(address) ? address : undefined
      known = { network: networkOf(remoteAddress, prefixes), proxy }
      peers.set(socket, known)
    }
    return known
  }
  const find = (request: AnyRequest): string | undefined => {
    const { socket, headers } = nodeOf(request)
    const { network, proxy } = peerOf(socket)
    const list = proxy === undefined ? undefined : headers[header]
    if (proxy === undefined || list === undefined) return network
    return networkOf(clientIn(String(list), header, proxy, trusts), prefixes)
  }
  return keyOf(find, () => undefined)
}

/** By the value of a header, such as the key of an API. A header that is there twice is none: whoever reads it next may take the other one. */
export function byHeader<R extends AnyRequest = AnyRequest>(
  name: string,
  options: ValueKeyOptions<R> = {},
): CallerKey<R> {
  if (typeof name !== 'string' || !/^[!#$%&'*+.^`|~\w-]{1,100}$/.test(name)) {
    throw new ConfigError([
      { path: 'byHeader', value: show(name), expected: 'the name of a header such as "x-api-key"' },
    ])
  }
  const { most, otherwise } = valueSettings(options, 'byHeader')
  const lower = name.toLowerCase()
  const find = (request: R): string | undefined => {
    const value = onlyLine(nodeOf(request).rawHeaders, lower)
    return value === '' || value.length > most ? undefined : `${lower}=${value}`
  }
  return keyOf(find, otherwise)
}

/** By a user whom something before has found out: `byUser((request) => request.user?.id)`. */
export function byUser<R extends AnyRequest = AnyRequest>(
  user: KeyFunction<R>,
  options: ValueKeyOptions<R> = {},
): CallerKey<R> {
  if (typeof user !== 'function') {
    throw new ConfigError([{ path: 'byUser', value: show(user), expected: 'a function of the request' }])
  }
  const { most, otherwise } = valueSettings(options, 'byUser')
  const find = (request: R): Key | undefined => {
    const id = answerOf(user, request)
    if (typeof id !== 'string') return id
    return id.length > most ? undefined : `user=${id}`
  }
  return keyOf(find, otherwise)
}

/** The first that is known: `firstOf(byHeader('x-api-key'), byAddress({ proxies }))`. Where none is, the address of the peer. */
export function firstOf<R extends AnyRequest = AnyRequest>(...keys: readonly KeyFunction<R>[]): CallerKey<R> {
  for (const [i, key] of keys.entries()) {
    if (typeof key === 'function') continue
    throw new ConfigError([{ path: `firstOf[${i}]`, value: show(key), expected: 'a function of the request' }])
  }
  const finds = keys.map((key) => (key as Partial<CallerKey<R>>).find ?? ((request: R) => answerOf(key, request)))
  const find = (request: R): Key | undefined => {
    for (const each of finds) {
      const key = each(request)
      if (key !== undefined) return key
    }
    return undefined
  }
  return keyOf(find, byAddress())
}

/** The value of a header in flat lines (`rawHeaders`), by its lower-case name; '' where it is missing, empty, or there twice. */
export function onlyLine(lines: readonly string[], name: string): string {
  let value = ''
  let seen = false
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const line = lines[i] as string
    if (line.length !== name.length || line.toLowerCase() !== name) continue
    if (seen) return ''
    seen = true
    value = (lines[i + 1] as string).trim()
  }
  return value
}

function keyOf<R extends AnyRequest>(find: (request: R) => Key | undefined, otherwise: KeyFunction<R>): CallerKey<R> {
  // '' is the key of calls that are nobody's.
  return Object.assign((request: R): Key => find(request) ?? answerOf(otherwise, request) ?? '', { find })
}

function valueSettings<R extends AnyRequest>(
  options: ValueKeyOptions<R>,
  path: string,
): { readonly most: number; readonly otherwise: KeyFunction<R> } {
  const { most, otherwise } = parse(valueOptions, options, path)
  return { most, otherwise: (otherwise as KeyFunction<R> | undefined) ?? byAddress() }
}

/** What `key` says, if it is a key; a function that throws says nothing. */
function answerOf<R>(key: KeyFunction<R>, request: R): Key | undefined {
  let said: unknown
  try {
    said = key(request)
  } catch {
    return undefined
  }
  if (typeof said === 'string') return said === '' ? undefined : said
  return typeof said === 'number' && !Number.isNaN(said) ? said : undefined
}

function nodeOf(request: AnyRequest): IncomingMessage {
  return 'raw' in request ? request.raw : request
}
