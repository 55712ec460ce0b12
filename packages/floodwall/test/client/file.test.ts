import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Runtime, systemRuntime } from 'floodwall'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type FileOptions, file } from '../../src/client/index.ts'

const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'endpoints-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

interface Watched {
  readonly lists: string[][]
  readonly errors: string[]
  /** Waits until the newest list is this one. */
  until(...ids: string[]): Promise<void>
  close(): void
}

/** Follows a file; the poll is an hour away unless the test is about it. */
function follow(path: string, options: Partial<FileOptions> = {}, runtime: Runtime = systemRuntime): Watched {
  const lists: string[][] = []
  const errors: string[] = []
  const discovery = file({ path, poll: '1h', ...options }, runtime)
  onTestFinished(() => discovery.close())
  discovery.start(
    (list) => void lists.push(list.map((e) => e.id)),
    (error) => void errors.push((error as Error).message),
  )
  const until = (...ids: string[]) => vi.waitFor(() => expect(lists.at(-1)).toEqual(ids), { timeout: 10_000 })
  return { lists, errors, until, close: () => discovery.close() }
}

describe('a change is seen', () => {
  test('replaced by renaming, again and again', async () => {
    const path = join(folder(), 'endpoints')
    writeFileSync(path, 'a:1\n')
    const { until } = follow(path)
    await until('a:1')
    for (const id of ['b:1', 'c:1', 'd:1']) {
      writeFileSync(`${path}.new`, `${id}\n`)
      renameSync(`${path}.new`, path)
      await until(id)
    }
  })

  test('rewritten in place, and appended to', async () => {
    const path = join(folder(), 'endpoints')
    writeFileSync(path, 'a:1\n')
    const { until } = follow(path)
    await until('a:1')
    writeFileSync(path, 'b:1\n')
    await until('b:1')
    appendFileSync(path, 'c:1\n')
    await until('b:1', 'c:1')
  })

  test('removed and made again', async () => {
    const path = join(folder(), 'endpoints')
    writeFileSync(path, 'a:1\n')
    const { until, errors } = follow(path)
    await until('a:1')
    unlinkSync(path)
    await vi.waitFor(() => expect(errors.at(-1)).toMatch(/ENOENT/), { timeout: 10_000 })
    writeFileSync(path, 'a:1\n')
    await until('a:1')
  })

  test('the folder behind its links is swapped, as Kubernetes does', async () => {
    const root = folder()
    const release = (name: string, id: string) => {
      mkdirSync(join(root, name))
      writeFileSync(join(root, name, 'endpoints'), `["${id}"]`)
      symlinkSync(name, join(root, '..data_tmp'))
      renameSync(join(root, '..data_tmp'), join(root, '..data'))
    }
    release('..2024_1', 'a:1')
    symlinkSync('..data/endpoints', join(root, 'endpoints'))
    const { until } = follow(join(root, 'endpoints'))
    await until('a:1')
    release('..2024_2', 'b:1')
    rmSync(join(root, '..2024_1'), { recursive: true })
    await until('b:1')
    release('..2024_3', 'c:1')
    await until('c:1')
  })

  test('a folder that comes later, or another in its place: by the poll', async () => {
    const root = folder()
    const inner = join(root, 'current')
    const { until, errors } = follow(join(inner, 'endpoints'), { poll: '20ms' })
    await vi.waitFor(() => expect(errors).toHaveLength(1), 10_000)
    mkdirSync(inner)
    writeFileSync(join(inner, 'endpoints'), 'a:1\n')
    await until('a:1')
    renameSync(inner, `${inner}.old`)
    mkdirSync(inner)
    writeFileSync(join(inner, 'endpoints'), 'b:1\n')
    await until('b:1')
    writeFileSync(join(inner, 'endpoints'), 'c:1\n')
    await until('c:1')
  })

  test('another folder in its place is watched from the next poll on', async () => {
    const root = folder()
    const inner = join(root, 'current')
    mkdirSync(inner)
    writeFileSync(join(inner, 'endpoints'), 'a:1\n')
    const polls: (() => void)[] = []
    const after: Runtime['after'] = (ms, fn, background) =>
      ms === 3_600_000 ? (polls.push(fn), () => {}) : systemRuntime.after(ms, fn, background)
    const { until } = follow(join(inner, 'endpoints'), {}, { ...systemRuntime, after })
    await until('a:1')
    renameSync(inner, `${inner}.old`)
    mkdirSync(inner)
    writeFileSync(join(inner, 'endpoints'), 'b:1\n')
    await vi.waitFor(() => expect(polls).toHaveLength(1), 10_000)
    polls[0]?.()
    await until('b:1')
    writeFileSync(join(inner, 'endpoints'), 'c:1\n')
    await until('c:1')
  })

  test('also while something else in the folder never rests', async () => {
    const root = folder()
    const path = join(root, 'endpoints')
    writeFileSync(path, 'a:1\n')
    const { until } = follow(path)
    await until('a:1')
    const noise = setInterval(() => writeFileSync(join(root, 'log'), 'x'), 5)
    onTestFinished(() => clearInterval(noise))
    writeFileSync(path, 'b:1\n')
    await until('b:1')
  })
})

