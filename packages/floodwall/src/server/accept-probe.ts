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
// How long it will take is not known before it is over, and so long it counts as what it has taken already: a server whose work has become slow
// has a queue of ten seconds and more, and who looks away then never sees it again. What ends it is a queue that was empty meanwhile: a loop that slept, or turns that took
// nobody. Then there is nothing to wait for, and a probe that is still out was taken by somebody else: by another worker of a cluster (so a worker
// sends none), or by a process that shares the port.
//
// Turns of 5 ms and 200 that wait: a connection of ours is taken after 1 s, and says so of all that are taken until the queue is empty.

/** Connections for each turn of the loop: with more the queue may not be empty. */
const BUSY = 0.5
/** So often it is looked at, */
const LOOK_MS = 50
/** and so long a measurement counts. */
const LASTS_MS = 1000
/** The longest queue that is measured: 511 connections at 117 ms. */
const MOST_MS = 60_000
/** After so many turns that took nobody the queue was empty: a loop may come to a connection a turn late, */
const MISSED = 3
/** or when it slept for such a share of the time: to ask and be answered at once takes some microseconds of a turn, too. */
const SLEPT = 0.1
const SLEPT_MS = 1
/** Where our own probe did not come to, none is sent for so long. */
const SILENT_MS = 60_000

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/

/** What is needed of a server. */
export type Accepting = Pick<Server, 'on' | 'off' | 'address'>

/** What tells whether the loop had nothing to do. */
type Loop = Pick<Sources, 'turns' | 'idleMs'>

export class AcceptProbe {
  /** Probes that were sent. */
  sent = 0
  private readonly server: Accepting
  private readonly env: Pick<Env, 'now' | 'precise' | 'after'>
  private readonly loop: Loop
  /** Connections of our own that were taken. */
  private readonly own = new WeakSet<object>()
  /** The turn in which each was taken. */
  private readonly takenIn = new WeakMap<Socket, number>()
  private accepted = 0
  private lookedAt = Number.NEGATIVE_INFINITY
  private turnsBefore = 0
  private probe: Socket | undefined
  private sentAt = 0
  private silentUntil = Number.NEGATIVE_INFINITY
  private cancelEnd: (() => void) | undefined
  private lastMs = 0
  private measuredAt = Number.NEGATIVE_INFINITY
  /** Turns that took somebody, and the last of them. */
  private taking = 0
  private takingTurn = Number.NaN
  /** Since when the queue has to be empty for us to believe that it is. */
  private since = { at: 0, idleMs: 0, missed: 0 }

  constructor(server: Accepting, env: Pick<Env, 'now' | 'precise' | 'after'>, loop: Loop) {
    this.server = server
    this.env = env
    this.loop = loop
    server.on('connection', this.taken)
    server.on('drop', this.dropped)
  }

  /**
   * Whether `socket` was there before the request that is met on it now: it was not taken in this turn nor in the one before, in which
   * Node finds what has come while a connection stood in line.
   */
  isOlder(socket: Socket): boolean {
    const turn = this.takenIn.get(socket)
    // Not known: it was taken before we looked on, or speaks TLS, whose greetings take turns after it was taken.
    return turn === undefined || this.loop.turns() - turn > 1
  }

  /** Whether `socket` is a question of ours, at the end where it was taken. */
  isOwn(socket: object): boolean {
    return this.own.has(socket)
  }

  /** What a connection that is taken now has waited, in milliseconds; 0 while there is no sign of a queue. */
  waitedMs(now: number): number {
    const recent = now - this.measuredAt < LASTS_MS && this.lastMs > 0
    if (!recent && this.probe === undefined) return 0
    if (this.wasEmpty(now)) {
      this.lastMs = 0
      this.giveUp()
      return 0
    }
    const known = recent ? this.lastMs : 0
    return this.probe === undefined ? known : Math.max(known, now - this.sentAt)
  }

  close(): void {
    this.server.off('connection', this.taken)
    this.server.off('drop', this.dropped)
    this.forget()
  }

  private forget(): void {
    this.cancelEnd?.()
    this.cancelEnd = undefined
    this.probe?.destroy()
    this.probe = undefined
  }

  /** The queue is empty, and our probe has not come out of it. */
  private giveUp(): void {
    // One that is not let in has been in no queue: the system tries again, later and later.
    if (this.probe?.connecting === false) this.silentUntil = this.env.now() + SILENT_MS
    this.forget()
  }

  private get missed(): number {
    return this.loop.turns() - this.taking
  }

  /** From now on it would be noticed if the queue were empty. */
  private watch(): void {
    this.since = { at: this.env.precise(), idleMs: this.loop.idleMs(), missed: this.missed }
  }

  private wasEmpty(now: number): boolean {
    const { at, idleMs, missed } = this.since
    if (this.missed - missed >= MISSED) return true
    return this.loop.idleMs() - idleMs > Math.max(SLEPT_MS, SLEPT * (now - at))
  }

  private countTurn(): number {
    const turn = this.loop.turns()
    if (turn === this.takingTurn) return turn
    this.takingTurn = turn
    this.taking++
    return turn
  }

  private readonly taken = (socket: Socket): void => {
    const turn = this.countTurn()
    if (this.probe !== undefined && isSame(socket.remotePort, socket.remoteAddress, this.probe)) {
      this.own.add(socket)
      socket.destroy()
      return this.measured()
    }
    this.accepted++
    this.takenIn.set(socket, turn)
    this.look()
  }

  /** One more than the server may have: it was taken, and let go. */
  private readonly dropped = (one?: { readonly remotePort?: number; readonly remoteAddress?: string }): void => {
    this.countTurn()
    if (this.probe !== undefined && isSame(one?.remotePort, one?.remoteAddress, this.probe)) return this.measured()
    this.accepted++
  }

  private look(): void {
    const now = this.env.now()
    if (now - this.lookedAt < LOOK_MS) return
    const turns = this.loop.turns()
    const busy = this.accepted >= (turns - this.turnsBefore) * BUSY
    // A long time ago means that there was no hurry.
    const recent = now - this.lookedAt < LASTS_MS
    this.accepted = 0
    this.turnsBefore = turns
    this.lookedAt = now
    if (busy && recent && this.probe === undefined && now >= this.silentUntil) this.send()
  }

  private measured(): void {
    const now = this.env.precise()
    this.lastMs = now - this.sentAt
    this.measuredAt = now
    this.forget()
    this.watch()
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
    // In the queue from now on, at the end of it.
    probe.on('connect', () => this.watch())
    // Without a reader it would never hear that it was closed.
    probe.resume()
    probe.on('close', () => {
      if (this.probe === probe) this.forget()
    })
    this.probe = probe
    this.sentAt = this.env.precise()
    this.watch()
    this.sent++
    this.cancelEnd = this.env.after(LASTS_MS, this.late, true)
  }

  /** It has not come yet. */
  private readonly late = (): void => {
    const now = this.env.precise()
    if (this.wasEmpty(now)) return this.giveUp()
    if (now - this.sentAt >= MOST_MS) return this.forget()
    this.cancelEnd = this.env.after(LASTS_MS, this.late, true)
  }
}

function isSame(port: number | undefined, address = '', { localPort, localAddress }: Socket): boolean {
  return port === localPort && (LOOPBACK.test(address) || address === localAddress)
}
