import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { commandLine } from '../lib/command-line.mjs'

describe('the command line', () => {
  test.each([
    ['nothing starts the demo', [], ['demo']],
    ['options start the gateway', ['--upstream', 'http://a'], ['gateway', '--upstream', 'http://a']],
    ['a command stays', ['check', 'rules.yaml'], ['check', 'rules.yaml']],
    ['so does a question', ['--help'], ['--help']],
  ])('%s', (_, args, expected) => {
    expect(commandLine(args)).toEqual(expected)
  })
})

describe('the child in the foreground', () => {
  const folder = mkdtempSync(join(tmpdir(), 'floodwall-start-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** Starts a parent as `npm start` is one, with a child that runs the code; waits until the child says `ready`. */
  async function start(code: string): Promise<{ parent: ChildProcess; said: () => string; end: Promise<unknown[]> }> {
    const child = join(folder, 'child.mjs')
    const parent = join(folder, 'parent.mjs')
    writeFileSync(child, code)
    const library = new URL('../lib/child.mjs', import.meta.url).href
    writeFileSync(
      parent,
      `import { runInForeground } from '${library}'\nrunInForeground(process.execPath, ['${child}'])\n`,
    )
    // A group of its own, as a shell gives to a command, so that a signal can go to all of it.
    const started = spawn(process.execPath, [parent], { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
    let said = ''
    const end = once(started, 'close')
    started.stdout.on('data', (chunk) => {
      said += String(chunk)
    })
    while (!said.includes('ready')) await Promise.race([once(started.stdout, 'data'), end])
    return { parent: started, said: () => said, end }
  }

  const COUNTS = `
    let count = 0
    process.on('SIGINT', () => {
      if (++count === 1) setTimeout(() => { console.log('signals: ' + count); process.exit(7) }, 300)
    })
    setInterval(() => {}, 1000)
    console.log('ready')`

  test('gets Ctrl-C once, though the group and npm both send it, and its exit code is passed on', async () => {
    const { parent, said, end } = await start(COUNTS)
    process.kill(-Number(parent.pid), 'SIGINT')
    parent.kill('SIGINT')
    expect(await end).toEqual([7, null])
    expect(said()).toContain('signals: 1')
  })

  test('gets a second Ctrl-C that a person sends', async () => {
    const { parent, said, end } = await start(COUNTS.replace('300', '1500'))
    parent.kill('SIGINT')
    await wait(600)
    parent.kill('SIGINT')
    expect(await end).toEqual([7, null])
    expect(said()).toContain('signals: 2')
  })

  test('a signal that ends it ends the parent too', async () => {
    const { parent, end } = await start("setInterval(() => {}, 1000)\nconsole.log('ready')")
    parent.kill('SIGTERM')
    expect(await end).toEqual([null, 'SIGTERM'])
  })
})
