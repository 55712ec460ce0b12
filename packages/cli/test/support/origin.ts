import { once } from 'node:events'
import { createServer as createHttp, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcp, type Socket, type Server as TcpServer } from 'node:net'
import { later } from './cleanup.ts'

// Servers that stand behind the gateway, well-behaved ones and others.

export interface Seen {
  readonly method: string
  readonly url: string
  readonly raw: readonly string[]
  readonly headers: IncomingMessage['headers']
  body: string
}

export class Origin {
  readonly port: number
  readonly seen: Seen[] = []
  /** Connections that are open. */
  readonly sockets: Set<Socket>

  constructor(port: number, sockets: Set<Socket>) {
    this.port = port
    this.sockets = sockets
  }
}

/** Gets a connection whose client offers another protocol. */
export type Upgrader = (request: IncomingMessage, socket: Socket, head: Buffer) => void

/** An HTTP server that records what it sees and answers with `handler`; without one it says `ok`. */
export async function startOrigin(handler?: RequestListener, port = 0, upgrader?: Upgrader): Promise<Origin> {
  const sockets = new Set<Socket>()
  const server = createHttp((request, response) => {
    const { method, url, rawHeaders, headers } = request
    const seen: Seen = { method: method as string, url: url as string, raw: rawHeaders, headers, body: '' }
    origin.seen.push(seen)
    if (handler !== undefined) return handler(request, response)
    request.setEncoding('utf8')
    request.on('data', (text: string) => {
      seen.body += text
    })
    request.on('end', () => response.end('ok'))
  })
  if (upgrader !== undefined) server.on('upgrade', upgrader)
  const origin = new Origin(await listen(server, sockets, port), sockets)
  return origin
}

/** A TCP server: `handler` gets each connection. */
export async function startTcp(handler: (socket: Socket) => void): Promise<Origin> {
  const sockets = new Set<Socket>()
  return new Origin(await listen(createTcp(handler), sockets), sockets)
}

/** A port on which nobody listens. */
export async function deadPort(): Promise<number> {
  const server = createTcp().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function listen(server: Server | TcpServer, sockets: Set<Socket>, port = 0): Promise<number> {
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  later(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
