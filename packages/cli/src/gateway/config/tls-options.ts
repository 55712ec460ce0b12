import { oneOf } from 'floodwall/rules'
import * as v from 'valibot'
import { HostPattern, hostForm } from '../routes/host-pattern.ts'
import { type Address, address } from './address.ts'
import { type Credentials, fingerprint, type Pair } from './credentials.ts'
import type { Faults } from './faults.ts'
import { listOf, made } from './words.ts'

// TLS on both sides. Files are read, and looked at, with the settings that name them: a certificate that does not fit its key is a fault of
// the settings like any other, at start and at a reload.

const file = v.pipe(v.string('a file'), v.minLength(1, 'a file'))

const MOST_NAMES = 1000

/** Of the gateway towards its clients. */
export const tlsOptions = v.strictObject({
  /** Default: clients find TLS at `listen`. With this they find it here, and plain HTTP there. */
  listen: v.optional(address),
  /** The certificate, then those that lead to its root; PEM. */
  cert: file,
  /** Its key; PEM. */
  key: file,
  /** Who signs the certificates of clients; PEM. */
  ca: v.optional(file),
  /** Must clients show one? `request`: they may; a wrong one is refused all the same. Default `none`. */
  clientCert: v.optional(oneOf('none', 'request', 'require'), 'none'),
  /** Default `TLSv1.2`. */
  minVersion: v.optional(oneOf('TLSv1.2', 'TLSv1.3'), 'TLSv1.2'),
  /** Other certificates for other hosts; the most exact host counts. */
  sni: v.optional(
    v.pipe(
      v.array(
        v.strictObject({ host: listOf(made(HostPattern.of, hostForm), 100, hostForm), cert: file, key: file }),
        'a list of hosts with their certificates',
      ),
      v.maxLength(MOST_NAMES, `at most ${MOST_NAMES} of them`),
    ),
    [],
  ),
})

/** Of the gateway towards the servers of a cluster. */
export const upstreamTlsOptions = v.strictObject({
  /** Who signs the servers' certificates; PEM. Default: those that Node trusts. */
  ca: v.optional(file),
  /** What the gateway shows of itself; PEM. */
  cert: v.optional(file),
  key: v.optional(file),
  /** The name that the servers' certificates must have, and that the servers are told. Default: the host of the address. */
  servername: v.optional(v.pipe(v.string(), v.regex(/^[\w.-]{1,253}$/, 'the name of a host'))),
  /** Takes any certificate, whoever made it. */
  insecure: v.optional(v.boolean('true or false'), false),
})

/** A certificate, and for whom. */
export interface Identity extends Pair {
  /** None: for whoever has none of his own. */
  readonly hosts: readonly HostPattern[]
  /** Changes when certificate, key or authorities do. */
  readonly mark: string
}

export type ClientCert = 'none' | 'request' | 'require'

export interface TlsConfig {
  readonly listen: Address | undefined
  readonly clientCert: ClientCert
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  readonly ca: string | undefined
  /** The first is for clients who name no host, or none that is known. */
  readonly identities: readonly Identity[]
}

export interface UpstreamTls {
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
  readonly servername: string | undefined
  readonly insecure: boolean
  /** Changes when anything does. */
  readonly mark: string
}

/** Undefined when there are faults, which are told. */
export function tlsOf(
  given: v.InferOutput<typeof tlsOptions>,
  credentials: Credentials,
  faults: Faults,
): TlsConfig | undefined {
  const { listen, clientCert, minVersion, ca: signers, sni } = given
  const ca = signers === undefined ? undefined : credentials.authorities('tls.ca', signers)
  const fits = (clientCert === 'none') === (signers === undefined)
  if (!fits && signers === undefined) faults.say('tls.ca', 'nothing', 'who signs the certificates of clients')
  if (!fits && signers !== undefined)
    faults.say('tls.clientCert', clientCert, '"request" or "require", since there is a "ca"')
  const identity = (place: string, hosts: readonly HostPattern[], cert: string, key: string): Identity | undefined => {
    const pair = credentials.pair(place, cert, key)
    return pair === undefined
      ? undefined
      : { ...pair, hosts, mark: fingerprint(pair.cert, pair.key, ca ?? '', minVersion) }
  }
  const all = [
    identity('tls', [], given.cert, given.key),
    ...sni.map(({ host, cert, key }, i) => identity(`tls.sni[${i}]`, host, cert, key)),
  ]
  const identities = all.filter((one) => one !== undefined)
  if (!fits || identities.length < all.length || (signers !== undefined && ca === undefined)) return undefined
  return { listen, clientCert, minVersion, ca, identities }
}

/** Undefined when there are faults, which are told. */
export function upstreamTlsOf(
  given: v.InferOutput<typeof upstreamTlsOptions>,
  place: string,
  credentials: Credentials,
  faults: Faults,
): UpstreamTls | undefined {
  const { servername, insecure } = given
  const ca = given.ca === undefined ? undefined : credentials.authorities(`${place}.ca`, given.ca)
  let pair: Pair | undefined
  if (given.cert !== undefined && given.key !== undefined) pair = credentials.pair(place, given.cert, given.key)
  else if (given.cert !== undefined) faults.say(`${place}.key`, 'nothing', 'the key of "cert"')
  else if (given.key !== undefined) faults.say(`${place}.cert`, 'nothing', 'the certificate of "key"')
  if (given.ca !== undefined && insecure) faults.say(`${place}.insecure`, 'true', 'this or "ca", not both')
  const wanted = given.cert !== undefined || given.key !== undefined
  if ((given.ca !== undefined && (ca === undefined || insecure)) || (wanted && pair === undefined)) return undefined
  const mark = fingerprint(ca, pair?.cert, pair?.key, servername, String(insecure))
  return { ca, cert: pair?.cert, key: pair?.key, servername, insecure, mark }
}

/** What is no fault, and should be known all the same. `now` is Unix time in milliseconds. */
export function concernsOf({ identities }: TlsConfig, now: number): string[] {
  return identities.flatMap(({ hosts, leaf }, i) => {
    const place = i === 0 ? 'tls.cert' : `tls.sni[${i - 1}].cert`
    const concerns = hosts
      .filter(({ text }) => leaf.checkHost(text.replace('*', 'x')) === undefined)
      .map(({ text }) => `${place}: the certificate is not for ${text}`)
    if (Date.parse(leaf.validTo) < now) concerns.push(`${place}: the certificate has expired (${leaf.validTo})`)
    if (Date.parse(leaf.validFrom) > now)
      concerns.push(`${place}: the certificate is not valid yet (${leaf.validFrom})`)
    return concerns
  })
}
