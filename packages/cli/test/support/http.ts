import { once } from 'node:events'
import { type Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request as send } from 'node:http'
import { connect, type Socket } from 'node:net'
import { later } from './cleanup.ts'

// Clients: one that is polite, one that sends what it wants.

export interface Ask {
  readonly method?: string
  readonly path?: string
  readonly headers?: OutgoingHttpHeaders | readonly string[]
  readonly body?: string | Buffer
  /** Default: a connection of its own. */
  readonly agent?: Agent
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly raw: readonly string[]
  readonly trailers: NodeJS.Dict<string>
  readonly body: string
  readonly bytes: number
}

/** One request. */
export async function ask(port: number, { body, ...options }: Ask = {}): Promise<Answer> {
  const request = send({ host: '127.0.0.1', port, agent: false, ...(options as object) })
  // A connection that breaks after the head is told by the response.
  request.on('error', () => {})
  request.end(body)
  const [response] = await once(request, 'response')
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const all = Buffer.concat(chunks)
  return {
    status: response.statusCode,
    headers: response.headers,
    raw: response.rawHeaders,
    trailers: response.trailers,
    body: all.toString(),
    bytes: all.length,
  }
}

/** A connection that is written to and read from byte by byte. */
export class Wire {
  readonly socket: Socket
  text = ''
  closed = false

  constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      this.text += String(chunk)
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.closed = true
    })
  }

  write(text: string | Buffer): void {
    this.socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text)
  }

  /** The status lines that came. */
  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, code]) => Number(code))
  }
}

export async function wire(port: number, text?: string | Buffer): Promise<Wire> {
  const socket = connect(port, '127.0.0.1')
  later(() => void socket.destroy())
  await once(socket, 'connect')
  const line = new Wire(socket)
  if (text !== undefined) line.write(text)
  return line
}
