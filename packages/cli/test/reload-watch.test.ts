import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { bytesOf, digestOf } from '../src/gateway/config/reading.ts'
import { FileWatch, type WatchTimes } from '../src/gateway/reload/file-watch.ts'
import { certificate } from './support/certificates.ts'
import { later } from './support/cleanup.ts'
import { configFile, startGateway } from './support/gateway.ts'
import { ask } from './support/http.ts'
import { startOrigin } from './support/origin.ts'
import { askTls, filesOf, wireTls } from './support/tls.ts'
import { until } from './support/until.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'floodwall-watch-'))
  later(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Watches `files`; what it tells is taken over, as a reload does. */
function watching(files: readonly string[], times: Partial<WatchTimes> = {}): string[] {
  const told: string[] = []
  const digests = (): Map<string, string> => new Map(files.map((file) => [file, digestOf(contentOf(file))]))
  const watch = new FileWatch(
    (found) => {
      told.push([...found.values()].map(String).join('+'))
      watch.over(digests())
    },
    { settleMs: 20, pollMs: 3_600_000, ...times },
  )
  watch.over(digests())
  later(() => watch.close())
  return told
}

function contentOf(file: string): Buffer | undefined {
  try {
    return bytesOf(file)
  } catch {
    return undefined
  }
}

// C36 (i): a file is replaced in many ways.
describe('C36: (i) a change is seen, however it was made', () => {
  const ways: [string, (file: string, text: string) => void][] = [
    ['written in place', (file, text) => writeFileSync(file, text)],
    [
      'renamed over it',
      (file, text) => {
        writeFileSync(`${file}.new`, text)
        renameSync(`${file}.new`, file)
      },
    ],
    [
      'taken away and made anew',
      (file, text) => {
        unlinkSync(file)
        writeFileSync(file, text)
      },
    ],
  ]

  test.each(ways)('%s, three times', async (_way, change) => {
    const file = join(folder(), 'a.yaml')
    writeFileSync(file, 'first')
    const told = watching([file])
    for (const text of ['second', 'third', 'fourth']) {
      change(file, text)
      await until(() => told.at(-1) === text)
    }
    expect(told).toEqual(['second', 'third', 'fourth'])
  })

  test('as Kubernetes does it: the link to the folder of the day is swapped', async () => {
    const base = folder()
    const put = (day: string): void => {
      mkdirSync(join(base, `..${day}`))
      writeFileSync(join(base, `..${day}`, 'a.yaml'), day)
      symlinkSync(`..${day}`, join(base, '..data_tmp'))
      renameSync(join(base, '..data_tmp'), join(base, '..data'))
    }
    put('monday')
    symlinkSync('..data/a.yaml', join(base, 'a.yaml'))
    const told = watching([join(base, 'a.yaml')])
    for (const day of ['tuesday', 'wednesday', 'thursday']) {
      put(day)
      await until(() => told.at(-1) === day)
    }
    expect(told).toEqual(['tuesday', 'wednesday', 'thursday'])
  })

  test('where there are no events, the slow look sees it', async () => {
    const base = folder()
    const [one, two] = ['one', 'two'].map((name) => join(base, name)) as [string, string]
    for (const path of [one, two]) mkdirSync(path)
    writeFileSync(join(one, 'a'), 'first')
    writeFileSync(join(two, 'a'), 'second')
    symlinkSync(one, join(base, 'link'))
    // Nobody watches the folder in which the link lies.
    const told = watching([join(base, 'link', 'a')], { pollMs: 50 })
    symlinkSync(two, join(base, 'link.new'))
    renameSync(join(base, 'link.new'), join(base, 'link'))
    await until(() => told.at(-1) === 'second')
  })

  test('a file that comes late, and one that goes', async () => {
    const file = join(folder(), 'a')
    const told = watching([file])
    writeFileSync(file, 'here')
    await until(() => told.at(-1) === 'here')
    unlinkSync(file)
    await until(() => told.at(-1) === '')
  })
})

test('C36: (h) asked again and again while the file is written: what it is in the end', async () => {
  const file = join(folder(), 'a')
  writeFileSync(file, 'first')
  const told: string[] = []
  const digests = () => new Map([[file, digestOf(contentOf(file))]])
  const watch = new FileWatch(
    (found) => {
      told.push(String(found.get(file)))
      watch.over(digests())
    },
    { settleMs: 5, pollMs: 'never' },
  )
  later(() => watch.close())
  watch.over(digests())
  // Nobody asked: nothing is told, whatever happens to the file.
  writeFileSync(file, 'unasked')
  for (let i = 0; i <= 100; i++) {
    await pause(1)
    writeFileSync(file, `asked ${i}`)
    watch.ask()
  }
  await until(() => told.at(-1) === 'asked 100')
  expect(told.every((text) => /^asked \d+$/.test(text))).toBe(true)
  // Told although nothing changed: who asks wants to know.
  const before = told.length
  watch.ask()
  await until(() => told.length === before + 1)
})

describe('what is no change', () => {
  test('the same content, another file in the folder, and a file that is being written', async () => {
    const base = folder()
    const file = join(base, 'a')
    writeFileSync(file, 'whole')
    const told = watching([file], { settleMs: 100 })
    writeFileSync(file, 'whole')
    writeFileSync(join(base, 'log'), 'line')
    // Piece by piece, faster than two looks: no half of it is ever told.
    for (let i = 0; i < 60; i++) {
      writeFileSync(file, `piece ${i}`)
      await pause(5)
    }
    writeFileSync(file, 'all pieces')
    await until(() => told.length > 0)
    expect(told).toEqual(['all pieces'])
  })

  test('one fault is told once', async () => {
    const { port } = await startOrigin()
    const gateway = await startGateway({ upstreams: [port] })
    writeFileSync(gateway.file, 'upstreams: {')
    await until(async () => (await gateway.inspect()).reload.failed === 1)
    writeFileSync(join(dirname(gateway.file), 'gateway.yaml.swp'), 'x')
    await pause(500)
    writeFileSync(gateway.file, 'upstreams: {')
    await pause(500)
    expect((await gateway.inspect()).reload.failed).toBe(1)
    expect((await ask(gateway.port)).body).toBe('ok')
  })
})

describe('a gateway that watches its files', () => {
  test('takes new settings, and not with --no-watch', async () => {
    const { port } = await startOrigin()
    const both = await Promise.all([[], ['--no-watch']].map((args) => startGateway({ upstreams: [port], args })))
    for (const { file } of both) {
      const settings = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', upstreams: [`http://127.0.0.1:${port}`] }
      writeFileSync(file, JSON.stringify({ ...settings, routes: [{ id: 'new', path: '/new' }] }))
    }
    const [watched, unwatched] = both
    await until(async () => (await watched?.inspect())?.routes[0]?.id === 'new')
    expect((await ask(watched?.port ?? 0)).status).toBe(404)
    expect((await unwatched?.inspect())?.reload.done).toBe(0)
    expect((await ask(unwatched?.port ?? 0)).status).toBe(200)
  })

  test('takes a new certificate without ending a connection; a bad one changes nothing and is told once', async () => {
    const { port } = await startOrigin()
    const authority = certificate('authority', { authority: true })
    const issue = (name: string, host: string) => certificate(name, { by: authority, names: [host] })
    const [first, named] = [issue('first', 'localhost'), issue('named', 'a.test')]
    const files = filesOf(first)
    const sni = [{ host: 'a.test', ...filesOf(named) }]
    const gateway = await startGateway({ upstreams: [port], config: { tls: { ...files, sni } } })
    const trust = { ca: authority.cert }
    const shown = async (servername = 'localhost') => (await askTls(gateway.port, { ...trust, servername })).shown
    const kept = await wireTls(gateway.port, trust)
    let text = ''
    kept.on('data', (chunk) => {
      text += String(chunk)
    })
    expect([await shown(), await shown('a.test')]).toEqual(['first', 'named'])

    const second = issue('second', 'localhost')
    writeFileSync(files.cert, second.cert)
    writeFileSync(files.key, second.key)
    await until(async () => (await shown()) === 'second')
    expect(await shown('a.test')).toBe('named')

    writeFileSync(files.cert, 'no certificate')
    await until(async () => (await gateway.inspect()).reload.ok === false)
    expect(await shown()).toBe('second')
    const complaints = () => gateway.log.filter(({ fault }) => /certificates in PEM/.test(String(fault)))
    expect(complaints()).toHaveLength(1)
    expect(complaints()[0]?.['fault']).toMatch(/gateway\.yaml:1:\d+ tls\.cert: /)

    const third = issue('third', 'localhost')
    writeFileSync(files.cert, third.cert)
    writeFileSync(files.key, third.key)
    await until(async () => (await shown()) === 'third')
    expect((await gateway.inspect()).reload.ok).toBe(true)
    expect((await gateway.inspect()).certificates[0]).toMatchObject({ subject: 'CN=third' })

    kept.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => text.endsWith('ok'))
    expect(complaints()).toHaveLength(1)
  })

  test('ends with the watch still on: nothing keeps it alive', async () => {
    const { port } = await startOrigin()
    const gateway = await startGateway({
      upstreams: [port],
      config: { adminToken: configFile('x'.repeat(20), 'token') },
    })
    gateway.cli.kill('SIGINT')
    expect((await gateway.cli.finished()).code).toBe(0)
  })
})
