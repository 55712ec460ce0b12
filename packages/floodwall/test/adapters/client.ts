import { Agent, type ClientRequest, type IncomingHttpHeaders, type RequestOptions, request } from 'node:http'
import { connect, type Socket } from 'node:net'

// A client in our hands: one that looks at everything, and one that leaves.

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Asked extends RequestOptions {
  readonly port: number
  readonly body?: string
}

/** Begins a request; `sent` is to be destroyed by who wants to leave. */
export function asking({ body, ...options }: Asked): { sent: ClientRequest; answer: Promise<Answer> } {
  const sent = request({ host: '127.0.0.1', agent: false, ...options })
  const answer = new Promise<Answer>((resolve, reject) => {
    sent.on('error', reject)
    sent.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }))
    })
  })
  answer.catch(() => {})
  sent.end(body)
  return { sent, answer }
}

export function ask(options: Asked): Promise<Answer> {
  return asking(options).answer
}

/** One connection for all requests, one after the other. */
export function oneConnection(): Agent {
  return new Agent({ keepAlive: true, maxSockets: 1 })
}

/** Writes `text` and collects what comes back. */
export function raw(port: number, text: string): { socket: Socket; text: () => string } {
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk))
  socket.on('error', () => {})
  socket.write(text)
  return { socket, text: () => received }
}

/** Resolves when `true` is said; what is waited for happens in other processes and in the kernel. */
export async function until(said: () => boolean, atMostMs = 15_000): Promise<void> {
  const end = performance.now() + atMostMs
  while (!said()) {
    if (performance.now() > end) throw new Error(`waited ${atMostMs} ms for ${said.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
