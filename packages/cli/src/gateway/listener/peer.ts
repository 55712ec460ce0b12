import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Exchange } from '../exchange/exchange.ts'
import { stalled } from '../exchange/failures.ts'
import type { Problem } from '../exchange/problem.ts'
import type { Sender } from '../heads/forwarding.ts'
import type { Arrival } from './arrival.ts'
import { Intake } from './intake.ts'
import { packetOn, writingOn } from './node-internals.ts'
import { Pace } from './pace.ts'
import { reset } from './reset.ts'
import type { Believed } from './trust.ts'

// Who is at the other end of a connection, and is he still with us?
//
// Everything that is known per connection is found out once: the address, and that it closed. A listener per request would cost more, and
// would miss a pipelined request whose turn to answer never came.
//
// One sweep a second looks for clients who keep us waiting: they send nothing of a body that the upstream wants, or read nothing of an answer
// that is there. Nobody else's timer would see them: they are neither idle nor late.

/** A client that has closed its side is taken to have left when nothing could be sent to it for so long: an event stream that nobody reads. */
const SILENT_MS = 3000
/** The second probe comes when the answer to the first one should be here, the others with the sweep: some clients are far away. */
const PROBE_AGAIN_MS = 50
/** Go's client gives up at the sixth interim answer, and one may have been asked for. */
const PROBES = 4

export interface PeerLimits {
  /** A whole request takes no longer. Routes may say otherwise. */
  readonly requestMs: number
  /** No byte of an upload for so long. Routes may say otherwise. */
  readonly idleMs: number
  /** Bytes a second of an upload that is waited for; 0: none. Routes may say otherwise. */
  readonly uploadBytes: number
  /** From `100 Continue` to the first byte. */
  readonly continueMs: number
  /** No byte of an answer taken for so long. */
  readonly stallMs: number
}

export class Peer implements Sender {
  readonly socket: Socket
  /** It speaks TLS. */
  readonly secure: boolean
  /** Its certificate as RFC 9440 writes it; '' when it showed none. */
  readonly certificate: string
  readonly address: string
  /** What it says about a request's way and name is believed. */
  readonly trusted: boolean
  /** Trusted, and may call its calls `CRITICAL_PLUS`. */
  readonly criticalPlus: boolean
  readonly trusts: (address: string) => boolean
  /** The last answer on this connection is written, or on its way. */
  closing = false
  /** It sends no more; it may still listen. */
  ended = false
  /** A request that was said to be the last is here. */
  heardLast = false
  /** Its first request, as long as none is here. */
  arrival: Arrival | undefined
  private lastWords = ''
  private knownFirst = false
  private readonly intake: Intake
  private readonly carrier: Socket
  private readonly pace = new Pace()
  private first: Exchange | null = null
  private read = -1
  private readSince = 0
  private sent = -1
  private sentSince = 0
  private probes = 0
  private written = -1
  private writtenSince = 0

  /** `carrier`: the TCP connection, which in TLS is another object. */
  constructor(socket: Socket, { trust, criticalPlus }: Believed, carrier: Socket = socket) {
    this.socket = socket
    this.carrier = carrier
    this.intake = new Intake(socket)
    this.secure = socket instanceof TLSSocket
    this.certificate = socket instanceof TLSSocket ? certificateOf(socket) : ''
    const { remoteAddress = 'unknown' } = socket
    // A dual-stack listener sees IPv4 callers as ::ffff:192.0.2.1.
    this.address = remoteAddress.startsWith('::ffff:') ? remoteAddress.slice(7) : remoteAddress
    this.trusts = trust.holds
    this.trusted = trust.holds(this.address)
    this.criticalPlus = this.trusted && criticalPlus.holds(this.address)
  }

  /** True while an answer is due on this connection. */
  get busy(): boolean {
    return this.first !== null
  }

  /** The answer that is being written. */
  private get writing(): ServerResponse | null {
    return writingOn(this.socket)
  }

  /** What comes now has to wait for answers. */
  get answering(): boolean {
    return this.first !== null || this.writing !== null
  }

  /** An answer that nothing is missing of is on its way. */
  get flushing(): boolean {
    return this.writing?.writableEnded === true
  }

  add(exchange: Exchange): void {
    exchange.after = this.first
    if (this.first !== null) this.first.before = exchange
    this.first = exchange
    this.intake.begun()
  }

  /** Its first request is RTSP, which the parser takes for HTTP/1.0 and does not tell. */
  isForeign(request: IncomingMessage): boolean {
    if (this.knownFirst) return false
    this.knownFirst = true
    return packetOn(this.socket)?.includes(`${request.url} RTSP/`) === true
  }

  /** Its connection has left HTTP, and answers are due: node:http hears no more of it, so they would wait for a slow client for ever. */
  detached(): void {
    const { socket } = this
    socket.on('error', () => {})
    socket.on('drain', () => this.writing?.emit('drain'))
  }

  /** Something came that nobody hears, and nothing is heard any more. */
  deaf(): void {
    this.intake.close()
  }

