import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'

// Certificates for tests, made here: X.509 (RFC 5280) in DER, written by hand, so that no test depends on a program of the machine or on a
// file that expires one day.

export interface Certificate {
  /** PEM. */
  readonly cert: string
  /** PEM. */
  readonly key: string
  readonly name: string
  readonly secret: KeyObject
}

export interface Wanted {
  /** DNS names and addresses. Default: `localhost` and `127.0.0.1`. */
  readonly names?: readonly string[]
  /** Default: it signs itself. */
  readonly by?: Certificate
  /** May sign others. */
  readonly authority?: boolean
  /** Default: yesterday and in ten days. */
  readonly from?: Date
  readonly to?: Date
}

const DAY_MS = 86_400_000
const ECDSA_SHA256 = '2a8648ce3d040302'
const COMMON_NAME = '550403'
const BASIC_CONSTRAINTS = '551d13'
const ALTERNATIVE_NAMES = '551d11'

export function certificate(name: string, wanted: Wanted = {}): Certificate {
  const { names = ['localhost', '127.0.0.1'], by, authority = false } = wanted
  const { from = new Date(Date.now() - DAY_MS), to = new Date(Date.now() + 10 * DAY_MS) } = wanted
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = sequence(oid(ECDSA_SHA256))
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)])
  const extensions = sequence(
    sequence(oid(BASIC_CONSTRAINTS), der(0x01, [0xff]), der(0x04, sequence(...(authority ? [der(0x01, [0xff])] : [])))),
    sequence(oid(ALTERNATIVE_NAMES), der(0x04, sequence(...names.map(alternative)))),
  )
  const body = sequence(
    der(0xa0, der(0x02, [2])),
    der(0x02, serial),
    algorithm,
    distinguished(by?.name ?? name),
    sequence(time(from), time(to)),
    distinguished(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  )
  const signature = sign('sha256', body, by?.secret ?? privateKey)
  const whole = sequence(body, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])))
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64').replace(/.{64}/g, '$&\n').trimEnd()}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    name,
    secret: privateKey,
  }
}

/** Tag, length, content. */
function der(tag: number, content: Buffer | readonly number[]): Buffer {
  const bytes = Buffer.from(content)
  const { length } = bytes
  const head =
    length < 128 ? [tag, length] : length < 256 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from(head), bytes])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}

function distinguished(name: string): Buffer {
  return sequence(der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from(name)))))
}

/** GeneralizedTime: 20260102030405Z. */
function time(at: Date): Buffer {
  return der(0x18, Buffer.from(`${at.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`))
}

function alternative(name: string): Buffer {
  if (isIP(name) === 4) return der(0x87, name.split('.').map(Number))
  return der(0x82, Buffer.from(name))
}
