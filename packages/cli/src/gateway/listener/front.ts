import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, Server as NetServer } from 'node:net'
import type { IntakeView } from 'floodwall/server'
import { type Address, showAddress } from '../config/address.ts'
import type { Config } from '../config/config.ts'
import { Carriers } from './carriers.ts'
import { Certificates } from './certificates.ts'
import { type Ground, type Listener, setLimits, trafficServer } from './listener.ts'

// Where clients come in: an address in plain HTTP, one in TLS, or both.

interface Door extends Listener {
  readonly address: Address
}

export class Front {
  readonly certificates: Certificates | undefined
  private readonly ground: Ground
  private readonly carriers = new Carriers()
  private readonly plain: Door | undefined
  private readonly secure: Door | undefined
  private stopped = false

  constructor(ground: Ground, { listen, tls }: Config) {
    this.ground = ground
    this.certificates = tls === undefined ? undefined : new Certificates(tls)
    const door = (address: Address, certificates?: Certificates): Door => ({
      address,
      ...trafficServer(ground, this.carriers, certificates),
    })
    this.plain = tls === undefined || tls.listen !== undefined ? door(listen) : undefined
    this.secure = tls === undefined ? undefined : door(tls.listen ?? listen, this.certificates)
  }

  /** The real ports. `tls` where it has an address of its own. */
  get addresses(): { readonly listen: string; readonly tls?: string } {
    const { plain, secure } = this
    const tls = secure === undefined ? undefined : urlOf('https', secure.server)
    if (plain === undefined) return { listen: tls as string }
    return { listen: urlOf('http', plain.server), ...(tls === undefined ? {} : { tls }) }
  }

  get handshaking(): number {
    return this.carriers.handshaking.size
  }

  /** Whether new connections are taken, by what is spoken there. */
  get intakes(): Readonly<Record<string, IntakeView>> {
    const { plain, secure } = this
    return {
      ...(plain === undefined ? {} : { http: plain.intake.inspect() }),
      ...(secure === undefined ? {} : { https: secure.intake.inspect() }),
    }
  }

  /** All listen, or one could not: then it rejects. */
  async open(): Promise<void> {
    for (const { server, address } of this.doors) {
      server.listen(address.port, address.host)
      await once(server, 'listening')
    }
  }

  /** What can change while it serves. */
  update({ tls, limits }: Config): void {
    if (tls !== undefined) this.certificates?.update(tls)
    for (const door of this.doors) setLimits(door, limits)
  }

  /** Takes no new connections; resolves when the last one has ended. Not http's close(), which cuts idle connections at once. */
  async stop(): Promise<void> {
    if (!this.stopped) for (const { intake } of this.doors) intake.close()
    this.stopped = true
    const listening = this.doors.filter(({ server }) => server.listening)
    await Promise.all(
      listening.map(
        ({ server }) => new Promise<void>((resolve) => void NetServer.prototype.close.call(server, () => resolve())),
      ),
    )
  }

  /** Ends the kept connections on which nothing is asked. */
  closeIdle(): void {
    // node:http calls a connection idle whose last answer is not written yet, and there is no telling it which: all of them wait, then.
    if (this.ground.peers.flushing) return
    for (const { server } of this.doors) server.closeIdleConnections()
  }

  /** Ends those that have not said anything yet. */
  closeSilent(): void {
    this.ground.peers.closeSilent()
    this.carriers.cut()
  }

  /** Ends everything at once. */
  async cut(): Promise<void> {
    const stopped = this.stop()
    // First, since node:http would close: an answer that ends with its connection would pass for a whole one.
    this.ground.peers.cut()
    for (const { server } of this.doors) server.closeAllConnections()
    this.carriers.cut()
    await stopped
  }

  private get doors(): readonly Door[] {
    return [this.plain, this.secure].filter((door) => door !== undefined)
  }
}

function urlOf(scheme: string, server: Server): string {
  const { address, port } = server.address() as AddressInfo
  return `${scheme}://${showAddress({ host: address, port })}`
}
