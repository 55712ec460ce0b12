import * as v from 'valibot'
import { ConfigError } from '../core/errors.ts'
import { parse, positiveSpan, show } from '../core/schema.ts'
import { addressIn } from '../server/network-address.ts'
import { LONGEST_WAIT_MS } from './listener.ts'
import type { Registered } from './registry.ts'
import { digestOf, isToken, tokenForm } from './token.ts'

const HOST = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::\d{1,5})?$/i

const host = v.custom<string>(
  (input) => typeof input === 'string' && HOST.test(input),
  'a name such as "ops.example.com", with the port that callers see if it is neither 80 nor ours',
)

const adminOptions = v.strictObject({
  /** It answers to this machine alone, and then without a token, too. Default false: a token is needed. */
  loopbackOnly: v.optional(v.boolean('true or false'), false),
  /** Names that it answers to, besides its addresses and `localhost`. Default: none. */
  hosts: v.optional(v.pipe(v.array(host, 'a list of names'), v.maxLength(100, 'at most 100 names')), () => []),
  /** What stands before its paths where it is mounted, for example `/admin`. Default: nothing. */
  under: v.optional(v.pipe(v.string('a path'), v.regex(/^(?:\/[\w.~-]{1,100}){1,10}$/, 'a path such as "/admin"'))),
  /** So long an answer waits for what it has begun; what takes longer goes on behind a 202. Default 10 s, at most 25 s. */
  wait: v.optional(v.pipe(positiveSpan, v.maxValue(LONGEST_WAIT_MS, `at most ${LONGEST_WAIT_MS} ms`)), '10s'),
})

/** See the schema above. */
export type AdminOptions = v.InferInput<typeof adminOptions> &
  Registered & {
    /** What operators send as `Authorization: Bearer ...`: at least 16 visible characters. Only its digest is kept. */
    readonly token?: string | undefined
  }

export interface AdminSettings extends v.InferOutput<typeof adminOptions> {
  readonly digest: Buffer | undefined
}

/** The options but for what is registered, checked. Throws a ConfigError. */
export function adminSettings(
  token: string | undefined,
  options: Omit<AdminOptions, keyof Registered | 'token'>,
): AdminSettings {
  const settings = parse(adminOptions, options, 'admin')
  if (token === undefined) {
    if (settings.loopbackOnly) return { ...settings, digest: undefined }
    throw new ConfigError([{ path: 'admin.token', value: 'undefined', expected: `${tokenForm}, or loopbackOnly` }])
  }
  // Its value is a secret, also a wrong one.
  const value = typeof token === 'string' ? `a text of ${(token as string).length} characters` : show(typeof token)
  if (!isToken(token)) throw new ConfigError([{ path: 'admin.token', value, expected: tokenForm }])
  return { ...settings, digest: digestOf(token) }
}

const listenOptions = v.strictObject({
  /** 0: any free one. */
  port: v.custom<number>(
    (input) => Number.isInteger(input) && (input as number) >= 0 && (input as number) <= 65_535,
    'a port from 0 to 65535',
  ),
  /** Default: this machine alone. */
  host: v.optional(v.pipe(v.string('an address'), v.minLength(1, 'an address')), '127.0.0.1'),
})

export type ListenOptions = v.InferInput<typeof listenOptions>

/** Where to listen, checked. Throws a ConfigError. */
export function listenSettings(options: ListenOptions, loopbackOnly: boolean): v.InferOutput<typeof listenOptions> {
  const settings = parse(listenOptions, options, 'listen')
  if (!loopbackOnly || settings.host === 'localhost' || isLoopback(settings.host)) return settings
  const expected = 'an address of loopback, since loopbackOnly is set'
  throw new ConfigError([{ path: 'listen.host', value: show(settings.host), expected }])
}

/** True for an address that only this machine has. */
export function isLoopback(address: string | undefined): boolean {
  const bare = addressIn(address ?? '')
  return bare === '::1' || (bare?.startsWith('127.') ?? false)
}
