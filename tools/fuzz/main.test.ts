import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { asked, UsageError } from './options.mjs'

describe('the command line', () => {
  test('is a minute of seed 1 when it says nothing', () => {
    expect(asked([])).toEqual({ help: false, seconds: 60, seeds: [1] })
  })

  test('names seeds, a span, a case, a build', () => {
    expect(asked(['--seed', '3-5', '--connections', '100'])).toMatchObject({ seeds: [3, 4, 5], connections: 100 })
    expect(asked(['--seed', '4', '--case', '0', '--bin', 'x.js'])).toMatchObject({ seeds: [4], only: 0, bin: 'x.js' })
  })

  test.each([
    [['--seconds', 'x']],
    [['--seconds', '-1']],
    [['--seed', '5-3']],
    [['--seed', '']],
    [['--seconds', '1', '--connections', '1']],
    [['--seed', '1-2', '--case', '1']],
    [['--nonsense']],
    [['stray']],
  ])('%j is nonsense', (args) => {
    expect(() => asked(args)).toThrow(UsageError)
  })
})

describe('the command', () => {
  function start(...args: string[]): {
    said: () => string
    until: (text: string) => Promise<void>
    end: Promise<unknown[]>
    stop: () => void
  } {
    const child = spawn(process.execPath, [fileURLToPath(new URL('main.mjs', import.meta.url)), ...args])
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk))
    return {
      said: () => text,
      async until(wanted) {
        while (!text.includes(wanted)) await once(child.stdout, 'data')
      },
      end: once(child, 'close'),
      stop: () => void child.kill('SIGINT'),
    }
  }

  test('shows a case from all sides', async () => {
    const { said, end } = start('--seed', '7', '--case', '0')
    expect(await end).toEqual([0, null])
    expect(said()).toContain('by the letter: ')
    expect(said()).toContain('the client heard, until ')
    expect(said()).toContain('seed 7: 1 connections')
  })

  test('ends with a summary when it is told to, and its gateway with it', async () => {
    const { said, until, end, stop } = start('--seconds', '600')
    await until('the gateway is process ')
    stop()
    expect(await end).toEqual([0, null])
    expect(said()).toMatch(/seed 1: \d+ connections, .* 0 findings/)
    const pid = Number(/process (\d+)/.exec(said())?.[1])
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })

  test('ends with 2 when there is nothing to begin with', async () => {
    expect(await start('--seconds', 'soon').end).toEqual([2, null])
    expect(await start('--bin', '/no/such/file.js').end).toEqual([2, null])
  })
})
