import { type Call, type Done, envOf, type Layer, type Next, type Policy, systemRuntime } from 'floodwall'
import { DEFAULT_WORDS, type FirstByteTime } from '../config/first-byte-options.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import type { Exchange } from './exchange.ts'
import { limitOf, type Patient } from './patience.ts'

// How long does an attempt of a route wait for the first byte of an answer?
//
// The time is the route's, since the settings say it of routes; it runs where it measures the server and nothing else, next to the work:
// inside of the breakers and slots of a server, which several routes share. So what is too slow is evidence against the server.

/** The time of one route, at work. */
export class FirstByte {
  private readonly time: FirstByteTime
  private readonly limit: Patient | undefined
  private told = false

  constructor(time: FirstByteTime, path: string) {
    const { afterMs } = time
    this.time = time
    this.limit = afterMs === undefined ? undefined : limitOf(afterMs, envOf(systemRuntime, `${path}/timeout`))
  }

  /** It takes the place of layers that say another. */
  get replaces(): boolean {
    return this.time.from === 'route'
  }

  /** What to know about a time that nobody has asked for, when it was over after `afterMs`; undefined: somebody has. */
  excuse(afterMs: number): string | undefined {
    return this.time.from === 'default' && this.time.afterMs === afterMs
      ? `no answer within ${Math.round(afterMs)} ms: ${DEFAULT_WORDS}`
      : undefined
  }

  run(call: Call, next: Next, done: Done): void {
    if (this.limit === undefined) next(call, done)
    else if ((call.endpoint as Upstream).ready) this.limit.run(call, next, done)
    else this.limit.runUnconnected(call, next, done)
  }

  /** The same time, so that it goes on counting. */
  fits({ afterMs, from }: FirstByteTime): boolean {
    return this.time.afterMs === afterMs && this.time.from === from
  }

  /** The excuse, the first time that somebody is owed it. */
  news(): string | undefined {
    const { limit, time } = this
    if (this.told || limit === undefined || limit.late === 0) return undefined
    this.told = true
    return this.excuse(time.afterMs as number)
  }

  inspect(): object {
    return { ...this.time, timeouts: Number(this.limit?.inspect(0)['timeouts'] ?? 0) }
  }
}

class AtTheServer implements Policy {
  readonly kind = 'firstByte'
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  run(call: Call, next: Next, done: Done): void {
    ;(call.data as Exchange).route.firstByte.run(call, next, done)
  }
}

/** Around the wire: the time of the route that a call came by. */
export const firstByte: Layer = {
  kind: 'firstByte',
  options: Object.freeze({}),
  build: (env) => new AtTheServer(env.path),
}
