import type { Server, Socket } from 'node:net'
import type { Env } from '../core/runtime.ts'
import { type Accepting, AcceptProbe } from './accept-probe.ts'
import type { Signals } from './signals/index.ts'

// What when saying no is too much already?
//
// A refusal is cheap but not free: it has been received, parsed, judged and answered. On a connection that is kept that is 14 µs of CPU, and nothing is
// cheaper: who is told to close comes back over a new one, where it is 69 µs. So kept connections stay. But of those that come over a connection of
// their own, half a loop is 7000 a second; to take a connection and let it go at once, before anything is read, is 38 µs. So when the loop is used up and
// refusals on new connections take half of it, there are places for so many connections only, and as long as more are open no new ones are taken.
// (Measured on loopback, Node 20, one of two shared cores.)
//
// A quarter of the places goes with each look at which refusals still take half. As soon as the loop has time, or they take less than a quarter,
// places are added: a server that turns away whoever knocks and has nothing to do would be the worst of all. In between, while those who are in have
// all places, two are added: somebody else, such as a health check, gets in now and then.
//
// It ends when refusals, and connections that were turned away at the price of one, would take less than a quarter for a second: by demand, so
// that it does not begin anew as soon as it has helped.

/** Of the time: refusals take more, and the loop is used up. */
const ON_SHARE = 0.5
const LOOP_SHARE = 0.95
/** Looks of 250 ms each. */
const ON_LOOKS = 2
const OFF_SHARE = 0.25
const OFF_LOOKS = 4
/** Places after a look, of those before it: too many refusals, and room for more. */
const FEWER = 0.75
const MORE = 1.5
const ADDED = 2
/** What is measured is from the request to the end of the answer, 10 µs of 69: to take the connection, to read, to write and to close come on top. */
const WHOLE = 7

/** What is needed of a server. */
export type Taking = Accepting & Pick<Server, 'maxConnections'>

/** What an intake shows: JSON-safe. */
export interface IntakeView {
  readonly shedding: boolean
  /** How often it began. */
  readonly times: number
  /** Connections that were turned away meanwhile. */
  readonly dropped: number
  /** What refusals on new connections take of the time, with those who were turned away at the price of one. */
  readonly refusalShare: number
  readonly connected: number
  readonly acceptMs: number
  readonly probes: number
}

/** Whether a server takes new connections. */
export class Intake {
  shedding = false
  /** @internal Edges that have it: with one each, they would take each other's limit for that of the server. */
  users = 1
  /** @internal How long connections wait to be taken. */
  readonly probe: AcceptProbe
  private readonly whole: number
  private readonly server: Taking
  private readonly signals: Signals
  private readonly env: Env
  private readonly leave: () => void
  private spentMs = 0
  private refusals = 0
  /** Of one refusal, as measured last. */
  private priceMs = 0
  private turnedAway = 0
  private dropped = 0
  /** Connections that are open, of those that came since we look on. A set: some are handed to the server a second time. */
  private readonly inside = new Set<Socket>()
  private places = Number.POSITIVE_INFINITY
  private times = 0
  private looks = 0
  /** What refusals took of the last look, and what they would with those who were turned away. */
  private refusedShare = 0
  private share = 0
  private before: number | undefined

  /** `whole`: what a refusal takes in all, of what is measured of it. */
  constructor(server: Taking, signals: Signals, env: Env, whole = WHOLE) {
    this.whole = whole
    this.server = server
    this.signals = signals
    this.env = env
    this.probe = new AcceptProbe(server, env, signals.sources)
    this.leave = signals.on(this.look)
    server.on('drop', this.drop)
    server.on('connection', this.enter)
  }

  /** The first request of a connection was refused in `tookMs`. */
  refused(tookMs: number): void {
    this.spentMs += tookMs
    this.refusals++
  }

  /** How long the connection of a first request, met at `now`, waited to be taken; nothing where it was there before its request was. */
  waitedMs(socket: Socket, now: number): number {
    return this.probe.isOlder(socket) ? 0 : this.probe.waitedMs(now)
  }

  /** Whether `socket` is none of a client's: a question of ours. */
  isOwn(socket: Socket): boolean {
    return this.probe.isOwn(socket)
  }

