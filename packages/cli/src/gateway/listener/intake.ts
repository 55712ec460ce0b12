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

export class Intake {
  private readonly socket: Socket
  private underWay = 0
  private over = false
  /** Nothing is read: who has left is not heard of either. */
  private isStopped = false
  private stops = 0
  private stopsSeen = 0

  constructor(socket: Socket) {
    this.socket = socket
  }

  /** One more is under way. */
  begun(): void {
    if (++this.underWay >= MOST_UNDER_WAY && !this.isStopped && !this.over) this.stop()
  }

  /** One of them has its answer. */
  ended(): void {
    if (--this.underWay < MOST_UNDER_WAY / 2 && this.isStopped && !this.over) this.goOn()
  }

  /** Asked once a second: true when nothing was read since it was asked before. */
  hasRested(): boolean {
    const { stops, stopsSeen } = this
    this.stopsSeen = this.isStopped ? stops : 0
    return this.isStopped && stops === stopsSeen
  }

  /** The last one was here. */
  close(): void {
    if (this.over) return
    if (this.isStopped) this.goOn()
    this.over = true
    throwAway(this.socket, () => {
      this.isStopped = true
      this.stops++
    })
  }

  /**
   * Reads no more. node:http reads on by itself whenever an answer is written, however many are under way: so it is not let. The end of a
   * packet is not in its hands: what is here of it is parsed.
   */
  private stop(): void {
    const { socket } = this
    this.isStopped = true
    this.stops++
    socket.resume = () => socket
    socket.on('resume', this.holdOn)
    socket.pause()
    this.holdOn()
  }

  /** Somebody has asked for more a moment ago, and node:http, which does the reading, gets to know only now. */
  private readonly holdOn = (): void => {
    this.socket.emit('pause')
  }

  private goOn(): void {
    const { socket } = this
    this.isStopped = false
    Reflect.deleteProperty(socket, 'resume')
    socket.off('resume', this.holdOn)
    if (!socket.destroyed) socket.resume()
  }
}
