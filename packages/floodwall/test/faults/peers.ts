import { once } from 'node:events'
import http from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Call } from 'floodwall'

// Servers that behave badly, on real sockets.

/** A server whose sockets are handled by hand; it listens when it is given out. */
export class BadPeer implements AsyncDisposable {
  /** Sockets that are open now. */
  readonly sockets = new Set<Socket>()
  /** Sockets that ever came. */
  accepted = 0
  readonly port: number
  private readonly server: Server

  private constructor(server: Server, onSocket: (socket: Socket) => void) {
    this.server = server
    this.port = (server.address() as AddressInfo).port
    server.on('connection', (socket) => {
      this.accepted++
      this.sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => this.sockets.delete(socket))
      onSocket(socket)
    })
  }

  static async listen(onSocket: (socket: Socket) => void): Promise<BadPeer> {
    const server = createServer({ pauseOnConnect: false }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new BadPeer(server, onSocket)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    this.server.close()
    await once(this.server, 'close')
  }
}

/** A port on which nobody listens. */
export async function closedPort(): Promise<number> {
  const peer = await BadPeer.listen(() => {})
  const { port } = peer
  await peer[Symbol.asyncDispose]()
  return port
}

/** A request as users write it with node:http: one socket of its own, ended by the call's signal. Resolves to the whole body. */
export function over(port: number, body?: Buffer): (call: Call) => Promise<string> {
  return ({ signal }) =>
    new Promise((resolve, reject) => {
      const method = body === undefined ? 'GET' : 'POST'
      const request = http.request({ host: '127.0.0.1', port, method, agent: false, signal }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (text += chunk))
        response.on('end', () => resolve(text))
        response.on('error', reject)
      })
      request.on('error', reject)
      request.end(body)
    })
}

/** The same with the platform's fetch. */
export function fetched(port: number, body?: Buffer): (call: Call) => Promise<string> {
  return async ({ signal }) => {
    const init = body === undefined ? { signal } : { signal, body, method: 'POST' }
    const response = await fetch(`http://127.0.0.1:${port}/`, { ...init, headers: { connection: 'close' } })
    return response.text()
  }
}

/** Resolves when `condition` holds; the test's own patience is the limit. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2))
}

/** Timers of this process that hold it. */
export function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
}

/** TCP sockets of this process. */
export function tcp(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length
}
