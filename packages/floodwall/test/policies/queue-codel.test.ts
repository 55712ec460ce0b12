import { answered, bulkhead, type Pipeline, pipeline, type QueueOptions, queue } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { layerOf, leftIn, NOTHING } from '../core/fate.ts'

// Controlled delay: short waits while a line stands, long ones in a burst, each by its own time.

interface End {
  readonly name: string
  readonly how: unknown
  readonly at: number
}

class Room {
  readonly world = new VirtualRuntime()
  readonly p: Pipeline
  readonly ends: End[] = []
  private readonly serviceMs: number
  private count = 0

  constructor(options: QueueOptions, serviceMs = 20, slots = 1) {
    this.serviceMs = serviceMs
    this.p = pipeline('p', [queue(options), bulkhead({ slots })], { runtime: this.world })
  }

  come(name = String(this.count++), serviceMs = this.serviceMs): void {
    this.p.start(
      (_, done) => void this.world.after(serviceMs, () => done(answered(name))),
      (o) => this.ends.push({ name, how: o.rejection?.reason ?? 'answered', at: this.world.now() }),
    )
  }

  /** One each `everyMs`, for `ms`. */
  flow(everyMs: number, ms: number): void {
    for (let t = 0; t < ms; t += everyMs) {
      this.come()
      this.world.advance(everyMs)
    }
  }

  end(name: string): End | undefined {
    return this.ends.find((one) => one.name === name)
  }

  get state(): Record<string, unknown> {
    return layerOf(this.p, 'queue')
  }
}

describe('by the age of the line, as in "Fail at Scale"', () => {
  const codel = { target: 5, interval: 100, trigger: 'age' } as const

  test('a line that was empty within the interval gives the interval, an older one the target', () => {
    const room = new Room({ atMost: '1s', codel }, 1000)
    room.come('runs')
    room.come('a')
    room.world.advance(99)
    room.come('b')
    expect(room.state['patienceMs']).toBe(100)
    room.world.advance(1.5)
    // At 100 the line lost a and kept b: it has not been empty since 0.
    expect(room.end('a')).toEqual({ name: 'a', how: 'queue-timeout', at: 100 })
    expect(room.state['patienceMs']).toBe(5)
    room.come('c')
    room.world.advance(1000)
    expect([room.end('b')?.at, room.end('c')?.at]).toEqual([199, 105.5])
    expect([room.state['timedOut'], leftIn(room.world, room.p)]).toEqual([3, NOTHING])
  })

  test('a line that was empty for an instant begins anew', () => {
    const room = new Room({ atMost: '1s', codel }, 60)
    room.come('runs')
    room.come('a')
    room.world.advance(60)
    room.come('b')
    room.world.advance(59)
    expect(room.state['patienceMs']).toBe(100)
  })

  test('nobody is given more than atMost', () => {
    const room = new Room({ atMost: 30, codel: { ...codel, target: 500, interval: '10s' } }, 1000)
    room.come('runs')
    room.come('a')
    room.world.advance(1000)
    expect(room.end('a')).toEqual({ name: 'a', how: 'queue-timeout', at: 30 })
  })
})

describe('by default', () => {
  test('with nothing known of the work everybody has all the time', () => {
    const room = new Room({ atMost: '1s', codel: {} })
    expect(room.state).toMatchObject({ patienceMs: 1000, serviceMs: 0 })
  })

  test.each([1, 20, 300])('the target is a multiple of a work of %d ms, once that is known', (serviceMs) => {
    const room = new Room({ atMost: '100s', size: 1e6, codel: {} }, serviceMs, 4)
    // Four times what four slots can do.
    room.flow(serviceMs / 16, 40 * serviceMs + 500)
    const { serviceMs: measured, patienceMs } = room.state as { serviceMs: number; patienceMs: number }
    expect(Math.abs(measured / serviceMs - 1)).toBeLessThan(0.04)
    expect(patienceMs).toBeCloseTo(2 * measured, 9)
  })

  test('work that slows down is followed within ten seconds', () => {
    const room = new Room({ atMost: '100s', size: 1e6, codel: {} }, 20, 4)
    room.flow(1, 1000)
    for (let t = 0; t < 10_000; t += 10) {
      room.come(undefined, 200)
      room.world.advance(10)
    }
    expect(Math.abs((room.state['serviceMs'] as number) / 200 - 1)).toBeLessThan(0.04)
  })

  test('a burst is waited for to its end; a line that stands is not', () => {
    const room = new Room({ atMost: '1s', size: 1000, codel: {} }, 20, 4)
    room.flow(20, 2000)
    room.ends.length = 0
    for (let i = 0; i < 40; i++) room.come()
    room.world.advance(500)
    expect(room.ends.filter(({ how }) => how === 'answered').length).toBe(40)
    room.ends.length = 0
    room.flow(2.5, 2000)
    const answers = room.ends.filter(({ how }) => how === 'answered').length
    const expired = room.ends.filter(({ how }) => how === 'queue-timeout').length
    expect(answers).toBeGreaterThan(0.98 * 400)
    expect(expired).toBeGreaterThan(350)
    room.world.run()
    expect(leftIn(room.world, room.p)).toEqual(NOTHING)
  })
})

test('judged at its turn, as folly does: nobody leaves before a slot is free for him', () => {
  const room = new Room({ atMost: '10s', codel: { target: 5, interval: 100, at: 'turn' } }, 30)
  room.flow(10, 600)
  const gone = room.ends.filter(({ how }) => how === 'queue-timeout')
  expect(gone.length).toBeGreaterThan(5)
  const freed = new Set(room.ends.filter(({ how }) => how === 'answered').map(({ at }) => at))
  expect(gone.every(({ at }) => freed.has(at))).toBe(true)
})

describe('adaptive order', () => {
  test('first in first out in a burst, the newest first while a line stands', () => {
    const room = new Room({ atMost: '1s', size: 1000, order: 'adaptive', codel: {} }, 20)
    for (const name of ['a', 'b', 'c', 'd']) room.come(name)
    room.world.advance(100)
    expect(room.ends.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd'])
    expect(room.state['newestFirst']).toBe(false)
    room.flow(5, 1000)
    expect(room.state['newestFirst']).toBe(true)
    room.come('newest')
    room.world.advance(40)
    expect(room.end('newest')?.how).toBe('answered')
    // Over, and in turn again.
    room.world.advance(3000)
    for (let i = 0; i < 40; i++) {
      room.come()
      room.world.advance(50)
    }
    expect(room.state['newestFirst']).toBe(false)
  })

  test('a reload changes order and patience for those who come later, and keeps who waits', () => {
    const room = new Room({ atMost: '1s' }, 500)
    room.come('runs')
    room.come('a')
    room.p.reload([queue({ atMost: '1s', codel: { target: 5, interval: 50, trigger: 'age' } }), bulkhead({ slots: 1 })])
    room.come('b')
    room.world.advance(2000)
    expect([room.end('b')?.at, room.end('a')?.at]).toEqual([50, 1000])
    expect(leftIn(room.world, room.p)).toEqual(NOTHING)
  })
})
