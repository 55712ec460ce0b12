import * as v from 'valibot'
import { messageOf } from '../core/event.ts'
import type { Runtime } from '../core/runtime.ts'
import type { Broadcast } from './broadcast.ts'
import { isKey, MOST_KEYS } from './messages.ts'

// Which messages of others are meant for me, and are they well formed?
//
// One end of a broadcast. What it says carries its own name, and what comes back under that name is not heard: no message goes in circles, and
// what is heard is never said again. Messages of others are data of strangers: what does not fit the schema is counted and changes nothing.

/** What went through a channel. */
export interface ChannelCounts {
  readonly said: number
  readonly heard: number
  /** Messages that were not understood. */
  readonly malformed: number
  /** Messages that could not be sent, and keys that no message can hold. */
  readonly unsaid: number
}

export interface ChannelOptions<M extends object> {
  /** Without one, nothing is said and nothing heard. */
  readonly broadcast: Broadcast | undefined
  /** For example `floodwall/hotCache/items`. */
  readonly topic: string
  /** Of a message without its sender. */
  readonly schema: v.GenericSchema<unknown, M>
  readonly runtime: Runtime
  /** Called for each well formed message of another. */
  readonly heard: (message: M) => void
}

/** Longer names are none of ours. */
const LONGEST_SENDER = 64

const sealed = v.looseObject({ from: v.pipe(v.string(), v.maxLength(LONGEST_SENDER)) })

export class Channel<M extends object> {
  private readonly options: ChannelOptions<M>
  /** Another for each channel, also of one process. */
  private readonly sender: string
  private readonly unsubscribe: () => void
  private said = 0
  private heard = 0
  private malformed = 0
  private unsaid = 0
  /** The last message could not be sent: one warning for a row of failures. */
  private failing = false
  /** It was told that some keys cannot be said. */
  private toldOfKeys = false

  constructor(options: ChannelOptions<M>) {
    const { broadcast, topic, runtime } = options
    this.options = options
    this.sender = `${wordOf(runtime.random())}${wordOf(runtime.random())}`
    this.unsubscribe = broadcast?.subscribe(topic, (message) => this.hear(message)) ?? (() => {})
  }

  /** False without a broadcast: then nobody hears anything. */
  get isOpen(): boolean {
    return this.options.broadcast !== undefined
  }

  /** Tells the others. Never throws: who could not be told is counted, and a warning is emitted. */
  say(message: M): void {
    const { broadcast, topic, schema } = this.options
    if (broadcast === undefined) return
    // Else each of the others would count it as malformed, and nobody here would know.
    if (!v.is(schema, message)) return this.failed(new Error('they take no message that large'))
    const sent = () => {
      this.said++
      this.failing = false
    }
    try {
      const done = broadcast.publish(topic, { from: this.sender, ...message })
      if (done === undefined) sent()
      else done.then(sent, (error: unknown) => this.failed(error))
    } catch (error) {
      this.failed(error)
    }
  }

  /** Tells the others of `keys`, in as many messages as it takes. What no message can hold is counted, and keeps nobody else's key from being told. */
  sayKeys(keys: readonly unknown[], messageOfKeys: (keys: readonly (string | number)[]) => M): void {
    if (!this.isOpen) return
    const told = keys.filter(isKey)
    for (let i = 0; i < told.length; i += MOST_KEYS) this.say(messageOfKeys(told.slice(i, i + MOST_KEYS)))
    const left = keys.length - told.length
    this.unsaid += left
    if (left === 0 || this.toldOfKeys) return
    this.toldOfKeys = true
    this.warn('keys that are not finite numbers or texts of at most 1000 characters')
  }

  private failed(error: unknown): void {
    this.unsaid++
    if (this.failing) return
    this.failing = true
    this.warn(messageOf(error))
  }

  private warn(what: string): void {
    const { runtime, topic } = this.options
    runtime.emit({ type: 'warning', at: runtime.now(), path: topic, why: `the others were not told: ${what}` })
  }

  private hear(message: unknown): void {
    const envelope = v.safeParse(sealed, message)
    if (!envelope.success) {
      this.malformed++
      return
    }
    const { from, ...body } = envelope.output
    if (from === this.sender) return
    const read = v.safeParse(this.options.schema, body)
    if (!read.success) {
      this.malformed++
      return
    }
    this.heard++
    this.options.heard(read.output)
  }

  counts(): ChannelCounts {
    const { said, heard, malformed, unsaid } = this
    return { said, heard, malformed, unsaid }
  }

  /** Nothing is heard any more. Twice is harmless. */
  close(): void {
    this.unsubscribe()
  }
}

function wordOf(random: number): string {
  return Math.floor(random * 4_294_967_296).toString(36)
}
