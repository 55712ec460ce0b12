import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Faults } from './faults.ts'
import { type Reading, Unreadable } from './reading.ts'

// Certificates and keys from files. OpenSSL's own words for what is wrong with them ("no start line") help nobody: each is looked at alone
// and then with the other, and a fault says which of the files is meant.

/** A certificate with those that lead to its root, and its key. */
export interface Pair {
  readonly cert: string
  readonly key: string
  readonly leaf: X509Certificate
}

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/** Where settings name files: beside the settings' own, unless they say the whole path. */
export class Credentials {
  private readonly folder: string
  private readonly reading: Reading
  private readonly faults: Faults

  /** `settings`: the file of the settings; undefined when there is none. */
  constructor(settings: string | undefined, reading: Reading, faults: Faults) {
    this.folder = settings === undefined ? '.' : dirname(settings)
    this.reading = reading
    this.faults = faults
  }

  /** Undefined when there were faults: they are told. `place` is the path of the settings that name both. */
  pair(place: string, cert: string, key: string): Pair | undefined {
    const chain = this.certificates(`${place}.cert`, cert)
    const secret = this.text(`${place}.key`, key)
    const parsed = secret === undefined ? undefined : keyOf(secret)
    if (secret !== undefined && parsed === undefined) {
      this.tell(`${place}.key`, key, 'a private key in PEM, without a passphrase')
    }
    const [leaf] = chain ?? []
    if (chain === undefined || leaf === undefined || secret === undefined || parsed === undefined) return undefined
    const pair = { cert: pem(chain), key: secret, leaf }
    if (!leaf.checkPrivateKey(parsed)) this.tell(`${place}.key`, key, `the key of the certificate in ${cert}`)
    else if (!isUsable(pair)) this.tell(`${place}.cert`, cert, 'a certificate that is strong enough for TLS')
    else return pair
    return undefined
  }

  /** Those who sign, as one text; undefined when there were faults. */
  authorities(place: string, file: string): string | undefined {
    const all = this.certificates(place, file)
    return all === undefined ? undefined : pem(all)
  }

  /** The text of a file; undefined when it cannot be read, which is told. */
  text(setting: string, file: string): string | undefined {
    try {
      return this.reading.text(resolve(this.folder, file))
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      this.tell(setting, file, `a file that can be read (it ${error.message})`)
      return undefined
    }
  }

  private tell(setting: string, file: string, expected: string): void {
    this.faults.say(setting, JSON.stringify(file), expected)
  }

  private certificates(setting: string, file: string): X509Certificate[] | undefined {
    const text = this.text(setting, file)
    if (text === undefined) return undefined
    try {
      const all = (text.match(BLOCK) ?? []).map((block) => new X509Certificate(block))
      if (all.length > 0) return all
    } catch {
      // Below.
    }
    this.tell(setting, file, 'certificates in PEM')
    return undefined
  }
}

/** The same for the same secrets, and no way back to them. */
export function fingerprint(...parts: readonly (string | undefined)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64')
}

function pem(certificates: readonly X509Certificate[]): string {
  return certificates.map((certificate) => certificate.toString()).join('')
}

function keyOf(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text)
  } catch {
    return undefined
  }
}

/** OpenSSL has a say of its own: it refuses short keys and old digests. */
function isUsable({ cert, key }: Pair): boolean {
  try {
    createSecureContext({ cert, key })
    return true
  } catch {
    return false
  }
}
