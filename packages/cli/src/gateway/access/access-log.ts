import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { destination } from 'pino'
import { Misconfigured } from '../config/document.ts'
import { lastLines } from '../last-lines.ts'
import type { Entry } from './entry.ts'
import { type Format, type Writer, writers } from './formats.ts'

// The access log: one line per request, when it is over.
//
// Written in pieces and in the background: a disk or a reader that hangs must not hold up the traffic. What does not fit into the buffer
// meanwhile is lost, and counted.

export interface AccessLogSettings {
  readonly format: Format
  /** `stdout`, or the path of a file. */
  readonly to: string
  readonly query: boolean
  /** Lines only of what went wrong: 5xx, refused, cut. */
  readonly onlyErrors: boolean
}

const CHUNK_BYTES = 32_768
/** Lines are written into memory of this size, and handed over in pieces of it. */
const SLAB_BYTES = 8 * CHUNK_BYTES
const MOST_WAITING_BYTES = 4 * 1024 * 1024
const FLUSH_EVERY_MS = 1000
/** Who asked for what is nobody's business but the operators'. */
const MODE = 0o640

type Stream = ReturnType<typeof destination>

export class AccessLog {
  /** Lines that found no room. */
  dropped = 0
  private readonly stream: Stream
  private readonly settings: AccessLogSettings
  private readonly write: Writer
  private readonly timer: NodeJS.Timeout
  private ended = false
  // Lines that are not handed over yet, as bytes: joined as strings they would be copied twice more, and all of them at once.
  private slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
  private from = 0
  private to = 0
  private count = 0

  /** `fault` hears when lines cannot be written. Throws {@link Misconfigured} when the file cannot be opened. */
  constructor(settings: AccessLogSettings, fault: (error: Error) => void) {
    const { to, format } = settings
    this.settings = settings
    this.write = writers[format]
    // So that a wrong path is found at the start, and not at the first request.
    if (to !== 'stdout') attempt(to, () => closeSync(openSync(to, 'a', MODE)))
    this.stream = destination({
      dest: to === 'stdout' ? 1 : to,
      append: true,
      sync: false,
      minLength: CHUNK_BYTES,
      maxWrite: 4 * CHUNK_BYTES,
      maxLength: MOST_WAITING_BYTES,
      mode: MODE,
      contentMode: 'buffer',
    })
    this.stream.on('error', fault)
    this.stream.on('drop', () => {
      this.dropped += this.count
    })
    this.timer = setInterval(() => this.flush(), FLUSH_EVERY_MS).unref()
  }

  record(entry: Entry): void {
    if (this.ended) return
    if (this.settings.onlyErrors && !wentWrong(entry)) return
    const line = `${this.write(entry, this.settings.query)}\n`
    const { length } = line
    if (this.to + length > this.slab.length) this.renew(length)
    this.slab.write(line, this.to, length, 'latin1')
    this.to += length
    this.count++
    if (this.to - this.from >= CHUNK_BYTES) this.handOver()
  }

  /** Another file was put in its place (logrotate): begins to write into the new one. */
  reopen(): void {
    // At the end of a shutdown: there is nothing to come for a new file.
    if (this.ended) return
    this.handOver()
    if (this.settings.to !== 'stdout') this.stream.reopen()
  }

  /** Waits until the last line is out, or a second. */
  async close(): Promise<void> {
    if (this.ended) return
    this.ended = true
    clearInterval(this.timer)
    this.handOver()
    await lastLines(this.stream, FLUSH_EVERY_MS)
  }

  private flush(): void {
    this.handOver()
    this.stream.flush()
  }

  private handOver(): void {
    // Its types know of strings only.
    if (this.count > 0) this.stream.write(this.slab.subarray(this.from, this.to) as unknown as string)
    this.from = this.to
    this.count = 0
  }

  /** Another slab: the stream still has this one. */
  private renew(bytes: number): void {
    this.handOver()
    this.slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, bytes))
    this.from = 0
    this.to = 0
  }
}

/** Whether there could be a log, without making one: who looks at settings may be somebody else, and a file of his would be in the way. */
export function checkAccessLog({ to }: AccessLogSettings): void {
  if (to === 'stdout') return
  attempt(to, () => {
    const known = statSync(to, { throwIfNoEntry: false })
    if (known?.isDirectory() === true) throw Object.assign(new Error('it is a folder'), { code: 'EISDIR' })
    accessSync(known === undefined ? dirname(to) : to, constants.W_OK)
  })
}

function attempt(file: string, act: () => void): void {
  try {
    act()
  } catch (error) {
    throw new Misconfigured([
      { text: `accessLog.to: expected a file that can be written, got ${reasonOf(error, file)}` },
    ])
  }
}

function reasonOf(error: unknown, file: string): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return `${file} in a folder that is not there`
  if (code === 'EISDIR') return `${file}, which is a folder`
  return `${file} (${code === 'EACCES' ? 'permission denied' : code})`
}

function wentWrong({ status, code, cut }: Entry): boolean {
  return status >= 500 || status === 0 || code !== '' || cut
}