  /**
   * What comes next on this connection is no request, or what is left of one is no body: `problem` is said where it belongs, behind the
   * answers that are due, and is the last word. False when that is not for us to say.
   */
  garbled(problem: Problem, words: string): boolean {
    for (let exchange = this.first; exchange !== null; exchange = exchange.after) {
      if (!exchange.incomplete) continue
      exchange.giveUp(problem)
      return false
    }
    this.deaf()
    // Behind the last request nothing is said; where the answer came before the end of its request, that was the last word.
    if (this.heardLast || (this.writing !== null && this.first === null && !this.flushing)) return false
    this.closing = true
    this.lastWords = words
    this.part()
    return true
  }

  private readonly part = (): void => {
    if (this.first !== null || this.lastWords === '') return
    const { socket, writing } = this
    // Answers of our own, and those that a slow client has not taken yet, come before.
    if (writing?.headersSent === true) return void writing.once('close', this.part)
    if (socket.writable) socket.end(this.lastWords)
    socket.destroySoon()
    this.lastWords = ''
  }

  remove(exchange: Exchange): void {
    const { before, after } = exchange
    if (before === null) this.first = after
    else before.after = after
    if (after !== null) after.before = before
    exchange.before = null
    exchange.after = null
    this.intake.ended()
    // Not now: the answer is about to be written.
    if (this.first === null && this.lastWords !== '') setImmediate(this.part)
  }

  closed(): void {
    for (let exchange = this.first; exchange !== null; exchange = this.first) {
      exchange.left()
      // left() takes it out of the list; a list that does not shrink would never end.
      if (this.first === exchange) this.remove(exchange)
    }
  }

  /** The client has closed its side. Whether it still listens, TCP does not say: one who has left altogether looks the same. */
  halfClosed(): void {
    this.ended = true
    if (this.first === null) return
    this.probe()
    setTimeout(() => this.probe(), PROBE_AGAIN_MS).unref()
  }

  /** Sends something: one who has left resets the connection then. The system does not tell of that, the next one to send is told. */
  private probe(): void {
    if (this.probes++ >= PROBES) return
    let oldest = this.first
    while (oldest !== null && oldest.after !== null) oldest = oldest.after
    oldest?.probe()
  }

  /** It has sent nothing yet, not even the start of a request. */
  get silent(): boolean {
    return this.first === null && this.socket.bytesRead === 0
  }

  /** Ends the connection without a word: what was sent of an answer cannot pass for the whole. */
  cut(): void {
    // When the carrier is gone already, so is the connection.
    reset(this.carrier)
  }

  /** The time for a request is over, and it is not here yet. False when there is nothing of it but a piece of its head. */
  tooLate(): boolean {
    for (let exchange = this.first; exchange !== null; exchange = exchange.after) {
      if (!exchange.incomplete) continue
      // Where the route has a time of its own, the sweep sees to it.
      if (exchange.route.config.limits.requestMs === undefined && exchange.route.bandwidth === undefined) {
        exchange.giveUp(stalled)
      }
      return true
    }
    return false
  }

  sweep(now: number, limits: PeerLimits): void {
    const rested = this.intake.hasRested()
    if (this.hasStoppedReading(now, limits.stallMs)) return this.cut()
    if (this.ended) {
      if (this.isSilent(now)) return this.cut()
      this.probe()
    } else if (rested) this.probe()
    for (let exchange = this.first; exchange !== null; exchange = exchange.after) {
      if (!exchange.incomplete) continue
      // What we held back of it, or of its answer, is not his fault.
      const heldMs = exchange.body?.heldTime.ms(now) ?? 0
      if (now - exchange.since - heldMs >= exchange.route.requestMs(limits)) return exchange.giveUp(stalled)
      if (!exchange.uploading) {
        this.pace.rest(exchange, now)
        this.read = -1
        return
      }
      if (this.pace.isTooSlow(exchange, now, limits) || this.hasStoppedSending(now, exchange.route.idleMs(limits)))
        exchange.giveUp(stalled)
      return
    }
    this.read = -1
    this.pace.forget()
  }

  private hasStoppedReading(now: number, stallMs: number): boolean {
    const { socket } = this
    if (socket.writableLength === 0) {
      this.sent = -1
      return false
    }
    const sent = socket.bytesWritten - socket.writableLength
    if (sent !== this.sent) {
      this.sent = sent
      this.sentSince = now
      return false
    }
    return now - this.sentSince >= stallMs
  }

  /** Nothing of an answer that has begun was written for a while: nothing that would tell whether anybody listens. */
  private isSilent(now: number): boolean {
    const { bytesWritten, writableLength } = this.socket
    const begun = this.first?.response.headersSent === true && this.first.hold?.holds !== true
    // Who is slow to read has something to read: that is for `stall` to judge.
    if (!begun || writableLength > 0 || bytesWritten !== this.written) {
      this.written = bytesWritten
      this.writtenSince = now
      return false
    }
    return now - this.writtenSince >= SILENT_MS
  }

  private hasStoppedSending(now: number, idleMs: number): boolean {
    const { bytesRead } = this.socket
    if (bytesRead !== this.read) {
      this.read = bytesRead
      this.readSince = now
      return false
    }
    return now - this.readSince >= idleMs
  }
}

/** RFC 9440, section 2.2: the DER bytes in base64, between colons. */
function certificateOf(socket: TLSSocket): string {
  const raw = socket.authorized ? socket.getPeerX509Certificate()?.raw : undefined
  return raw === undefined ? '' : `:${raw.toString('base64')}:`
}
