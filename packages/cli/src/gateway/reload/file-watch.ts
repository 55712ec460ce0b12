import { createHash } from 'node:crypto'
import { type FSWatcher, statSync, watch } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { digestOf, MOST_BYTES } from '../config/reading.ts'

// Did one of these files change, and is it complete?
//
// Folders are watched, not files: a file that is replaced takes its watch with it, and what Kubernetes swaps is a link beside it. An event is
// only a reason to look; what counts is the content. It is told when two looks, some time apart, have seen the same: a file that is just
// being written is not taken for a whole one. Events can be lost, or not exist (network drives, too many watches), so there is a slow look
// at everything as well.

export interface WatchTimes {
  /** From an event to the first look, and between two looks. */
  readonly settleMs: number
  /** Between looks without a reason. `never`: only who asks makes it look. */
  readonly pollMs: number | 'never'
}

const usual: WatchTimes = { settleMs: 100, pollMs: 5000 }
export const onlyAsked: WatchTimes = { ...usual, pollMs: 'never' }

/** Files as they were at one look; undefined: there is none, or none that can be read. */
type Look = ReadonlyMap<string, Buffer | undefined>

export class FileWatch {
  private readonly changed: (files: ReadonlyMap<string, Buffer>) => void
  private readonly times: WatchTimes
  /** Path to the digest of what is in use. */
  private digests: ReadonlyMap<string, string> = new Map()
  private folders: FSWatcher[] = []
  private timer: NodeJS.Timeout | undefined
  /** The timer is for a look with a reason. */
  private soon = false
  /** What the last look saw, while something is on its way. */
  private seen: string | undefined
  private looking = false
  private again = false
  /** Somebody wants them told, changed or not. */
  private asked = false
  private closed = false

  /** `changed` gets the files with their new contents; it is expected to call `over` before it returns. */
  constructor(changed: (files: ReadonlyMap<string, Buffer>) => void, times: WatchTimes = usual) {
    this.changed = changed
    this.times = times
  }

  /** From now on these files, with what is in use of them. */
  over(digests: ReadonlyMap<string, string>): void {
    this.digests = new Map([...digests].filter(([path]) => isFileOrNothing(path)))
    this.seen = undefined
    if (this.times.pollMs === 'never') return
    this.rearm()
    // What changed while nobody watched is seen now.
    this.lookSoon()
  }

  /** Tells the files as they are, as soon as they are complete. */
  ask(): void {
    this.asked = true
    this.again = true
    if (!this.looking && !this.soon) this.lookIn(0)
  }

  close(): void {
    this.closed = true
    clearTimeout(this.timer)
    for (const folder of this.folders) folder.close()
  }

  private rearm(): void {
    for (const folder of this.folders) folder.close()
    const paths = [...this.digests.keys()].map((path) => resolve(path))
    const names = new Set(paths.map((path) => basename(path)))
    this.folders = [...new Set(paths.map((path) => dirname(path)))].flatMap((path) => {
      try {
        const folder = watch(path, { persistent: false }, (_, name) => {
          // `..data` is what Kubernetes swaps. Others in the folder may be written all the time.
          if (name === null || names.has(name) || name.startsWith('..')) this.stirred()
        })
        // The slow look goes on.
        folder.on('error', () => folder.close())
        return [folder]
      } catch {
        return []
      }
    })
  }

  private stirred(): void {
    this.again = true
    // Not put off by each event: somebody who never stops would never be seen.
    if (!this.looking && !this.soon) this.lookSoon()
  }

  private lookSoon(): void {
    this.lookIn(this.times.settleMs)
    this.soon = true
  }

  private lookIn(ms: number | 'never'): void {
    clearTimeout(this.timer)
    this.soon = false
    if (this.closed || ms === 'never') return
    this.timer = setTimeout(() => void this.look(), ms).unref()
  }

  private async look(): Promise<void> {
    this.looking = true
    this.soon = false
    this.again = false
    const { digests } = this
    const files = await contentsOf([...digests.keys()])
    this.looking = false
    if (this.closed) return
    if (digests !== this.digests) return this.lookSoon()
    const mark = markOf(files)
    const differs = this.asked || [...files].some(([path, bytes]) => digestOf(bytes) !== digests.get(path))
    if (!differs) {
      this.seen = undefined
      return this.again ? this.lookSoon() : this.lookIn(this.times.pollMs)
    }
    // What stirred while we read may be missing in what we have read.
    if (mark !== this.seen || this.again) {
      this.seen = mark
      return this.lookSoon()
    }
    this.seen = undefined
    this.asked = false
    // A folder may be another one of the same name by now: `over` watches it anew.
    this.changed(new Map([...files].filter((one): one is [string, Buffer] => one[1] !== undefined)))
  }
}

async function contentsOf(paths: readonly string[]): Promise<Look> {
  const files = new Map<string, Buffer | undefined>()
  for (const path of paths) files.set(path, await contentOf(path))
  return files
}

async function contentOf(path: string): Promise<Buffer | undefined> {
  try {
    const { size } = await stat(path)
    return size > MOST_BYTES ? undefined : await readFile(path)
  } catch {
    return undefined
  }
}

/** What a pipe says is gone once it is read: nobody can look again. */
function isFileOrNothing(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return true
  }
}

function markOf(files: Look): string {
  const hash = createHash('sha256')
  for (const [path, bytes] of files) hash.update(`${path}\0${digestOf(bytes)}\0`)
  return hash.digest('base64')
}
