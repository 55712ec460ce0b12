import { createHash } from 'node:crypto'
import { type FSWatcher, promises, watch } from 'node:fs'
import { dirname, resolve } from 'node:path'
import * as v from 'valibot'
import type { Endpoint } from '../../core/init.ts'
import type { Runtime } from '../../core/runtime.ts'
import { parse, positiveSpan } from '../../core/schema.ts'
import { systemRuntime } from '../../core/system.ts'
import type { Discovery } from './discovery.ts'
import { endpointsIn } from './endpoint-file.ts'

// Which endpoints does a file name, and when does it name others?
//
// The folder is watched, not the file: a watch on a file follows the old one when a new one is renamed over it. In Kubernetes the file is a
// link to a link to a folder that is swapped; that, too, is a change in the folder. What no watch sees, a slow poll does.
//
// Invariant: what is taken was read twice, QUIET_MS apart, with the same content: nobody is writing. Only the first reading is taken at once.

const fileOptions = v.strictObject({
  /** JSON, or a line for each endpoint: `host:port weight zone`. */
  path: v.pipe(v.string('a path'), v.minLength(1, 'a path')),
  /** Look also without being told, so often. Default 10 s. */
  poll: v.optional(positiveSpan, '10s'),
})

export type FileOptions = v.InferInput<typeof fileOptions>

/** After this without a change the file is whole: writers write in one go, or rename. */
const QUIET_MS = 100
/** 1 MiB: ten thousand endpoints fit in. */
const MOST_BYTES = 1_048_576

/** What there was to read, and a key that is another whenever that is. */
type Reading = { readonly key: string; readonly text?: string; readonly error?: unknown }

class FileDiscovery implements Discovery {
  private readonly path: string
  private readonly pollMs: number
  private readonly runtime: Runtime
  private found: (endpoints: readonly Endpoint[]) => void = () => {}
  private failed: (error: unknown) => void = () => {}
  private watcher: FSWatcher | undefined
  /** Which folder the watcher watches: another may have taken its place. */
  private folder = ''
  private cancelPoll: (() => void) | undefined
  private cancelQuiet: (() => void) | undefined
  private looking = false
  private taken: string | undefined
  private candidate: string | undefined
  private closed = false

  constructor(options: FileOptions, runtime: Runtime) {
    const { path, poll } = parse(fileOptions, options, 'file')
    this.path = resolve(path)
    this.pollMs = poll
    this.runtime = runtime
  }

  start(found: (endpoints: readonly Endpoint[]) => void, failed: (error: unknown) => void): void {
    this.found = found
    this.failed = failed
    void this.poll()
  }

  private async poll(): Promise<void> {
    await this.watchFolder()
    await this.look()
    if (!this.closed) this.cancelPoll = this.runtime.after(this.pollMs, () => void this.poll(), true)
  }

  /** Watches the folder that is there now. Where that is not to be had (no folder, no watches left), the poll has to do. */
  private async watchFolder(): Promise<void> {
    const path = dirname(this.path)
    try {
      const { dev, ino } = await promises.stat(path)
      const folder = `${dev} ${ino}`
      if (this.closed || (this.watcher !== undefined && folder === this.folder)) return
      this.unwatch()
      this.watcher = watch(path, { persistent: false }, () => this.changed())
      this.watcher.on('error', () => this.unwatch())
      this.folder = folder
    } catch {
      this.unwatch()
    }
  }

  private unwatch(): void {
    this.watcher?.close()
    this.watcher = undefined
  }

  /** Not put off by further changes: a busy folder would put it off for ever. */
  private changed(): void {
    if (this.closed || this.cancelQuiet !== undefined) return
    const look = () => {
      this.cancelQuiet = undefined
      void this.look()
    }
    this.cancelQuiet = this.runtime.after(QUIET_MS, look, true)
  }

  private async look(): Promise<void> {
    // One at a time, so that an older reading never comes after a newer one.
    if (this.looking) return this.changed()
    this.looking = true
    const reading = await readingOf(this.path)
    this.looking = false
    if (this.closed) return
    const { key } = reading
    const sure = this.taken === undefined || key === this.candidate
    this.candidate = undefined
    if (key === this.taken) return
    if (sure) return this.take(reading)
    this.candidate = key
    this.changed()
  }

  private take({ key, text, error }: Reading): void {
    this.taken = key
    if (text === undefined) return this.failed(error)
    let endpoints: Endpoint[]
    try {
      endpoints = endpointsIn(text)
    } catch (fault) {
      return this.failed(new Error(`${this.path}: ${(fault as Error).message}`, { cause: fault }))
    }
    this.found(endpoints)
  }

  close(): void {
    this.closed = true
    this.unwatch()
    this.cancelPoll?.()
    this.cancelQuiet?.()
  }
}

async function readingOf(path: string): Promise<Reading> {
  try {
    const text = await read(path)
    return { key: `text ${createHash('sha256').update(text).digest('base64')}`, text }
  } catch (error) {
    return { key: `error ${(error as Error).message}`, error }
  }
}

/** At most MOST_BYTES, also of a file that grows while it is read; a pipe or a device would be read for ever. */
async function read(path: string): Promise<string> {
  const stats = await promises.stat(path)
  if (!stats.isFile()) throw new Error(`${path}: is not a file`)
  const file = await promises.open(path, 'r')
  try {
    const bytes = Buffer.alloc(Math.min(stats.size, MOST_BYTES) + 1)
    let filled = 0
    while (filled < bytes.length) {
      const { bytesRead } = await file.read(bytes, filled, bytes.length - filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    if (filled > MOST_BYTES) throw new Error(`${path}: is larger than ${MOST_BYTES} bytes`)
    if (filled > stats.size) throw new Error(`${path}: grew while it was read`)
    return bytes.toString('utf8', 0, filled)
  } finally {
    await file.close()
  }
}

/**
 * Endpoints from a file, which may be replaced, rewritten in place, or swapped by way of links. Timers and watches do not keep the process
 * alive. Throws a ConfigError on bad options; a missing or bad file is a failing answer.
 */
export function file(options: FileOptions, runtime: Runtime = systemRuntime): Discovery {
  return new FileDiscovery(options, runtime)
}
