import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { pipeline } from 'floodwall'
import { callOf, protect } from 'floodwall/http'
import { describe, expect, test } from 'vitest'
import { FRESH, QueueDelay, UNKNOWN } from '../../src/server/queue-delay.ts'

// How long a request has waited: the reckoning in a loop of our own, and the estimate beside the truth in real ones, recorded and live.

const at = (of: readonly number[], share: number): number =>
  [...of].sort((a, b) => a - b)[Math.floor(of.length * share)] as number

interface Shown {
  /** Seen by the client's own clock, and by the edge; milliseconds, of each request. */
  readonly truth: number[]
  readonly seen: number[]
}

/** An event loop by hand: turns of the length that is said, with or without sleep. */
class Loop {
  now = 1000
  idle = 0
  loops = 0
  private chores: (() => void)[] = []
  readonly precise = (): number => this.now
  readonly soon = (fn: () => void): void => void this.chores.push(fn)
  readonly idleMs = (): number => this.idle
  readonly turns = (): number => this.loops

  pass(ms: number): void {
    this.now += ms
  }

  /** The poll blocks. */
  doze(ms: number): void {
    this.now += ms
    this.idle += ms
  }

  /** The check phase, and the next turn. */
  turn(): void {
    const due = this.chores
    this.chores = []
    for (const chore of due) chore()
    this.loops++
  }

  /** The loop may sleep: nothing is due in the check phase. */
  get free(): boolean {
    return this.chores.length === 0
  }
}

function delay(): { loop: Loop; delay: QueueDelay } {
  const loop = new Loop()
  return { loop, delay: new QueueDelay(loop, loop) }
}

describe('the reckoning', () => {
  test('what wakes a sleeping loop has not waited; what stands behind it waits for its turn', () => {
    const { loop, delay: d } = delay()
    loop.turn()
    loop.doze(500)
    expect(d.waited(UNKNOWN)).toBe(0)
    loop.pass(5)
    expect(d.waited(UNKNOWN)).toBe(5)
  })

  test('back to back: a place in the turn before, and the place in this one', () => {
    const { loop, delay: d } = delay()
    loop.turn()
    loop.doze(500)
    d.waited(UNKNOWN)
    loop.pass(40)
    loop.turn()
    expect(d.waited(UNKNOWN)).toBe(20)
    loop.pass(10)
    // The second of two at the least: three quarters of that turn were over when it came.
    expect(d.waited(UNKNOWN)).toBe(20)
    // The last answer on its connection was 25 ms ago, and so before the end of that turn.
    expect(d.waited(loop.now - 25)).toBeCloseTo(10 + 15 * 0.9)
    // Answered in this turn, and asked again.
    expect(d.waited(loop.now - 4)).toBeCloseTo(4 * 0.9)
  })

  test('as many as came in turns before are expected again, and come in their order', () => {
    const { loop, delay: d } = delay()
    loop.turn()
    loop.doze(500)
    d.waited(UNKNOWN)
    loop.pass(40)
    for (let turn = 0; turn < 20; turn++) {
      loop.turn()
      for (let i = 0; i < 4; i++) d.waited(UNKNOWN)
      loop.pass(40)
    }
    loop.turn()
    const waits = Array.from({ length: 6 }, () => Math.round(d.waited(UNKNOWN)))
    // One in each quarter of the 40 ms; more than four, and nobody knows how many more: late.
    expect(waits).toEqual([35, 25, 15, 5, 4, 3])
  })

  test('the first request of a connection was accepted a turn before, and that is when it came at the latest', () => {
    const { loop, delay: d } = delay()
    loop.turn()
    loop.doze(500)
    d.waited(UNKNOWN)
    loop.pass(40)
    loop.turn()
    d.waited(UNKNOWN)
    loop.pass(60)
    loop.turn()
    // One came in 40 ms, so that in 60 there are one and a half: the first of them came after a third.
    expect([d.waited(UNKNOWN), d.waited(FRESH)]).toEqual([40, 80])
    expect(d.waited(FRESH, 1000)).toBe(1080)
  })

  test('turns without requests are marked while they are long, and the loop is let sleep after the first short one', () => {
    const { loop, delay: d } = delay()
    loop.turn()
    loop.doze(100)
    d.waited(UNKNOWN)
    loop.pass(1)
    loop.turn()
    loop.pass(30)
    loop.turn()
    expect([loop.free, d.waited(UNKNOWN)]).toEqual([false, 15])
    loop.turn()
    loop.turn()
    expect(loop.free).toBe(true)
  })

  test('an idle loop is never kept from sleeping', () => {
    const { loop, delay: d } = delay()
    expect(loop.free).toBe(true)
    d.signal.level(loop.now)
    expect(loop.free).toBe(true)
  })

  test('turns that nobody marked: as long as they are, as likely as the loop was awake', () => {
    const { loop, delay: d } = delay()
    d.waited(UNKNOWN)
    loop.turn()
    loop.turn()
    // Ten turns of 10 ms, and 300 ms of sleep.
    loop.pass(100)
    loop.idle += 300
    loop.now += 300
    loop.loops += 10
    expect(d.waited(UNKNOWN)).toBeCloseTo((((100 / 10) * 100) / 400) * 0.5, 0)
  })

  test('the signal is the least of the last 100 ms; nothing waits where nothing comes', () => {
    const { loop, delay: d } = delay()
    loop.turn()
    loop.doze(500)
    for (const ms of [0, 50, 20]) {
      loop.pass(ms)
      d.waited(UNKNOWN)
    }
    d.signal.level(loop.now)
    expect(d.signal.value).toBe(0)
    loop.pass(40)
    d.waited(UNKNOWN)
    expect([d.signal.level(loop.now) > 0, d.signal.value]).toEqual([false, 50])
    loop.doze(200)
    expect([d.signal.level(loop.now), d.signal.value]).toEqual([0, 0])
  })

  test('a Node that does not count its turns: an estimate all the same', () => {
    const { loop } = delay()
    const d = new QueueDelay(loop, { idleMs: loop.idleMs, turns: () => Number.NaN })
    loop.doze(500)
    expect(d.waited(UNKNOWN)).toBe(0)
    loop.turn()
    loop.turn()
    loop.pass(10)
    expect(d.waited(UNKNOWN)).toBeGreaterThanOrEqual(0)
  })
})

