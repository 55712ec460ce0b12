import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

// The files that a configuration is made of: settings, certificates, keys, tokens.
//
// One reading is one moment: each file is read once, and what it held is remembered as a digest, so that whoever watches the files compares
// them with what is in use and not with what he happened to see first.

/** Longer is no configuration; without a bound /dev/zero would be read for ever. */
export const MOST_BYTES: number = 1024 * 1024
const PART_BYTES = 65_536

/** A file cannot be used; the message says why, for people. */
export class Unreadable extends Error {}

export class Reading {
  /** Path to digest; what could not be read is there, too: it may come. */
  readonly digests: Map<string, string> = new Map()
  private readonly known: ReadonlyMap<string, Buffer>

  /** `known`: files that somebody has read already and found complete. */
  constructor(known: ReadonlyMap<string, Buffer> = new Map()) {
    this.known = known
  }

  /** @throws Unreadable */
  bytes(path: string): Buffer {
    try {
      const bytes = this.known.get(path) ?? bytesOf(path)
      this.digests.set(path, digestOf(bytes))
      return bytes
    } catch (error) {
      this.digests.set(path, digestOf(undefined))
      throw error
    }
  }

  /** @throws Unreadable */
  text(path: string): string {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(this.bytes(path))
    } catch (error) {
      if (error instanceof TypeError) throw new Unreadable('expected text in UTF-8')
      throw error
    }
  }
}

/** What stands for the content of a file; undefined: there is none. */
export function digestOf(bytes: Buffer | undefined): string {
  return bytes === undefined ? '' : createHash('sha256').update(bytes).digest('base64')
}

/** @throws Unreadable */
export function bytesOf(path: string): Buffer {
  const parts: Buffer[] = []
  let length = 0
  try {
    const descriptor = openSync(path, 'r')
    try {
      if (fstatSync(descriptor).isDirectory()) throw new Error('it is a directory')
      for (let read = -1; read !== 0 && length <= MOST_BYTES; length += read) {
        const part = Buffer.allocUnsafe(PART_BYTES)
        read = readSync(descriptor, part, 0, PART_BYTES, null)
        parts.push(part.subarray(0, read))
      }
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    throw new Unreadable(`cannot be read: ${reasonOf(error)}`)
  }
  if (length > MOST_BYTES) throw new Unreadable('expected at most 1 MiB')
  return Buffer.concat(parts)
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'there is no such file'
  return code === 'EACCES' ? 'permission denied' : message
}
