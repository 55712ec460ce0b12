import { constants } from 'node:crypto'
import type { ServerOptions } from 'node:https'
import { createSecureContext, type SecureContext, type SecureContextOptions, type Server } from 'node:tls'
import type { Identity, TlsConfig } from '../config/tls-options.ts'

// Which certificate does a client see? That of the host it names, an exact one before a wildcard; the first for all others.
//
// Others can take their place at any time: connections that are there go on as they began, new ones see the new certificate.

/** What `setSecureContext` and `createServer` both take. */
interface Context extends SecureContextOptions {
  readonly cert: string
  readonly key: string
}

interface Held {
  readonly identity: Identity
  readonly context: SecureContext
}

export class Certificates {
  private tls: TlsConfig
  private held: readonly Held[]
  private server: Server | undefined

  constructor(tls: TlsConfig) {
    this.tls = tls
    this.held = this.holding(tls, [])
  }

  /** For the server that will serve with them. */
  options(handshakeMs: number): ServerOptions {
    const { clientCert } = this.tls
    return {
      ...contextOf(this.tls, this.first),
      // No HTTP/2 here: a client that can do nothing else is told so in the handshake.
      ALPNProtocols: ['http/1.1'],
      SNICallback: (host, done) => done(null, this.contextFor(host)),
      requestCert: clientCert !== 'none',
      // A certificate that is wrong is refused by us: Node would refuse who shows none, too.
      rejectUnauthorized: clientCert === 'require',
      handshakeTimeout: handshakeMs,
    }
  }

  serve(server: Server): void {
    this.server = server
  }

  /** Certificates, keys, authorities and the least version can change; what is asked of clients cannot. */
  update(tls: TlsConfig): void {
    const before = this.first
    this.held = this.holding(tls, this.held)
    this.tls = tls
    // Not when it is the same: clients could not resume their sessions.
    if (this.first.mark !== before.mark) this.server?.setSecureContext(contextOf(tls, this.first))
  }

  /** What clients see, for people. */
  inspect(): object[] {
    return this.held.map(({ identity: { hosts, leaf } }) => ({
      hosts: hosts.map(({ text }) => text),
      subject: leaf.subject,
      serial: leaf.serialNumber,
      validTo: new Date(leaf.validTo).toISOString(),
    }))
  }

  /** When the certificate that expires first does so, as Unix time in milliseconds. */
  get expiresAt(): number {
    return Math.min(...this.held.map(({ identity: { leaf } }) => Date.parse(leaf.validTo)))
  }

  private get first(): Identity {
    return (this.held[0] as Held).identity
  }

  /** Undefined: that of the server, which is the first. */
  private contextFor(name: string): SecureContext | undefined {
    const host = name.toLowerCase()
    const fits = ({ identity: { hosts } }: Held, exact: boolean): boolean =>
      hosts.some((pattern) => pattern.matches(host) && (pattern.text === host) === exact)
    const found = this.held.find((one) => fits(one, true)) ?? this.held.find((one) => fits(one, false))
    return found?.context
  }

  private holding(tls: TlsConfig, before: readonly Held[]): Held[] {
    return tls.identities.map((identity) => {
      const known = before.find((one) => one.identity.mark === identity.mark)
      return { identity, context: known?.context ?? createSecureContext(contextOf(tls, identity)) }
    })
  }
}

function contextOf({ ca, minVersion }: TlsConfig, { cert, key }: Identity): Context {
  return {
    cert,
    key,
    minVersion,
    ...(ca === undefined ? {} : { ca }),
    // A client that renegotiates makes us calculate; no HTTP client needs it.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  }
}
