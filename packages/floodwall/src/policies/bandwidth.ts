import { pipeline as join, type Readable, type Transform } from 'node:stream'
import { LONGEST_KEY } from '../algorithms/keys/hash.ts'
import { KeyLines } from '../algorithms/rates/key-lines.ts'
import { ByteShare } from '../algorithms/rates/turn-heap.ts'
import { rejectedError } from '../core/errors.ts'
import { type Refuser, Rejection, type Snapshot } from '../core/gate.ts'
import { type Env, envOf, type Runtime } from '../core/runtime.ts'
import { systemRuntime } from '../core/system.ts'
import { Flow, type FlowBook, type Stage } from './bandwidth-flow.ts'
import { TimedLine } from './bandwidth-line.ts'
import {
  type BandwidthOptions,
  type BandwidthSettings,
  type ByteLimit,
  bandwidthSettings,
} from './bandwidth-options.ts'
import { BandwidthStream } from './bandwidth-stream.ts'

// How many bytes a second may all these streams pass, and each of them?
//
// A byte rate for streams that run at the same time. Pieces are split where they have to wait, so that none is too large for a burst; they share by
// quanta (algorithms/rates/byte-line.ts), so that a large stream never starves a small one; and a stream reads no more than it may pass, so that whoever
// sends is told to wait, and nothing is piled up here.
//
// Invariant: what has passed keeps to each of the rates; whoever leaves, however, gives back his place and what he did not use, once.

/** What a stream may say of itself. */
export interface FlowOptions {
  /** Whose it is: streams of one key share what is theirs. */
  readonly key?: string | number | undefined
  /** What several streams, one behind the other, have in common, such as a connection: `perStream` is theirs together. Default: the stream itself. */
  readonly of?: object
}

interface Whose {
  readonly key: string | number
  readonly share: ByteShare
  users: number
}

export class Bandwidth implements Refuser, FlowBook {
  readonly kind = 'bandwidth'
  readonly path: string
  private readonly env: Env
  private settings: BandwidthSettings
  private whole: TimedLine | null = null
  private byKey: KeyLines<TimedLine> | null = null
  /** Lines of what several streams have in common. */
  private readonly owned = new WeakMap<object, TimedLine>()
  /** Streams that are open, and how to undo what they hold. */
  private readonly flows = new Map<Flow, () => void>()
  /** Of keys with open streams: between callers the whole is shared, not between their streams. */
  private readonly callers = new Map<string | number, Whose>()
  private waiting = 0
  private waitingBytes = 0
  private passedBytes = 0
  private heldBytes = 0
  private refused = 0

  constructor(options: BandwidthOptions, runtime: Runtime = systemRuntime) {
    const { name = 'bandwidth' } = options
    this.path = name
    this.env = envOf(runtime, name)
    this.settings = bandwidthSettings(options, name)
    this.set()
  }

  /**
   * Other rates from now on, for streams that are open too; what they have used stays used. Streams that are open meet only the limits that there were
   * when they began.
   */
  reconfigure(options: BandwidthOptions): void {
    this.settings = bandwidthSettings(options, this.path)
    this.set()
    const { perStream } = this.settings
    if (perStream === undefined) return
    for (const flow of this.flows.keys()) flow.own?.reconfigure(perStream, perStream.burst)
  }

  private set(): void {
    const { whole, perKey, keys } = this.settings
    if (whole === undefined) this.whole = null
    else if (this.whole === null) this.whole = this.line(whole)
    else this.whole.reconfigure(whole, whole.burst)
    if (perKey === undefined) this.byKey = null
    else if (this.byKey === null) this.byKey = new KeyLines(keys, () => this.line(this.settings.perKey ?? perKey))
    else this.byKey.reconfigure(keys, perKey, perKey.burst)
  }

  private line(limit: ByteLimit): TimedLine {
    return new TimedLine(limit, this.env)
  }

