import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { story } from '../src/demo/story.ts'
import { descendants, remaining } from './demo/processes.ts'

// The demo as its viewers start it: real processes, from the build.

const bin = fileURLToPath(new URL('../bin/floodwall.js', import.meta.url))
/** Four servers on each side, the gateway and the load generator. */
const CHILDREN = 10

/** A row of the table in the summary. */
function row(of: string, out: string): { requests: number; without: number; floodwall: number } {
  const pattern = new RegExp(`^${of} +([\\d,]+) +([\\d.]+) % .*? ms +([\\d.]+) % `, 'm')
  const [, requests = '', without = '', floodwall = ''] = pattern.exec(out) ?? []
  return { requests: Number(requests), without: Number(without), floodwall: Number(floodwall) }
}

class Demo {
  readonly process: ChildProcess
  readonly folder = mkdtempSync(join(tmpdir(), 'floodwall-test-'))
  out = ''
  errors = ''

  constructor(seconds: number) {
    const env = { ...process.env, TMPDIR: this.folder, TEMP: this.folder, TMP: this.folder, FORCE_COLOR: '1' }
    const args = [bin, 'demo', '--seconds', String(seconds), '--plain']
    this.process = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    this.process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.out += text
    })
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text
    })
  }

  get children(): number[] {
    return descendants(this.process.pid as number)
  }

  /** Until it is in the middle of things. */
  async says(text: string): Promise<void> {
    while (!this.out.includes(text)) {
      if (this.process.exitCode !== null) throw new Error(`it ended with ${this.process.exitCode}: ${this.errors}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  async ended(): Promise<number | null> {
    if (this.process.exitCode === null && this.process.signalCode === null) await once(this.process, 'close')
    return this.process.exitCode
  }
}

let demo: Demo | undefined

function start(seconds: number): Demo {
  demo = new Demo(seconds)
  return demo
}

afterEach(() => {
  demo?.process.kill('SIGKILL')
  if (demo !== undefined) rmSync(demo.folder, { recursive: true, force: true })
})

/** Nothing of it is left: no process, no file. */
async function leavesNothing({ folder }: Demo, children: readonly number[]): Promise<void> {
  expect(await remaining(children, 3_000)).toEqual([])
  expect(readdirSync(folder)).toEqual([])
}

test('the whole story: fewer requests fail with floodwall, and nothing is left behind', {
  timeout: 40_000,
}, async () => {
  const demo = start(1)
  await demo.says('one slow:')
  const { children } = demo
  expect(children).toHaveLength(CHILDREN)
  expect(await demo.ended()).toBe(0)

  for (const { name, says } of story) {
    expect(demo.out).toContain(`${name}: ${says}`)
    expect(row(name, demo.out).requests).toBeGreaterThan(100)
  }
  for (const name of ['one wrong', 'one dead']) {
    const { without, floodwall } = row(name, demo.out)
    expect(floodwall, name).toBeGreaterThan(without)
  }
  expect(row('all dead', demo.out)).toMatchObject({ without: 0, floodwall: 0 })
  expect(demo.out).toMatch(/95 % succeeded again\s+(after|not\s+before)/)
  expect(demo.out).toContain('npm start -- --upstream')
  expect(demo.out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
  expect(demo.errors).toBe('')
  await leavesNothing(demo, children)
})

test('Ctrl-C ends everything, also half-way', { timeout: 20_000 }, async () => {
  const demo = start(1)
  await demo.says('all dead:')
  const { children } = demo
  expect(children).toHaveLength(CHILDREN)
  demo.process.kill('SIGINT')
  expect(await demo.ended()).toBe(130)
  await leavesNothing(demo, children)
})

test('children leave, and tidy up, when the demo is killed', { timeout: 20_000 }, async () => {
  const demo = start(1)
  await demo.says('all well:')
  const { children } = demo
  demo.process.kill('SIGKILL')
  await leavesNothing(demo, children)
})

test('the loss of a child is told, and ends everything', { timeout: 20_000 }, async () => {
  const demo = start(1)
  await demo.says('all well:')
  const { children } = demo
  process.kill(children.at(-1) as number, 'SIGKILL')
  expect(await demo.ended()).toBe(1)
  expect(demo.errors).toMatch(/^floodwall demo: (server \w \(with\w* floodwall\)|the [a-z ]+) was ended by SIGKILL\n$/)
  await leavesNothing(demo, children)
})