describe('what is bad is not taken', () => {
  test('a writer that stops in the middle: never a part of its list', async () => {
    const path = join(folder(), 'endpoints')
    const whole = Array.from({ length: 50 }, (_, i) => `10.0.0.${i}:80`)
    writeFileSync(path, `${whole.join('\n')}\n`)
    const { until, lists } = follow(path)
    await until(...whole)
    const next = whole.map((id) => id.replace(':80', ':81'))
    writeFileSync(path, '')
    for (const id of next) {
      appendFileSync(path, `${id}\n`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await until(...next)
    expect(lists).toEqual([whole, next])
  })

  test('it is reported once, with its line, and the next good one counts', async () => {
    const path = join(folder(), 'endpoints')
    writeFileSync(path, 'a:1\n')
    const { until, errors, lists } = follow(path, { poll: '20ms' })
    await until('a:1')
    writeFileSync(path, 'a:1\nnonsense\n')
    await vi.waitFor(() => expect(errors).toHaveLength(1), { timeout: 10_000 })
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(errors).toEqual([`${path}: line 2: expected "host:port weight zone", got "nonsense"`])
    writeFileSync(path, 'a:1\n')
    await vi.waitFor(() => expect(lists).toHaveLength(2), { timeout: 10_000 })
  })

  test.each<[string, (path: string) => void, RegExp]>([
    ['missing', () => {}, /ENOENT/],
    ['a folder', (path) => mkdirSync(path), /is not a file/],
    ['a pipe', (path) => void execFileSync('mkfifo', [path]), /is not a file/],
    ['a link to nowhere', (path) => symlinkSync('nowhere', path), /ENOENT/],
    ['too large', (path) => writeFileSync(path, '#'.repeat(1_048_577)), /larger than 1048576 bytes/],
    ['bytes', (path) => writeFileSync(path, Buffer.from([0, 255, 254, 10])), /line 1/],
  ])('%s', async (_, make, message) => {
    const path = join(folder(), 'endpoints')
    make(path)
    const { errors, lists } = follow(path)
    await vi.waitFor(() => expect(errors).toEqual([expect.stringMatching(message)]), 10_000)
    expect(lists).toEqual([])
  })

  test('a large file that is allowed', async () => {
    const path = join(folder(), 'endpoints')
    const ids = Array.from({ length: 10_000 }, (_, i) => `10.${i >> 8}.${i & 255}.1:80`)
    writeFileSync(path, `${ids.join('\n')}\n`)
    await follow(path).until(...ids)
  })
})

test('C38 it keeps neither the process alive nor anything open', async () => {
  const open = () => process.getActiveResourcesInfo().filter((kind) => /FSEvent|FSReq|FILEHANDLE/.test(kind)).length
  const path = join(folder(), 'endpoints')
  writeFileSync(path, 'a:1\n')
  const before = open()
  const watched = follow(path)
  await watched.until('a:1')
  await vi.waitFor(() => expect(open()).toBeLessThanOrEqual(before), 10_000)
  watched.close()
  watched.close()
  writeFileSync(path, 'b:1\n')
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(watched.lists).toEqual([['a:1']])
})

test.each([
  [{}, /file\.path/],
  [{ path: '' }, /file\.path/],
  [{ path: 'x', poll: 0 }, /file\.poll/],
])('%j is refused', (options, message) => {
  expect(() => file(options as FileOptions)).toThrow(message)
})
