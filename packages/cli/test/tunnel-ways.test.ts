import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import fc from 'fast-check'
import { type Bandwidth, bandwidth } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Frames } from '../src/gateway/upgrades/frames.ts'
import { Tunnel } from '../src/gateway/upgrades/tunnel.ts'
import { Way } from '../src/gateway/upgrades/way.ts'
import { frame, framesIn } from './support/websocket.ts'

const bytes = (count: number): Buffer => Buffer.alloc(count, 97)

/** One end of a tunnel, as far as a way looks at it. */
class End extends EventEmitter {
  readonly got: Buffer[] = []
  writable = true
  /** Takes no more. */
  full = false
  paused = true
  destroyed = false

  get all(): Buffer {
    return Buffer.concat(this.got)
  }

  write(piece: Buffer): boolean {
    this.got.push(piece)
    return !this.full
  }

  end(): void {
    this.writable = false
  }

  destroySoon(): void {
    this.end()
    this.destroy()
  }

  wasReset = false

  resetAndDestroy(): void {
    this.wasReset = true
    this.destroy()
  }

  destroy(): void {
    if (this.destroyed) return
    this.writable = false
    this.destroyed = true
    this.emit('close', false)
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
  }
}

/** A way from a server to a client, at 1 kB a second, 1 kB ahead unless `limit` says otherwise. */
class Scene {
  readonly world: VirtualRuntime
  readonly limit: Bandwidth
  readonly from = new End()
  readonly to = new End()
  readonly way: Way

  constructor(framed: boolean, world = new VirtualRuntime(), limit = bandwidth({ rate: 1000, burst: 1000 }, world)) {
    this.world = world
    this.limit = limit
    const ends = [this.from, this.to].map((end) => end as unknown as Socket) as [Socket, Socket]
    this.way = new Way(...ends, framed ? new Frames() : null, false, limit.open({ key: 'ann' }))
    this.way.open()
  }

  say(piece: Buffer): void {
    this.from.emit('data', piece)
  }
}

