import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, Server as NetServer } from 'node:net'
import { AccessLog, type AccessLogSettings } from './access/access-log.ts'
import { adminServer } from './admin/admin.ts'
import { Telemetry } from './admin/telemetry.ts'
import { type Address, showAddress } from './config/address.ts'
import type { Config } from './config/config.ts'
import { trafficServer } from './listener/listener.ts'
import { Peers } from './listener/peer.ts'
import { Proxy } from './listener/proxy.ts'
import { type Log, logEvents } from './log.ts'
import { Site } from './site.ts'

/** A client with a kept connection that has not asked for so long is not about to. */
const IDLE_GRACE_MS = 500
const SWEEP_MS = 50

/** What the gateway is doing. */
export type Stage = 'starting' | 'ready' | 'draining' | 'closed'

/** One gateway: a listener for traffic, one for operators, a pipeline between the clients and the upstreams. */
export class Gateway {
  stage: Stage = 'starting'
  readonly site: Site
  readonly telemetry: Telemetry = new Telemetry()
  readonly peers: Peers
  readonly accessLog: AccessLog | undefined
  private readonly config: Config
  private readonly log: Log
  private readonly proxy: Proxy
  private readonly traffic: Server
  private readonly admin: Server
  private readonly startedAt = performance.now()

  constructor(config: Config, log: Log) {
    const { limits } = config
    this.config = config
    this.log = log
    const fault = (error: unknown): void => log.error({ error }, 'an answer met an error of the gateway itself')
    this.site = new Site(config, fault, (made) => logEvents(made, log))
    this.peers = new Peers(limits)
    const { site, peers, telemetry } = this
    this.accessLog = config.accessLog === undefined ? undefined : accessLogTo(config.accessLog, log)
    const { accessLog } = this
    this.proxy = new Proxy({ site, peers, telemetry, log, accessLog, mostHeaderLines: limits.headerCount })
    this.traffic = trafficServer(this.proxy, peers, telemetry, limits, log)
    this.admin = adminServer(this)
  }

  get uptimeMs(): number {
    return performance.now() - this.startedAt
  }

  /** Where the two listen; the ports are the real ones. */
  get addresses(): { readonly listen: string; readonly admin: string } {
    return { listen: urlOf(this.traffic), admin: urlOf(this.admin) }
  }

  /** Both listen, or none: an error of either rejects. */
  async start(): Promise<void> {
    try {
      await listen(this.admin, this.config.admin)
      await listen(this.traffic, this.config.listen)
    } catch (error) {
      await this.close()
      throw error
    }
    this.stage = 'ready'
    this.log.info({ ...this.addresses, upstreams: this.site.upstreams.map(({ id }) => id) }, 'ready')
  }

  /** Takes no new connections and lets what runs finish, for as long as the configuration says. True when nothing had to be cut. */
  async drain(): Promise<boolean> {
    this.stage = 'draining'
    this.proxy.draining = true
    const { drainMs } = this.config
    this.log.info({ inFlight: this.telemetry.inFlight, withinMs: drainMs }, 'draining')
    // Not http's close(), which cuts idle connections at once: a request may be on its way on one of them. Whoever asks now is answered, and
    // told that it was the last time; who is still idle after a while will not ask.
    const done = new Promise<void>((resolve) => {
      NetServer.prototype.close.call(this.traffic, () => resolve())
    })
    const graceUntil = performance.now() + Math.min(IDLE_GRACE_MS, drainMs)
    const sweep = setInterval(() => {
      if (performance.now() >= graceUntil) this.traffic.closeIdleConnections()
    }, SWEEP_MS)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), drainMs)
    })
    const drained = await Promise.race([done.then(() => true), late])
    clearTimeout(timer)
    clearInterval(sweep)
    if (!drained) this.log.warn({ inFlight: this.telemetry.inFlight }, 'cut what was still running')
    await this.close()
    return drained
  }

  /** Ends everything at once. */
  async close(): Promise<void> {
    this.stage = 'closed'
    for (const server of [this.traffic, this.admin]) {
      server.closeAllConnections()
      await close(server)
    }
    this.peers.close()
    await this.site.close()
    await this.accessLog?.close()
  }
}

function accessLogTo(settings: AccessLogSettings, log: Log): AccessLog {
  return new AccessLog(settings, (error) => log.error({ error }, 'the access log cannot be written'))
}

async function listen(server: Server, { host, port }: Address): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening')
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return
  await new Promise<void>((resolve) => server.close(() => resolve()))
}

function urlOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo
  return `http://${showAddress({ host: address, port })}`
}
