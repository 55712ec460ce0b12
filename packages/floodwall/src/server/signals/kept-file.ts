import { closeSync, openSync, readSync } from 'node:fs'

// What does a small file of the kernel say now?
//
// Opened once and read at its beginning: 1 to 5 µs, where opening it each time costs 18. A group that is removed takes its files with it (ENODEV on a
// descriptor that is still open, ENOENT afterwards), and a container may never have had them; both are normal, and are asked for again
// after a while.

/** What is read at most; the files here are far smaller, `memory.stat` is the longest with 1 to 2 KB. */
const MOST_BYTES = 4096
/** A file that is not there is not looked for with each sample. */
const AGAIN_MS = 5000

const buffer = Buffer.allocUnsafe(MOST_BYTES)

export class KeptFile {
  readonly path: string
  private descriptor: number | undefined
  private againAt = Number.NEGATIVE_INFINITY

  constructor(path: string) {
    this.path = path
  }

  /** Its text, or undefined while there is none to read. */
  read(now: number): string | undefined {
    if (this.descriptor === undefined && now < this.againAt) return undefined
    const kept = this.descriptor !== undefined
    const text = this.attempt()
    // The descriptor may be of a file that has gone, with a new one in its place.
    const found = text ?? (kept ? this.attempt() : undefined)
    if (found === undefined) this.againAt = now + AGAIN_MS
    return found
  }

  close(): void {
    const { descriptor } = this
    this.descriptor = undefined
    if (descriptor === undefined) return
    try {
      closeSync(descriptor)
    } catch {
      // It is gone, and so is the file.
    }
  }

  private attempt(): string | undefined {
    try {
      this.descriptor ??= openSync(this.path, 'r')
      const length = readSync(this.descriptor, buffer, 0, MOST_BYTES, 0)
      if (length > 0) return buffer.toString('latin1', 0, length)
    } catch {
      // Said below.
    }
    this.close()
    return undefined
  }
}

/** A file that is looked at now and then. */
export function once(path: string, now: number): string | undefined {
  const file = new KeptFile(path)
  const text = file.read(now)
  file.close()
  return text
}

/** The number after `name` at the beginning of a line (`nr_throttled 12`); undefined when there is none. */
export function fieldOf(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined
  const key = `${name} `
  const found = text.startsWith(key) ? 0 : text.indexOf(`\n${key}`) + 1
  if (found === 0 && !text.startsWith(key)) return undefined
  return numberAt(text, found + key.length)
}

/** The number after the first `key`: of `some ... total=12`, 12 after ` total=`. */
export function fieldAfter(text: string | undefined, key: string): number | undefined {
  const found = text?.indexOf(key) ?? -1
  return found < 0 ? undefined : numberAt(text, found + key.length)
}

/** The digits of `text` from `start` on as a number; undefined when there are none: `max`, `-1`. */
export function numberAt(text: string | undefined, start = 0): number | undefined {
  if (text === undefined) return undefined
  let end = start
  while (end < text.length && text.charCodeAt(end) >= 48 && text.charCodeAt(end) <= 57) end++
  return end === start ? undefined : Number(text.slice(start, end))
}
