import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, RequestListener } from 'node:http'
import { createServer, type ServerOptions, request as send } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import type { Certificate } from './certificates.ts'
import { later } from './cleanup.ts'
import { configFile } from './gateway.ts'

// Both ends of TLS.

/** Files with a certificate and its key, for settings. */
export function filesOf({ cert, key }: Certificate): { readonly cert: string; readonly key: string } {
  return { cert: configFile(cert, 'cert.pem'), key: configFile(key, 'key.pem') }
}

export interface SecureAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The common name on the server's certificate. */
  readonly shown: string
  readonly protocol: string | null
}

export interface SecureAsk extends ConnectionOptions {
  readonly path?: string
  readonly headers?: OutgoingHttpHeaders
}

/** One request on a connection of its own; rejects when there is no whole answer. */
export async function askTls(port: number, options: SecureAsk = {}): Promise<SecureAnswer> {
  const request = send({ host: '127.0.0.1', port, agent: false, servername: 'localhost', ...options })
  later(() => void request.destroy())
  // A connection that breaks after the head is told by the response.
  request.on('error', () => {})
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const socket = response.socket as TLSSocket
  const shown = String(socket.getPeerCertificate().subject.CN)
  const protocol = socket.getProtocol()
  let body = ''
  for await (const chunk of response) body += String(chunk)
  return { status: response.statusCode as number, headers: response.headers, body, shown, protocol }
}

/** A connection whose handshake is done. */
export async function wireTls(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ...options })
  later(() => void socket.destroy())
  await once(socket, 'secureConnect')
  socket.on('error', () => {})
  return socket
}

export interface SecureOrigin {
  readonly port: number
  readonly sockets: Set<Socket>
  /** What clients named in their handshakes. */
  readonly names: (string | undefined)[]
  readonly hosts: (string | undefined)[]
}

export async function startSecureOrigin(options: ServerOptions, handler?: RequestListener): Promise<SecureOrigin> {
  const sockets = new Set<Socket>()
  const names: (string | undefined)[] = []
  const hosts: (string | undefined)[] = []
  const server = createServer(options, (request, response) => {
    hosts.push(request.headers.host)
    if (handler !== undefined) handler(request, response)
    else response.end('secret')
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('secureConnection', (socket: TLSSocket & { servername?: string | false }) => {
    names.push(socket.servername === false ? undefined : socket.servername)
  })
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  later(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, sockets, names, hosts }
}
