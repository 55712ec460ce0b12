import { bulkhead, queue, rateLimit } from 'floodwall'
import {
  arrivalsAt,
  Clients,
  EventLoopServer,
  type EventLoopServerOptions,
  exponential,
  fixed,
  poisson,
  type Report,
  Server,
  World,
} from 'floodwall/simulator'
import { describe, expect, test } from 'vitest'

/** 10 ms each, of which 4 compute: 2 before and 2 after 6 ms of waiting. */
function lived(
  times: readonly number[],
  options: Partial<EventLoopServerOptions> = {},
): { answers: number[]; report: Report } {
  const answers: number[] = []
  const world = new World({ trace: (at, step, part) => void (step === 'end' && part === 'c' && answers.push(at)) })
  const loop = new EventLoopServer(world, 's', { service: fixed(10), blocking: 0.4, ...options })
  new Clients(world, 'c', { to: loop, arrivals: arrivalsAt(times) })
  return { report: world.run('1s'), answers }
}

const s = ({ report }: { report: Report }) => report.servers['s'] as NonNullable<(typeof report.servers)[string]>
const c = ({ report }: { report: Report }) => report.clients['c'] as NonNullable<(typeof report.clients)[string]>

describe('an event loop', () => {
  test('lets handlers wait side by side, and compute one after the other', () => {
    const run = lived([0, 0, 0])
    // Blocks: 0-2, 2-4, 4-6; waits until 8, 10, 12; blocks 8-10, 10-12, 12-14.
    expect(run.answers).toEqual([10, 12, 14])
    expect(s(run)).toMatchObject({ good: 3, mostWaiting: 2, utilisation: 12 / 1000, queueDelay: { min: 0, max: 4 } })
  })

  test('that computes all the time is a queue', () => {
    expect(lived([0, 0, 0], { blocking: 1 }).answers).toEqual([10, 20, 30])
  })

  test('is where the queue delay of an overloaded Node process comes from', () => {
    const world = new World({ seed: 1 })
    const loop = new EventLoopServer(world, 's', { service: exponential('20ms'), blocking: 0.5 })
    new Clients(world, 'c', { to: loop, arrivals: poisson(90) })
    world.run('20s')
    expect(loop.queueDelayMs).toBeLessThan(300)
    new Clients(world, 'flood', { to: loop, arrivals: poisson(60) })
    world.run('20s')
    // 150 a second of 10 ms each: it falls behind by half of the time that passes, and nobody is told.
    expect(loop.queueDelayMs).toBeGreaterThan(3000)
    expect(loop.report().utilisation).toBeGreaterThan(0.9)
    expect(loop.waiting).toBeGreaterThan(300)
  })

  test('calls others while it waits', () => {
    const world = new World()
    const below = new Server(world, 'below', { service: fixed(30), workers: 10 })
    const loop = new EventLoopServer(world, 's', { service: fixed(10), blocking: 1, calls: { to: below } })
    const clients = new Clients(world, 'c', { to: loop, arrivals: arrivalsAt([0, 0]) })
    world.run('1s')
    // Blocks 0-5 and 5-10, calls until 35 and 40, blocks 35-40 and 40-45.
    expect(clients.report().latency).toMatchObject({ min: 40, max: 45 })
    below.become({ errors: 1 })
    clients.pipeline.start(loop.serve, () => {})
    world.run('1s')
    expect(loop.report()).toMatchObject({ good: 2, failed: 1 })
  })
})

describe('the guard of an event loop', () => {
  test('is asked when the handler starts, and a no costs the loop a little', () => {
    const run = lived([0, 0, 0, 0], { guard: [bulkhead({ slots: 1 })], refusal: 1 })
    // The first computes until 2; then three refusals of 1 ms each hold up its second block, due at 8.
    expect(run.answers).toEqual([3, 4, 5, 10])
    expect(s(run)).toMatchObject({ good: 1, refused: 3, utilisation: (4 + 3) / 1000 })
    expect(c(run)).toMatchObject({ overload: 3, success: 1 })
    const flooded = lived(
      Array.from({ length: 20 }, () => 0),
      { guard: [bulkhead({ slots: 1 })], refusal: 1 },
    )
    expect(flooded.answers.at(-1)).toBe(23)
  })

  test('may let a handler wait for a slot, and the loop is free meanwhile', () => {
    const run = lived([0, 0, 0], { guard: [queue({ size: 10, atMost: '1s' }), bulkhead({ slots: 1 })] })
    // One after the other, 10 ms each: the slot comes back at the end of the second block.
    expect(run.answers).toEqual([10, 20, 30])
    expect(s(run).utilisation).toBeCloseTo(12 / 1000, 9)
    const short = lived([0, 0, 0], { guard: [queue({ size: 10, atMost: 15 }), bulkhead({ slots: 1 })], refusal: 1 })
    expect(c(short)).toMatchObject({ success: 2, overload: 1 })
    expect(s(short)).toMatchObject({ refused: 1, inside: 0 })
  })

  test('that keeps the rate keeps the loop', () => {
    const run = (guard: EventLoopServerOptions['guard']) => {
      const world = new World({ seed: 4 })
      const loop = new EventLoopServer(world, 's', {
        service: exponential('10ms'),
        blocking: 1,
        refusal: '0.1ms',
        ...(guard ? { guard } : {}),
      })
      const clients = new Clients(world, 'c', { to: loop, arrivals: poisson(300), patience: '500ms' })
      world.run('30s')
      return [clients.report().goodput, loop.report().wasted] as const
    }
    const [bare, wasted] = run(undefined)
    const [kept, inVain] = run([rateLimit({ rate: 85, burst: 10 })])
    // Three times of what it can do: without a guard it works for those who have left.
    expect(bare).toBeLessThan(10)
    expect(wasted).toBeGreaterThan(2000)
    expect(kept).toBeGreaterThan(75)
    expect(inVain).toBeLessThan(wasted / 5)
  })
})

describe('faults of an event loop', () => {
  test('a handler that hangs keeps nobody from their turn', () => {
    const run = lived([0, 100], {
      faults: [
        { from: 0, hangs: 1 },
        { from: 50, well: true },
      ],
    })
    expect(run.answers).toEqual([50, 110])
    expect(s(run)).toMatchObject({ hung: 1, good: 1 })
  })

  test('down resets all, whatever they are doing', () => {
    for (const at of [1, 3, 7, 9]) {
      const run = lived([0, 0, 20], {
        faults: [
          { from: at, down: true },
          { from: 15, well: true },
        ],
      })
      expect(run.answers, `down at ${at}`).toEqual([at, at, 30])
      expect(s(run)).toMatchObject({ reset: 2, good: 1, inside: 0 })
    }
  })
})