  /** The server may have so many connections from now on: also while it has fewer places, and afterwards. */
  allow(most: number): void {
    if (!this.shedding) {
      this.server.maxConnections = most
      return
    }
    this.before = most
    this.keep(this.places)
  }

  inspect(now: number = this.env.precise()): IntakeView {
    const { shedding, times, dropped, share, connected, probe } = this
    const { sent: probes } = probe
    return { shedding, times, dropped, refusalShare: share, connected, acceptMs: probe.waitedMs(now), probes }
  }

  /** @internal Belongs to this runtime's signals. */
  isOf(signals: Signals): boolean {
    return this.signals === signals
  }

  /** The last of its edges goes: takes connections as before. */
  close(): void {
    if (--this.users > 0) return
    if (intakes.get(this.server) === this) intakes.delete(this.server)
    this.leave()
    this.probe.close()
    this.server.off('drop', this.drop)
    this.server.off('connection', this.enter)
    if (this.shedding) this.open()
  }

  private readonly enter = (socket: Socket): void => {
    this.inside.add(socket)
    socket.once('close', () => this.inside.delete(socket))
  }

  private get connected(): number {
    return this.inside.size
  }

  private readonly drop = (): void => {
    this.turnedAway++
    if (this.shedding) this.dropped++
  }

  private readonly look = (_: number, elapsedMs: number): boolean => {
    if (this.refusals > 0) this.priceMs = (this.spentMs * this.whole) / this.refusals
    const refusalMs = this.spentMs * this.whole
    const demandMs = refusalMs + (this.shedding ? this.turnedAway * this.priceMs : 0)
    this.refusedShare = refusalMs / elapsedMs
    this.share = Math.min(1, demandMs / elapsedMs)
    this.spentMs = 0
    this.refusals = 0
    this.turnedAway = 0
    if (this.shedding) this.relent()
    else this.watch()
    return this.shedding
  }

  private get isUsedUp(): boolean {
    return (this.signals.readings.loop.value ?? 0) >= LOOP_SHARE
  }

  private watch(): void {
    this.looks = this.share >= ON_SHARE && this.isUsedUp ? this.looks + 1 : 0
    if (this.looks < ON_LOOKS) return
    this.looks = 0
    this.shedding = true
    this.times++
    this.before = this.server.maxConnections
    this.keep(this.connected * FEWER)
    this.tell('shedding')
  }

  private keep(places: number): void {
    // 0 would be "no limit" on Node 20. With one connection open this is none. Nor are there ever more than without us.
    this.places = Math.min(this.before || Number.POSITIVE_INFINITY, Math.max(1, Math.floor(places)))
    this.server.maxConnections = this.places
  }

  private relent(): void {
    if (!this.isUsedUp || this.refusedShare < OFF_SHARE) this.keep(this.places * MORE + 1)
    else if (this.refusedShare >= ON_SHARE) this.keep(Math.min(this.places, this.connected) * FEWER)
    else if (this.connected >= this.places) this.keep(this.places + ADDED)
    this.looks = this.share < OFF_SHARE ? this.looks + 1 : 0
    if (this.looks < OFF_LOOKS) return
    this.open()
  }

  private open(): void {
    this.looks = 0
    this.shedding = false
    this.places = Number.POSITIVE_INFINITY
    // Undefined is how Node says "no limit"; its types do not.
    ;(this.server as { maxConnections: number | undefined }).maxConnections = this.before
    this.tell('taking')
  }

  private tell(to: 'shedding' | 'taking'): void {
    const { env, share } = this
    const from = to === 'shedding' ? 'taking' : 'shedding'
    const why = `refusals ${to === 'shedding' ? 'take' : 'would take'} ${Math.round(share * 100)} % of the time`
    env.emit({ type: 'state', at: env.now(), path: `${env.path}/intake`, from, to, why })
  }
}

const intakes = new WeakMap<Taking, Intake>()

/** The intake of `server`: one for all edges on it, each of which closes it. */
export function intakeOf(server: Taking, signals: Signals, env: Env, whole?: number): Intake {
  const known = intakes.get(server)
  if (known?.isOf(signals) === true) {
    known.users++
    return known
  }
  const intake = new Intake(server, signals, env, whole)
  intakes.set(server, intake)
  return intake
}
