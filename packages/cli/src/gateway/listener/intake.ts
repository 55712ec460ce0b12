import type { Socket } from 'node:net'
import { throwAway } from './remainder.ts'

// How much may one connection ask for at once?
//
// A client may send the next request before the answer to the last one (RFC 9112, 9.3.2), and node:http takes as many as come: each of them in
// flight, and each a place in a list until its turn to answer. A connection that has too many under way is not read until some are answered;
// what is not read, its sender keeps. What comes behind the last request is no request at all.
//
// What is left of a packet when the reading stops is still parsed: a few thousand of the shortest requests at most.

/** More than any client keeps under way. */
export const MOST_UNDER_WAY = 100

/** node:http's own flags for the same purpose: it stops when answers pile up, and we stop with the same means. */
interface Intern {
  _paused?: boolean
  readonly parser?: { pause(): void; resume(): void } | null
}

export class Intake {
  private readonly socket: Socket & Intern
  private underWay = 0
  private over = false
  /** Nothing is read: who has left is not heard of either. */
  isStopped = false

  constructor(socket: Socket) {
    this.socket = socket
  }

  /** One more is under way. */
  begun(): void {
    if (++this.underWay >= MOST_UNDER_WAY) this.stop()
  }

  /** One of them has its answer. */
  ended(): void {
    if (--this.underWay < MOST_UNDER_WAY / 2 && this.isStopped && !this.over) this.goOn()
  }

  /** Once a second: where nothing is under way and nothing is left to send, there is nothing to wait for, whoever stopped the reading. */
  check(): void {
    const { socket, underWay, over } = this
    if (underWay === 0 && !over && socket._paused === true && socket.writableLength === 0) this.goOn()
  }

  /** The last one was here. */
  close(): void {
    if (this.over) return
    this.over = true
    this.isStopped = false
    throwAway(this.socket, () => {
      this.isStopped = true
    })
  }

  /** Reads no more. The parser stops by itself behind what it is reading. */
  private stop(): void {
    this.isStopped = true
    this.socket._paused = true
    this.socket.pause()
  }

  private goOn(): void {
    const { socket } = this
    this.isStopped = false
    if (socket.destroyed) return
    socket._paused = false
    socket.parser?.resume()
    socket.resume()
  }
}
