import type { IncomingMessage, Server } from 'node:http'
import {
  type Answer,
  Door,
  endServer,
  jsonAnswer,
  operatorsServer,
  type Place,
  sendAnswer,
  type Token,
} from 'floodwall/admin'
import type { AdminConfig } from '../config/admin-options.ts'
import type { Gateway } from '../gateway.ts'
import type { Log } from '../log.ts'
import { effective } from './effective.ts'
import { inspect } from './inspect.ts'
import { metrics } from './metrics.ts'
import { listenAt, showListening } from './socket-file.ts'

// The listener for operators. It reads and changes nothing. Who may come in is decided as at every page for operators (`floodwall/admin`); but
// probes need neither token nor name: they learn one word.

const plain = 'text/plain; charset=utf-8'

function say(status: number, body: string, headers: Answer['headers'] = {}): Answer {
  return { type: plain, status, body: `${body}\n`, headers }
}

export class Admin {
  private readonly gateway: Gateway
  private readonly log: Log
  private readonly server: Server
  private readonly door: Door
  private readonly at: AdminConfig['place']

  constructor(gateway: Gateway, config: AdminConfig, log: Log) {
    this.gateway = gateway
    this.log = log
    this.at = config.place
    this.door = new Door(config)
    this.server = operatorsServer((request, response) => {
      sendAnswer(response, this.page(request), request.method === 'HEAD')
    })
  }

  get token(): Token {
    return this.door.token
  }

  /** `http://127.0.0.1:9090`, `unix:/run/floodwall/admin.sock`; the port is the real one. */
  get address(): string {
    return showListening(this.server)
  }

  get listening(): boolean {
    return this.server.listening
  }

  async open(): Promise<void> {
    await listenAt(this.server, this.at)
  }

  /** Token and names; where it listens stays. */
  update(config: AdminConfig): void {
    this.door.change(config)
  }

  async close(): Promise<void> {
    await endServer(this.server)
  }

  private page({ method, url, headers }: IncomingMessage): Answer {
    if (method !== 'GET' && method !== 'HEAD') return say(405, 'This page is for reading.', { allow: 'GET, HEAD' })
    const { gateway } = this
    if (url === '/healthz') return say(200, 'ok')
    if (url === '/readyz') return gateway.stage === 'ready' ? say(200, 'ready') : say(503, gateway.stage)
    const refused = this.door.refusal(headers, this.place, performance.now())
    if (refused !== undefined) {
      if (refused.status === 429 && this.token.alarming) {
        this.log.warn({ failures: this.token.failures }, 'somebody guesses the admin token')
      }
      return say(refused.status, refused.why, refused.headers)
    }
    switch (url) {
      case '/inspect':
        return jsonAnswer(200, inspect(gateway))
      case '/config':
        return jsonAnswer(200, effective(gateway.config))
      case '/metrics':
        return { type: 'text/plain; version=0.0.4; charset=utf-8', status: 200, body: metrics(gateway) }
      default:
        return say(404, 'There are /inspect, /config, /metrics, /healthz and /readyz.')
    }
  }

  /** Where it listens; in the file system is no place. */
  private get place(): Place | undefined {
    const at = this.server.address()
    return at === null || typeof at === 'string' ? undefined : at
  }
}
