import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** A server on a free port of this machine, until the test is over. */
export interface Running {
  readonly port: number
  /** `127.0.0.1:port`. */
  readonly id: string
  readonly server: Server | TcpServer
  /** Connections that are open. */
  connections(): number
  /** Stops to listen and cuts every connection. */
  stop(): Promise<void>
}

export function http(handler: RequestListener): Promise<Running> {
  return running(createServer(handler))
}

export function tcp(handler: (socket: Socket) => void): Promise<Running> {
  const server = createTcpServer(handler)
  // Who does not read does not hear that the other side has closed.
  server.on('connection', (socket) => socket.resume())
  return running(server)
}

/** A port where nobody listens. */
export async function deadPort(): Promise<number> {
  const { port, stop } = await tcp(() => {})
  await stop()
  return port
}

async function running(server: Server | TcpServer): Promise<Running> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopping ??= new Promise((done) => {
      server.close(() => done())
      for (const socket of sockets) socket.destroy()
    })
    return stopping
  }
  onTestFinished(stop)
  return { port, id: `127.0.0.1:${port}`, server, connections: () => sockets.size, stop }
}
