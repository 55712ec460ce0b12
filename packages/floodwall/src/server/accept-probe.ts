import cluster from 'node:cluster'
import { connect, type Server, type Socket } from 'node:net'
import type { Env } from '../core/runtime.ts'
import type { Sources } from './signals/sources.ts'

// How long does a connection wait until somebody takes it?
//
// The kernel holds connections in a queue (the backlog, 511 by default), and Node takes one of them in each turn of its loop (libuv since
// 1.45). With long turns and a new connection for each request that queue is where the time goes, a second and more, and nothing in the
// process sees it. There is no way to ask how long it is that is cheap. But whoever stands in it can tell: when turn after turn takes a connection, the server
// connects to itself and looks when it is its turn. The queue is first in, first out.
//
// Not all that is sent comes here: among the workers of a cluster, or where processes share a port, another one takes it; and a full queue lets nobody
// in. So a worker sends none, and what has not come in time is no measurement.
//
// Turns of 5 ms and 200 that wait: a connection of ours is taken after 1 s, and says so of all that are taken about then.

/** Connections for each turn of the loop: with more the queue may not be empty. */
const BUSY = 0.5
/** So often it is looked at, */
const LOOK_MS = 50
/** and so long a measurement counts. */
const LASTS_MS = 1000
/** The longest queue that is measured, 511 connections at 6 ms; who stands in it for longer stands elsewhere, */
const MOST_MS = 3000
/** and nobody is sent there for so long. */
const SILENT_MS = 60_000

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/

/** What is needed of a server. */
export type Accepting = Pick<Server, 'on' | 'off' | 'address'>

export class AcceptProbe {
  /** Probes that were sent. */
  sent = 0
  private readonly server: Accepting
  private readonly env: Pick<Env, 'now' | 'precise' | 'after'>
  private readonly turns: Sources['turns']
  private readonly times = new WeakMap<Socket, number>()
  private accepted = 0
  private lookedAt = Number.NEGATIVE_INFINITY
  private turnsBefore = 0
  private probe: Socket | undefined
  private sentAt = 0
  private silentUntil = Number.NEGATIVE_INFINITY
  private cancelEnd: (() => void) | undefined
  private lastMs = 0
  private measuredAt = Number.NEGATIVE_INFINITY

  constructor(server: Accepting, env: Pick<Env, 'now' | 'precise' | 'after'>, turns: Sources['turns']) {
    this.server = server
    this.env = env
    this.turns = turns
    server.on('connection', this.taken)
  }

  /** When `socket` was taken, on the runtime's precise clock; undefined for those that were taken before we looked on. */
  takenAt(socket: Socket): number | undefined {
    return this.times.get(socket)
  }

  /** What a connection that is taken now has waited, in milliseconds; 0 while there is no sign of a queue. */
  waitedMs(now: number): number {
    const known = now - this.measuredAt < LASTS_MS ? this.lastMs : 0
    return this.probe === undefined ? known : Math.max(known, now - this.sentAt)
  }

  close(): void {
    this.server.off('connection', this.taken)
    this.forget()
  }

  private forget(): void {
    this.cancelEnd?.()
    this.cancelEnd = undefined
    this.probe?.destroy()
    this.probe = undefined
  }

  private readonly taken = (socket: Socket): void => {
    if (this.probe !== undefined && isSame(socket, this.probe)) return this.measured(socket)
    this.accepted++
    this.times.set(socket, this.env.precise())
    const now = this.env.now()
    if (now - this.lookedAt < LOOK_MS) return
    const turns = this.turns()
    const busy = this.accepted >= (turns - this.turnsBefore) * BUSY
    // A long time ago means that there was no hurry.
    const recent = now - this.lookedAt < LASTS_MS
    this.accepted = 0
    this.turnsBefore = turns
    this.lookedAt = now
    if (busy && recent && this.probe === undefined && now >= this.silentUntil) this.send()
  }

  private measured(socket: Socket): void {
    const now = this.env.precise()
    this.lastMs = now - this.sentAt
    this.measuredAt = now
    this.forget()
    socket.destroy()
  }

  private send(): void {
    // The primary deals out connections: it would be another worker's.
    if (cluster.isWorker) return
    const address = this.server.address()
    // A pipe has no port to be known by.
    if (address === null || typeof address === 'string') return
    const host = address.address === '::' ? '::1' : address.address === '0.0.0.0' ? '127.0.0.1' : address.address
    const probe = connect({ host, port: address.port })
    probe.unref()
    probe.on('error', () => {})
    // Without a reader it would never hear that it was closed.
    probe.resume()
    probe.on('close', () => {
      if (this.probe === probe) this.forget()
    })
    this.probe = probe
    this.sentAt = this.env.precise()
    this.sent++
    this.cancelEnd = this.env.after(LASTS_MS, this.late, true)
  }

  /** It has not come. While it is in a queue it may be ours; before that it says nothing. */
  private readonly late = (): void => {
    const leftMs = this.probe?.connecting === false ? MOST_MS - (this.env.precise() - this.sentAt) : 0
    if (leftMs > 0) {
      this.cancelEnd = this.env.after(leftMs, this.late, true)
      return
    }
    if (this.probe?.connecting === false) this.silentUntil = this.env.now() + SILENT_MS
    this.forget()
  }
}

function isSame({ remotePort, remoteAddress = '' }: Socket, { localPort, localAddress }: Socket): boolean {
  return remotePort === localPort && (LOOPBACK.test(remoteAddress) || remoteAddress === localAddress)
}
