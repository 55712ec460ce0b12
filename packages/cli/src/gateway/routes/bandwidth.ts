import {
  type Bandwidth,
  type BandwidthOptions,
  bandwidth,
  type Call,
  type Done,
  type Env,
  type Flow,
  type Gate,
  type Layer,
  type Next,
  type Policy,
  type Snapshot,
} from 'floodwall'
import type { BandwidthConfig, DirectionLimits } from '../config/bandwidth-options.ts'
import type { Exchange } from '../exchange/exchange.ts'

// How many bytes a second does a route pass, and of whom?
//
// A layer that lets every call through: it is there to keep its state over reloads, and to be seen where the others are. The bodies look it up.

/** Each exchange waits with one body in each direction at most, so that connections bound those who wait, and this is never reached. */
const MOST_WAITING = 1_000_000

/** Both directions of a body that has become a tunnel. */
export interface TunnelFlows {
  readonly up: Flow | undefined
  readonly down: Flow | undefined
}

export class RouteBandwidth implements Policy {
  readonly kind = 'bandwidth'
  readonly path: string
  private readonly env: Env
  private up: Bandwidth | undefined
  private down: Bandwidth | undefined

  constructor(config: BandwidthConfig, env: Env) {
    this.path = env.path
    this.env = env
    this.set(config)
  }

  /** Other limits from now on, for bodies that are on their way too. */
  set({ up, down }: BandwidthConfig): void {
    this.up = this.direction('up', up, this.up)
    this.down = this.direction('down', down, this.down)
  }

  private direction(
    name: string,
    limits: DirectionLimits | undefined,
    before: Bandwidth | undefined,
  ): Bandwidth | undefined {
    if (limits === undefined) return undefined
    const options = optionsOf(limits)
    if (before === undefined) return bandwidth({ ...options, name: `${this.path}/${name}` }, this.env)
    before.reconfigure(options)
    return before
  }

  run(call: Call, next: Next, done: Done): void {
    next(call, done)
  }

  /** For the body of a request. */
  upload(exchange: Exchange): Flow | undefined {
    return open(this.up, exchange)
  }

  /** For the body of an answer. */
  download(exchange: Exchange): Flow | undefined {
    return open(this.down, exchange)
  }

  /** For a connection that is no HTTP any more. */
  tunnel(exchange: Exchange): TunnelFlows {
    return { up: this.upload(exchange), down: this.download(exchange) }
  }

  inspect(): Snapshot {
    const { kind, path, up, down } = this
    return { kind, path, up: shown(up), down: shown(down) }
  }
}

function open(limit: Bandwidth | undefined, { route, head, peer }: Exchange): Flow | undefined {
  return limit?.open({ key: route.keyOf(head, peer.trusted), of: peer })
}

function optionsOf({ rate, perCaller, perConnection, callers }: DirectionLimits): BandwidthOptions {
  return {
    ...rate,
    size: MOST_WAITING,
    keys: callers,
    ...(perCaller === undefined ? {} : { perKey: perCaller }),
    ...(perConnection === undefined ? {} : { perStream: perConnection }),
  }
}

function shown(limit: Bandwidth | undefined): object | null {
  if (limit === undefined) return null
  const { kind: _, path: __, ...numbers } = limit.inspect()
  return numbers
}

/** The layer of a route's `bandwidth`. */
export function bandwidthLayer(config: BandwidthConfig): Layer {
  const build = (env: Env, previous?: Gate | Policy): RouteBandwidth => {
    if (!(previous instanceof RouteBandwidth)) return new RouteBandwidth(config, env)
    previous.set(config)
    return previous
  }
  return { kind: 'bandwidth', options: Object.freeze({ ...config }), build }
}