  /** A stream that begins. It has to be closed. */
  open({ key, of }: FlowOptions = {}): Flow {
    const { byKey, whole } = this
    const { perStream } = this.settings
    const caller = isNamed(key) ? this.caller(key) : undefined
    const share = new ByteShare()
    const own = perStream === undefined ? undefined : this.ownLine(perStream, of)
    const seat = byKey?.open(key, this.env.now())
    const stages: Stage[] = []
    if (own !== undefined) stages.push({ line: own, share })
    if (seat !== undefined) stages.push({ line: seat.line, share: new ByteShare() })
    if (whole !== null) stages.push({ line: whole, share: caller?.share ?? new ByteShare() })
    const flow = new Flow(stages, own, this)
    this.flows.set(flow, () => {
      if (seat !== undefined) byKey?.close(seat)
      if (caller !== undefined && --caller.users === 0) this.callers.delete(caller.key)
    })
    return flow
  }

  private caller(key: string | number): Whose {
    const known = this.callers.get(key)
    const caller = known ?? { key, share: new ByteShare(), users: 0 }
    if (known === undefined) this.callers.set(key, caller)
    caller.users++
    return caller
  }

  private ownLine(limit: ByteLimit, of: object | undefined): TimedLine {
    if (of === undefined) return this.line(limit)
    let line = this.owned.get(of)
    if (line === undefined) {
      line = this.line(limit)
      this.owned.set(of, line)
    } else line.reconfigure(limit, limit.burst)
    return line
  }

  /**
   * A stream to put between two others: `pipeline(file, limit.transform(), response)`. It passes bytes as they may pass, and takes no more while it waits. With a
   * full line of waiters, or a signal that is aborted, it is destroyed with that error.
   */
  transform({ signal, ...whose }: FlowOptions & { readonly signal?: AbortSignal } = {}): Transform {
    const full = () => rejectedError(new Rejection(this, 'queue-full', 0, this.waiting, this.settings.size))
    return new BandwidthStream(this.open(whose), full, (fn) => this.env.bind(fn), signal)
  }

  /** `source` at this rate; an error or an early end of one ends the other. */
  through(source: Readable, options: FlowOptions & { readonly signal?: AbortSignal } = {}): Readable {
    // Whoever reads what comes out hears of an error there.
    const out = this.transform(options)
    // Joining what has ended already throws since Node 22.
    if (out.destroyed) source.destroy()
    return out.destroyed ? out : join(source, out, () => {})
  }

  /** @internal */
  passed(bytes: number, held: boolean): void {
    this.passedBytes += bytes
    if (held) this.heldBytes += bytes
  }

  /** @internal */
  enters(bytes: number): boolean {
    if (this.waiting >= this.settings.size) {
      this.refused++
      return false
    }
    this.waiting++
    this.waitingBytes += bytes
    return true
  }

  /** @internal */
  leaves(bytes: number): void {
    this.waiting--
    this.waitingBytes -= bytes
  }

  /** @internal */
  closed(flow: Flow): void {
    this.flows.get(flow)?.()
    this.flows.delete(flow)
  }

  explain({ value, limit }: Rejection): string {
    return `${value} streams wait already, in ${limit} places`
  }

  inspect(): Snapshot {
    const { kind, path, settings, whole, flows, waiting, waitingBytes, byKey, refused } = this
    return {
      kind,
      path,
      perSecond: whole === null ? null : whole.line.perSecond,
      burst: settings.whole?.burst ?? null,
      streams: flows.size,
      waiting,
      waitingBytes,
      keys: byKey?.size ?? 0,
      passed: this.passedBytes,
      heldBack: this.heldBytes,
      refused,
    }
  }
}

/** What is no name has a share of its own. */
function isNamed(key: unknown): key is string | number {
  return (typeof key === 'string' && key !== '' && key.length <= LONGEST_KEY) || typeof key === 'number'
}

/** A byte rate for streams: `bandwidth({ rate: '10MB/s', perKey: '1MB/s' })`. */
export function bandwidth(options: BandwidthOptions, runtime?: Runtime): Bandwidth {
  return new Bandwidth(options, runtime)
}
