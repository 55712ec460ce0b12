import { createSocket, type Socket } from 'node:dgram'
import { onTestFinished } from 'vitest'

type Kind = 'A' | 'AAAA' | 'SRV'

export interface SrvAnswer {
  readonly priority?: number
  readonly weight?: number
  readonly port: number
  readonly target: string
}

/** What is answered to a question; `servfail`, `nxdomain` and `silence` are what they say. */
export type Reply =
  | 'servfail'
  | 'nxdomain'
  | 'silence'
  | { readonly ttl?: number; readonly records: readonly (string | SrvAnswer)[] }

const CODES: Readonly<Record<Kind, number>> = { A: 1, AAAA: 28, SRV: 33 }

/** A DNS server over UDP on a free port, until the test is over. It answers by `replies`, keyed `'A shop.test'`. */
export class DnsServer {
  readonly replies = new Map<string, Reply>()
  /** Every question, as its key. */
  readonly questions: string[] = []
  private readonly socket: Socket = createSocket('udp4')

  static async start(): Promise<DnsServer> {
    const server = new DnsServer()
    await new Promise<void>((resolve) => {
      server.socket.bind(0, '127.0.0.1', resolve)
    })
    onTestFinished(() => new Promise<void>((resolve) => server.socket.close(() => resolve())))
    return server
  }

  private constructor() {
    this.socket.on('message', (message, from) => {
      const answer = this.answer(message)
      if (answer !== undefined) this.socket.send(answer, from.port, from.address)
    })
  }

  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`
  }

  private answer(message: Buffer): Buffer | undefined {
    const { name, end } = readName(message, 12)
    const code = message.readUInt16BE(end)
    const kind = (Object.keys(CODES) as Kind[]).find((k) => CODES[k] === code) ?? 'A'
    const key = `${kind} ${name.toLowerCase()}`
    this.questions.push(key)
    const reply = this.replies.get(key) ?? 'nxdomain'
    if (reply === 'silence') return undefined
    const records = typeof reply === 'string' ? [] : reply.records
    const rcode = reply === 'servfail' ? 2 : reply === 'nxdomain' ? 3 : 0
    const head = Buffer.alloc(12)
    message.copy(head, 0, 0, 2)
    head.writeUInt16BE(0x8180 | rcode, 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(records.length, 6)
    const ttl = typeof reply === 'string' ? 0 : (reply.ttl ?? 1)
    const question = message.subarray(12, end + 4)
    return Buffer.concat([head, question, ...records.map((record) => encode(kind, record, ttl))])
  }
}

function readName(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = []
  let at = start
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.'), end: at + 1 }
}

function encode(kind: Kind, record: string | SrvAnswer, ttl: number): Buffer {
  const data = typeof record === 'string' ? bytesOf(record) : srvData(record)
  const head = Buffer.alloc(12)
  // The name of the question, by a pointer to it.
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(CODES[kind], 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(ttl, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function srvData({ priority = 0, weight = 0, port, target }: SrvAnswer): Buffer {
  const head = Buffer.alloc(6)
  head.writeUInt16BE(priority, 0)
  head.writeUInt16BE(weight, 2)
  head.writeUInt16BE(port, 4)
  const labels = target.split('.').filter((label) => label !== '')
  const name = labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')])
  return Buffer.concat([head, ...name, Buffer.from([0])])
}

function bytesOf(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number))
  const dotted = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const hex = dotted === null ? address : address.replace(dotted[0], pairOf(dotted.slice(1).map(Number)))
  const [left = '', right = ''] = hex.split('::')
  const head = left === '' ? [] : left.split(':')
  const tail = right === '' ? [] : right.split(':')
  const zeros = new Array<string>(8 - head.length - tail.length).fill('0')
  const words = hex.includes('::') ? [...head, ...zeros, ...tail] : hex.split(':')
  return Buffer.concat(words.map((word) => Buffer.from(word.padStart(4, '0'), 'hex')))
}

const pairOf = ([a = 0, b = 0, c = 0, d = 0]: number[]): string =>
  `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
