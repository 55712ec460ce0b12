import { AccessLog, type AccessLogSettings } from './access/access-log.ts'
import { Admin } from './admin/admin.ts'
import { Telemetry } from './admin/telemetry.ts'
import type { Config } from './config/config.ts'
import { crampedBy } from './config/descriptors.ts'
import { drain } from './drain.ts'
import { Front } from './listener/front.ts'
import { Peers } from './listener/peers.ts'
import { Proxy } from './listener/proxy.ts'
import { type Log, logEvents } from './log.ts'
import { Reloads } from './reload/reloads.ts'
import { inEffect, restartsFor } from './reload/restarts.ts'
import { Site } from './site.ts'
import { tickShape } from './tick-shape.ts'
import { Upgrades } from './upgrades/upgrades.ts'

/** What the gateway is doing. */
export type Stage = 'starting' | 'ready' | 'draining' | 'closed'

/** Ending may wait for so long, and no longer: what hangs then is nobody's any more. */
const CLOSE_WITHIN_MS = 250

/** One gateway: listeners for traffic, one for operators, a pipeline between the clients and the upstreams. */
export class Gateway {
  stage: Stage = 'starting'
  /** What is in effect. */
  config: Config
  readonly site: Site
  readonly telemetry: Telemetry = new Telemetry()
  readonly reloads: Reloads = new Reloads()
  readonly peers: Peers
  readonly upgrades: Upgrades
  readonly accessLog: AccessLog | undefined
  readonly front: Front
  readonly admin: Admin
  private readonly log: Log
  private readonly proxy: Proxy
  /** Never read: it is there. */
  protected kept: object | undefined
  private readonly startedAt = performance.now()

  constructor(config: Config, log: Log) {
    const { limits } = config
    this.config = config
    this.log = log
    const fault = (error: unknown): void => log.error({ error }, 'an answer met an error of the gateway itself')
    this.site = new Site(config, fault, (made) => logEvents(made, log))
    this.peers = new Peers(limits, config)
    const { site, peers, telemetry } = this
    this.accessLog = config.accessLog === undefined ? undefined : accessLogTo(config.accessLog, log)
    const { accessLog } = this
    this.upgrades = new Upgrades(site)
    const { upgrades } = this
    this.proxy = new Proxy({ site, peers, telemetry, upgrades, log, accessLog })
    this.front = new Front({ proxy: this.proxy, peers, telemetry, limits, log, signals: site.signals }, config)
    this.admin = new Admin(this, config.admin, log)
  }

  get uptimeMs(): number {
    return performance.now() - this.startedAt
  }

  /** Where clients and operators find it; the ports are the real ones. */
  get addresses(): { readonly listen: string; readonly tls?: string; readonly admin: string } {
    return { ...this.front.addresses, admin: this.admin.address }
  }

  /** All listen, or none: an error of any rejects. Operators first, so that they can see that clients cannot come yet. */
  async start(): Promise<void> {
    this.kept = await tickShape()
    try {
      await this.admin.open()
      await this.front.open()
    } catch (error) {
      await this.close()
      throw error
    }
    // It was told to end before it had begun.
    if (this.isOver) return this.close()
    this.stage = 'ready'
    this.log.info({ ...this.addresses, upstreams: this.site.upstreams.map(({ id }) => id) }, 'ready')
    for (const concern of [...this.config.concerns, ...crampedBy(this.config)]) this.log.warn(concern)
  }

  /** Other settings, all of them or none: throws when they cannot be made. `waiting`: those that need a restart. */
  update(config: Config): { readonly waiting: readonly string[]; readonly concerns: readonly string[] } {
    const waiting = restartsFor(this.config, config)
    const next = inEffect(this.config, config)
    this.site.update(next)
    try {
      this.front.update(next)
    } catch (error) {
      this.site.update(this.config)
      throw error
    }
    this.admin.update(next.admin)
    this.peers.limits = next.limits
    this.peers.believed = next
    this.config = next
    this.reloads.succeeded(Date.now(), waiting)
    return { waiting, concerns: [...config.concerns, ...crampedBy(next)] }
  }

  /**
   * Lets what runs finish, for as long as the settings say. True when nothing had to be cut. `hurry`: takes no new connections from now on,
   * for a person who waits for the end.
   */
  async drain(hurry = false): Promise<boolean> {
    this.stage = 'draining'
    this.proxy.drain()
    const { drainMs: graceMs, drainDelayMs } = this.config
    const delayMs = hurry ? 0 : drainDelayMs
    this.log.info({ inFlight: this.telemetry.inFlight, delayMs, withinMs: graceMs }, 'draining')
    const drained = await drain(this.front, this.upgrades, { delayMs, graceMs })
    if (!drained) this.log.warn({ inFlight: this.telemetry.inFlight }, 'cut what was still running')
    await this.close()
    return drained
  }

  /** Ends everything at once. */
  async close(): Promise<void> {
    this.stage = 'closed'
    this.peers.close()
    this.upgrades.close()
    // What is cut has a line in the log, too: so that ends last.
    const ended = Promise.all([this.front.cut(), this.admin.close(), this.site.close()]).then(() =>
      this.accessLog?.close(),
    )
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_WITHIN_MS)
    })
    await Promise.race([ended, late])
    clearTimeout(timer)
  }

  private get isOver(): boolean {
    return this.stage === 'closed'
  }
}

function accessLogTo(settings: AccessLogSettings, log: Log): AccessLog {
  return new AccessLog(settings, (error) => log.error({ error }, 'the access log cannot be written'))
}