describe('a way that its route holds back', () => {
  test('short tunnels are no way around it: nothing passes before it is paid', () => {
    const world = new VirtualRuntime()
    const limit = bandwidth({ rate: 20_000, burst: 2000, perKey: 20_000 }, world)
    let passed = 0
    for (let i = 0; i < 15; i++) {
      const { from, to, way, ...scene } = new Scene(false, world, limit)
      from.emit('data', bytes(60_000))
      expect(way.paying).toBe(true)
      expect(from.paused).toBe(true)
      to.destroy()
      way.finish(false)
      passed += to.all.length
      expect(scene.limit.inspect()).toMatchObject({ streams: 0, waiting: 0, waitingBytes: 0 })
    }
    expect(passed).toBe(2000)
    expect(world.timers).toBe(0)
  })

  test('it passes at its rate, in order, and is read on when all has passed', () => {
    const scene = new Scene(false)
    const sent = Buffer.from(new Array(3500).fill(0).map((_, i) => i & 255))
    scene.say(sent)
    expect(scene.to.all).toHaveLength(1000)
    scene.world.advance(2000)
    expect(scene.to.all).toHaveLength(3000)
    expect(scene.from.paused).toBe(true)
    scene.world.advance(1000)
    expect(scene.to.all.equals(sent)).toBe(true)
    expect(scene.from.paused).toBe(false)
    expect(scene.way.paying).toBe(false)
    expect(scene.way.bytes).toBe(3500)
  })

  test('a receiver that is slower uses up nothing of what others could have', () => {
    const scene = new Scene(false)
    scene.to.full = true
    scene.say(bytes(5000))
    scene.world.advance(60_000)
    expect(scene.limit.inspect()).toMatchObject({ passed: 1000, waiting: 0 })
    scene.to.full = false
    scene.to.emit('drain')
    scene.world.advance(4000)
    expect(scene.to.all).toHaveLength(5000)
    expect(scene.from.paused).toBe(false)
  })

  test('an end is said behind what is held back, and so is the loss of nothing', () => {
    const scene = new Scene(false)
    scene.say(bytes(2500))
    scene.from.emit('end')
    expect(scene.way.ended).toBe(true)
    scene.way.finish(false)
    scene.world.advance(1499)
    expect(scene.to).toMatchObject({ writable: true, destroyed: false })
    scene.world.advance(1)
    expect(scene.to).toMatchObject({ writable: false, destroyed: true })
    expect(scene.to.all).toHaveLength(2500)
    expect(scene.limit.inspect()).toMatchObject({ streams: 0 })
  })

  test('what is no WebSocket is left behind what is held back; what comes later goes nowhere', () => {
    const scene = new Scene(false)
    scene.say(bytes(1500))
    scene.way.leave()
    scene.say(bytes(10))
    expect(scene.to.writable).toBe(true)
    scene.world.advance(500)
    expect(scene.to.writable).toBe(false)
    expect(scene.to.all).toHaveLength(1500)
  })

  test('a goodbye stands between two frames, however they were split, and a Close that goes nowhere is heard', () => {
    const mask = Buffer.from([9, 8, 7, 6])
    const one = fc.record({
      length: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.constantFrom(126, 3000)),
      opcode: fc.constantFrom(1, 2, 9, 8),
      masked: fc.boolean(),
    })
    const cuts = fc.array(fc.nat(4000), { maxLength: 8 })
    const said = { inside: 0, whole: 0 }
    fc.assert(
      fc.property(
        fc.array(one, { minLength: 1, maxLength: 6 }),
        cuts,
        fc.nat(8),
        fc.nat(3000),
        (some, at, leaves, ms) => {
          const scene = new Scene(true)
          const all = some.map(({ length, opcode, masked }) =>
            frame(bytes(length), { opcode, ...(masked ? { mask } : {}) }),
          )
          const sent = Buffer.concat(all)
          const places = [...new Set(at.map((cut) => cut % sent.length))].sort((a, b) => a - b)
          let heard = 0
          scene.way.onClosed = () => heard++
          for (const [i, end] of [...places, sent.length].entries()) {
            if (i === Math.min(leaves, places.length)) scene.way.leave()
            scene.say(sent.subarray(i === 0 ? 0 : places[i - 1], end))
            scene.world.advance(ms)
          }
          said[scene.way.paying ? 'inside' : 'whole']++
          scene.world.advance(60_000)
          const got = scene.to.all
          let [passed, length] = [0, 0]
          for (const { length: next } of all) {
            if (!got.subarray(0, length + next).equals(sent.subarray(0, length + next))) break
            length += next
            passed++
          }
          // Whole frames, and behind them our Close, unless one of theirs was among them.
          const ours = framesIn(got.subarray(length))
          expect(ours.rest).toHaveLength(0)
          const closed = some.slice(0, passed).some(({ opcode }) => opcode === 8)
          expect(ours.frames.map(({ opcode }) => opcode)).toEqual(closed ? [] : [8])
          expect(heard > 0).toBe(some.some(({ opcode }) => opcode === 8))
        },
      ),
      { seed: 12, numRuns: 300 },
    )
    expect(Math.min(said.inside, said.whole)).toBeGreaterThan(30)
  })
})

describe('a client that leaves behind an upload that is held back', () => {
  /** What the server has after so many seconds, swept each second. */
  function left(rate: number, seconds: number): { bytes: number; upstream: End; ended: number; waiting: unknown } {
    const world = new VirtualRuntime()
    const limit = bandwidth({ rate, burst: 1000 }, world)
    const [client, upstream] = [new End(), new End()]
    const [one, other] = [client, upstream].map((end) => end as unknown as Socket) as [Socket, Socket]
    let ended = 0
    const flows = { up: limit.open(), down: undefined }
    const tunnel = new Tunnel({ client: one, upstream: other, early: [], framed: false, flows }, () => ended++)
    client.emit('data', bytes(5500))
    client.destroy()
    for (let i = 1; i <= seconds; i++) {
      world.advance(1000)
      tunnel.sweep(i * 1000, 60_000)
    }
    return { bytes: upstream.all.length, upstream, ended, waiting: limit.inspect()['waiting'] }
  }

  test('is heard to his end', () => {
    expect(left(1000, 4)).toMatchObject({ bytes: 5000, ended: 0, waiting: 1 })
    expect(left(1000, 5)).toMatchObject({ bytes: 5500, upstream: { wasReset: false }, ended: 1, waiting: 0 })
  })

  test('but keeps no place when it does not go on: the server is told that this is not the whole', () => {
    // The next kilobyte would pass after ten seconds.
    expect(left(100, 3)).toMatchObject({ bytes: 1000, ended: 0, waiting: 1 })
    expect(left(100, 4)).toMatchObject({ bytes: 1000, upstream: { wasReset: true }, ended: 1, waiting: 0 })
  })
})
