import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Cluster, deadline, envOf, type Init, systemRuntime, timeout } from 'floodwall'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Client, client, type FetchInit } from '../../src/client/index.ts'

// A -> B -> C, three real processes on the built package, called by this one.

interface Seen {
  readonly remainingMs: number
  readonly criticality: Init['criticality']
  readonly told?: string
}

interface Report {
  readonly arrived: number
  readonly seen: readonly Seen[]
  readonly running: number
  readonly client: { readonly pipeline: { readonly layers: readonly Record<string, unknown>[] } } | null
}

interface Message {
  readonly port?: number
  readonly began?: string
  readonly stopped?: string
  readonly reason?: string
  readonly report?: Report
}

const script = fileURLToPath(new URL('support/hop.mjs', import.meta.url))

class Hop {
  readonly said: Message[] = []
  readonly process: ChildProcess
  private readonly waiting: ((message: Message) => void)[] = []

  constructor(order: object) {
    this.process = fork(script, [JSON.stringify(order)], { execArgv: [], env: { ...process.env, VITEST: '' } })
    this.process.on('message', (message: Message) => {
      if (message.port === undefined && message.report === undefined) this.said.push(message)
      else this.waiting.shift()?.(message)
    })
  }

  next(): Promise<Message> {
    return new Promise((resolve, reject) => {
      this.waiting.push(resolve)
      this.process.once('exit', (code) => reject(new Error(`ended with ${code}`)))
    })
  }

  async report(): Promise<Report> {
    const message = this.next()
    this.process.send('report')
    return (await message).report as Report
  }
}

let hops: Record<'A' | 'B' | 'C', Hop>
let caller: Client

const all = () => [hops.A, hops.B, hops.C]
const reports = () => Promise.all(all().map((hop) => hop.report()))

beforeAll(async () => {
  const C = new Hop({ name: 'C', next: null, spends: 10, retries: true })
  const B = new Hop({ name: 'B', next: (await C.next()).port, spends: 100, retries: true })
  const A = new Hop({ name: 'A', next: (await B.next()).port, spends: 300, retries: true })
  hops = { A, B, C }
  const cluster = new Cluster({ slowStart: 0 }, envOf(systemRuntime, 'a'))
  cluster.update([{ id: `127.0.0.1:${(await A.next()).port}` }])
  caller = client('caller', cluster, [deadline({ within: '20s' }), timeout({ after: '20s' })], { drain: 1 })
  // So that connections and modules are there.
  expect(await text('/')).toBe('ABC')
})

afterAll(async () => {
  await caller.close()
  await Promise.all(
    all().map(({ process: child }) => {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.disconnect()
      return gone
    }),
  )
})

beforeEach(() => {
  for (const hop of all()) hop.said.length = 0
})

async function text(path: string, init: FetchInit = {}): Promise<string> {
  return (await caller.fetch(path, init)).text()
}

/** What each of them saw of the last call. */
async function seen(): Promise<[Seen, Seen, Seen]> {
  return (await reports()).map((report) => report.seen.at(-1)) as [Seen, Seen, Seen]
}

const stopped = () => all().map((hop) => hop.said.filter((message) => message.stopped !== undefined).length)

describe('C19 a call of three seconds', () => {
  test('each hop sees what really remains, and how much the call matters', async () => {
    expect(await text('/', { within: 3000, criticality: 'sheddable' })).toBe('ABC')
    const [a, b, c] = await seen()
    expect([a, b, c].map(({ criticality }) => criticality)).toEqual(['sheddable', 'sheddable', 'sheddable'])
    // What it was told, less what has passed here.
    for (const { remainingMs, told } of [a, b, c]) {
      expect(remainingMs).toBeLessThanOrEqual(Number(told) + 0.001)
      expect(remainingMs).toBeGreaterThan(0)
    }
    expect(a.remainingMs).toBeLessThan(3001)
    expect(b.remainingMs).toBeLessThanOrEqual(a.remainingMs - 295)
    expect(c.remainingMs).toBeLessThanOrEqual(b.remainingMs - 95)
    console.log(`left of 3000 ms: ${[a, b, c].map(({ remainingMs }) => Math.round(remainingMs)).join(', ')}`)
  })

  test('the caller leaves: all three stop', async () => {
    const aborter = new AbortController()
    const answer = text('/wait', { within: 15_000, signal: aborter.signal })
    answer.catch(() => {})
    await vi.waitFor(() => expect(hops.C.said).toContainEqual({ began: 'C' }), 10_000)
    expect(stopped()).toEqual([0, 0, 0])
    aborter.abort(new Error('I have left'))
    await expect(answer).rejects.toThrow('I have left')
    await vi.waitFor(() => expect(stopped()).toEqual([1, 1, 1]), 10_000)
    await vi.waitFor(async () => expect((await reports()).map(({ running }) => running)).toEqual([0, 0, 0]), 10_000)
  })

  test('its time is over: all three stop, whether or not anybody tells them', async () => {
    const end = await caller.fetch('/wait', { within: 5000 }).then(
      async (answer) => (await answer.text(), answer.status),
      (error: { code: unknown }) => error.code,
    )
    // Theirs is a fraction of a millisecond before ours, or after; and who hears first that the one behind has stopped has nothing left to stop.
    expect([504, 'deadline']).toContain(end)
    await vi.waitFor(() => expect(stopped()).toContain(1), 10_000)
    await vi.waitFor(async () => expect((await reports()).map(({ running }) => running)).toEqual([0, 0, 0]), 10_000)
  })
})

test('C fails always: 500 calls through retries in A and in B multiply nothing', async () => {
  const before = (await reports()).map(({ arrived }) => arrived)
  const statuses = new Map<number, number>()
  let told = 0
  const one = async () => {
    const answer = await caller.fetch('/fail', { idempotent: true })
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    if (answer.headers.get('x-floodwall-retry') === 'no') told++
    await answer.text()
  }
  for (let i = 0; i < 500; i += 25) await Promise.all(Array.from({ length: 25 }, one))
  const after = await reports()
  const [a = 0, b = 0, c = 0] = after.map(({ arrived }, i) => arrived - (before[i] ?? 0))
  console.log(`500 calls: A had ${a}, B ${b}, C ${c}: ${(c / a).toFixed(3)}x; told not to retry: ${told}`)
  expect(a).toBe(500)
  // B's own retries are all there are: it says so to A, and A to the caller.
  expect(b).toBe(500)
  expect(c).toBeGreaterThanOrEqual(500)
  expect(c / a).toBeLessThanOrEqual(1.1)
  expect([...statuses]).toEqual([[503, 500]])
  expect(told).toBe(500)
})
