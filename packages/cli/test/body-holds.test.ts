import type { ServerResponse } from 'node:http'
import { bandwidth } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { type AnswerGiver, AnswerHold } from '../src/gateway/exchange/answer-hold.ts'
import { UploadHold, type UploadTaker } from '../src/gateway/exchange/upload-hold.ts'

const bytes = (count: number): Buffer => Buffer.alloc(count, 97)

/** A client that gets an answer at 1 kB a second, 1 kB ahead. */
class Client implements AnswerGiver {
  readonly world = new VirtualRuntime()
  readonly limit = bandwidth({ rate: 1000, burst: 1000 }, this.world)
  readonly hold = new AnswerHold(this.limit.open(), this)
  readonly got: number[] = []
  ended = 0
  flushed = 0
  unblocked = 0
  /** Takes no more. */
  full = false
  readonly response = { flushHeaders: () => this.flushed++ } as unknown as ServerResponse
  readonly chosen = { unblock: () => void this.unblocked++ }

  write(chunk: Buffer): boolean {
    this.got.push(chunk.length)
    return !this.full
  }

  end(last: Buffer | null): void {
    if (last !== null) this.got.push(last.length)
    this.ended++
  }
}

describe('an answer that is held back', () => {
  test('what may pass at once is one write, and needs no flush of its head', () => {
    const client = new Client()
    client.hold.end(bytes(1000), null)
    expect(client).toMatchObject({ got: [1000], flushed: 0, ended: 1 })
  })

  test('the rest passes when its time has come; the server waits meanwhile, and goes on once', () => {
    const client = new Client()
    const { hold, world } = client
    expect(hold.write(bytes(1500))).toBe(false)
    expect(hold.write(bytes(600))).toBe(false)
    expect(client).toMatchObject({ got: [1000], flushed: 0, unblocked: 0 })
    world.advance(499)
    expect(client.got).toEqual([1000])
    world.advance(602)
    expect(client).toMatchObject({ got: [1000, 500, 600], unblocked: 1 })
    expect(hold.holds).toBe(false)
    hold.end(null, null)
    expect(client.ended).toBe(1)
  })

  test('its head goes first when nothing of it may', () => {
    const client = new Client()
    client.limit.open().take(1000)
    client.hold.end(bytes(500), null)
    expect(client).toMatchObject({ got: [], flushed: 1, ended: 0 })
    client.world.advance(500)
    expect(client).toMatchObject({ got: [500], flushed: 1, ended: 1 })
  })

  test('a client that takes nothing uses nothing up', () => {
    const client = new Client()
    const { hold, world, limit } = client
    client.full = true
    hold.write(bytes(1000))
    hold.end(bytes(5000), null)
    world.advance(60_000)
    expect(client.got).toEqual([1000])
    expect(limit.inspect()).toMatchObject({ passed: 1000, waiting: 0 })
    client.full = false
    hold.drained()
    world.advance(4000)
    expect(client).toMatchObject({ got: [1000, 1000, 1000, 1000, 1000, 1000], ended: 1 })
  })

  test('when it is over nothing passes any more', () => {
    const client = new Client()
    client.hold.end(bytes(3000), null)
    client.hold.close()
    client.world.advance(60_000)
    expect(client).toMatchObject({ got: [1000], ended: 0 })
    expect(client.limit.inspect()).toMatchObject({ streams: 0, waiting: 0 })
  })
})

/** A server that takes an upload at 1 kB a second, 1 kB ahead. */
class Server implements UploadTaker {
  readonly world = new VirtualRuntime()
  readonly limit = bandwidth({ rate: 1000, burst: 1000 }, this.world)
  readonly hold = new UploadHold(this.limit.open(), this)
  readonly got: number[] = []
  stood = 0
  drunk = 0
  finished = 0
  /** What it says to the next pieces; true where nothing is left. */
  readonly says: (() => boolean)[] = []

  accept(piece: Buffer): boolean {
    this.got.push(piece.length)
    return this.says.shift()?.() ?? true
  }

  stand(): void {
    this.stood++
  }

  drink(): void {
    this.drunk++
  }

  finish(): void {
    this.finished++
  }
}

describe('an upload that is held back', () => {
  test('stands still, and goes on reading when all of it has passed', () => {
    const server = new Server()
    server.hold.take(bytes(1800))
    expect(server).toMatchObject({ got: [1000], stood: 1, drunk: 0 })
    server.world.advance(800)
    expect(server).toMatchObject({ got: [1000, 800], stood: 1, drunk: 1, finished: 0 })
    expect(server.hold.end()).toBe(true)
  })

  test('its end passes behind it', () => {
    const server = new Server()
    server.hold.take(bytes(2500))
    expect(server.hold.end()).toBe(false)
    server.world.advance(1500)
    expect(server).toMatchObject({ got: [1000, 1000, 500], drunk: 0, finished: 1 })
  })

  test('a server that wants no more is asked nothing until it does', () => {
    const server = new Server()
    server.says.push(() => false)
    server.hold.take(bytes(2000))
    server.world.advance(60_000)
    expect(server).toMatchObject({ got: [1000], stood: 0 })
    expect(server.hold.goOn()).toBe(true)
    expect(server).toMatchObject({ got: [1000, 1000], drunk: 1 })
    expect(server.hold.goOn()).toBe(false)
  })

  test('one that asks for more while it says that it has enough gets more', () => {
    const server = new Server()
    server.says.push(() => {
      server.hold.goOn()
      return false
    })
    server.hold.take(bytes(1500))
    expect(server).toMatchObject({ got: [1000], stood: 1 })
    server.world.advance(500)
    expect(server).toMatchObject({ got: [1000, 500], drunk: 1 })
  })

  test('what is whole already is let go when it has passed', () => {
    const server = new Server()
    let ready = 0
    server.hold.settle(1000, () => ready++)
    expect(ready).toBe(1)
    server.hold.settle(2500, () => ready++)
    server.world.advance(2499)
    expect(ready).toBe(1)
    server.world.advance(1)
    expect(ready).toBe(2)
  })

  test('when it is over nothing passes any more, and nobody stands', () => {
    const server = new Server()
    server.hold.take(bytes(1500))
    server.hold.close()
    server.hold.take(bytes(100))
    server.world.advance(60_000)
    expect(server).toMatchObject({ got: [1000], stood: 1, drunk: 0, finished: 0 })
    expect(server.limit.inspect()).toMatchObject({ streams: 0, waiting: 0 })
  })
})