interface Recording {
  readonly name: string
  readonly kind: 'kept' | 'fresh'
  /** The end of a turn: now, slept, turns. A request: the same, since, unaccepted, truth. */
  readonly rows: readonly (readonly [number, number, number, (number | 'fresh' | null)?, number?, number?])[]
}

const FIXTURE = new URL('fixtures/queue-delay.json', import.meta.url)
const { runs } = JSON.parse(readFileSync(FIXTURE, 'utf8')) as { runs: Recording[] }

/** What would have been seen in the loop that was recorded, beside the truth. */
function replay({ rows }: Recording): Shown {
  // Away from 0, where times of the clock and the marks for "none" would meet.
  const zero = 1e6
  let [now, slept, turns] = [zero, 0, 0]
  let chores: (() => void)[] = []
  const runtime = { precise: () => now, soon: (fn: () => void) => void chores.push(fn) }
  const d = new QueueDelay(runtime, { idleMs: () => slept, turns: () => turns })
  const shown: Shown = { truth: [], seen: [] }
  for (const [at, idle, loops, since, unaccepted = 0, truth] of rows) {
    now = zero + at
    slept = idle
    turns = loops
    if (truth === undefined) {
      const due = chores
      chores = []
      for (const chore of due) chore()
    } else {
      const known = since === 'fresh' ? FRESH : typeof since === 'number' ? zero + since : UNKNOWN
      shown.seen.push(d.waited(known, unaccepted))
      shown.truth.push(truth)
    }
  }
  return shown
}

describe('real loops, recorded by support/record-queue-delay.mjs', () => {
  test.each(runs.map((run) => [run.name, run] as const))('%s: off by a tenth at the median', (_, run) => {
    const { truth, seen } = replay(run)
    const off = truth.map((real, i) => Math.abs((seen[i] as number) - real))
    const median = at(truth, 0.5)
    expect(truth.length).toBeGreaterThan(300)
    // The middle of all turns instead of a place in them: 0.12 to 0.15.
    expect(at(off, 0.5) / median).toBeLessThan(0.1)
    expect(Math.abs(at(seen, 0.5) / median - 1)).toBeLessThan(0.15)
    expect(Math.abs(at(seen, 0.9) / at(truth, 0.9) - 1)).toBeLessThan(0.2)
  })
})

const SENDER = fileURLToPath(new URL('support/sender.mjs', import.meta.url))

const spin = (ms: number): void => {
  for (const end = performance.now() + ms; performance.now() < end; );
}
const HANDLERS = {
  'sync 5 ms': () => spin(5),
  'async, 1 ms and 2 ms': async () => {
    spin(1)
    await sleep(5)
    spin(2)
  },
}

/** Serves `rate` requests a second for 2 s. */
async function serving(handler: () => unknown, rate: number, kind: 'kept' | 'fresh'): Promise<Shown> {
  const shown: Shown = { truth: [], seen: [] }
  const server = createServer({ keepAliveTimeout: 60_000 })
  const guard = protect(
    pipeline('door', []),
    async (request, response) => {
      const sent = BigInt(String(request.headers['x-sent']))
      shown.truth.push(Number(process.hrtime.bigint() - sent) / 1e6)
      shown.seen.push(callOf(request)?.init.waitedMs ?? Number.NaN)
      await handler()
      response.end('ok')
    },
    { connections: server },
  )
  server.on('request', guard)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const client: ChildProcess = fork(SENDER, [String(port), String(rate), '2', '100', kind])
  await once(client, 'exit')
  server.closeAllConnections()
  server.close()
  await guard.close()
  return shown
}

describe.each(Object.entries(HANDLERS))('%s', (name, handler) => {
  const capacity = name.startsWith('sync') ? 200 : 333
  test.each([
    ['kept', 0.3],
    ['kept', 2],
    ['fresh', 2],
  ] as const)('the estimate beside the truth: %s connections, at %d times the capacity', async (kind, load) => {
    const { truth, seen } = await serving(handler, capacity * load, kind)
    const [off, median] = [truth.map((real, i) => Math.abs((seen[i] as number) - real)), at(truth, 0.5)]
    console.log(
      `${name}, ${kind}, ${load}x: ${truth.length} requests; truth p50 ${median.toFixed(1)} p90 ${at(truth, 0.9).toFixed(1)} ms;` +
        ` seen p50 ${at(seen, 0.5).toFixed(1)} p90 ${at(seen, 0.9).toFixed(1)} ms; off p50 ${at(off, 0.5).toFixed(1)} p90 ${at(off, 0.9).toFixed(1)} ms`,
    )
    expect(seen.every((ms) => ms >= 0)).toBe(true)
    // Nothing is asserted of milliseconds, on a machine that others use; but an estimate of the turns alone sees a thirtieth of this.
    if (kind === 'fresh') expect(at(seen, 0.5)).toBeGreaterThan(median / 5)
  })
})
