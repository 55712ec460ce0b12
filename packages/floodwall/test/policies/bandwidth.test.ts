import { once } from 'node:events'
import { getDefaultHighWaterMark, pipeline as join, PassThrough, Readable, Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { type Bandwidth, type BandwidthOptions, bandwidth, ConfigError, isRejected } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { parse } from '../../src/core/schema.ts'
import { bandwidthSnapshot } from '../../src/policies/bandwidth-options.ts'

const KB = 1000

/** Takes all that comes, and remembers when. */
class Sink extends Writable {
  bytes = 0
  readonly at: [at: number, bytes: number][] = []
  private readonly world: VirtualRuntime

  constructor(world: VirtualRuntime) {
    super()
    this.world = world
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.bytes += chunk.length
    this.at.push([this.world.now(), chunk.length])
    callback()
  }
}

/** `total` bytes in pieces of `size`, as fast as they are asked for. */
function source(total: number, size = 64 * 1024): Readable {
  let left = total
  return new Readable({
    read() {
      const piece = Math.min(left, size)
      left -= piece
      this.push(piece === 0 ? null : Buffer.alloc(piece, left & 0xff))
    },
  })
}

interface Running {
  readonly sink: Sink
  readonly ended: Promise<Error | null>
  readonly from: Readable
}

/** What a stream holds on each of its sides: 16 KiB, since Node 22 64. */
const ROOM = getDefaultHighWaterMark(false)

class Scene {
  readonly world = new VirtualRuntime()
  readonly limit: Bandwidth

  constructor(options: BandwidthOptions) {
    this.limit = bandwidth(options, this.world)
  }

  /** A stream that begins now. */
  run(from: Readable, options: Parameters<Bandwidth['transform']>[0] = {}): Running {
    const sink = new Sink(this.world)
    const ended = new Promise<Error | null>((resolve) => {
      join(from, this.limit.transform(options), sink, (error) => resolve(error ?? null))
    })
    return { sink, ended, from }
  }

  /** Streams go on in turns of the loop and time in steps, so that a reader is there when the time has come. */
  async pass(ms: number): Promise<void> {
    await settle()
    for (let passed = 0; passed < ms; passed++) {
      this.world.advance(1)
      await settle()
    }
  }

  get shown() {
    return parse(bandwidthSnapshot, this.limit.inspect(), 'snapshot')
  }
}

async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) await turn()
}

describe('one stream', () => {
  test('a chunk larger than the burst passes in pieces, at the rate, whole and in order', async () => {
    const { world, limit } = new Scene({ rate: '100kB/s', burst: '10kB' })
    const sent = Buffer.from(new Array(50 * KB).fill(0).map((_, i) => i & 0xff))
    const got: Buffer[] = []
    const out = limit.through(Readable.from([sent], { objectMode: false }))
    out.on('data', (piece: Buffer) => got.push(piece))
    await settle()
    expect(Buffer.concat(got).length).toBe(10 * KB)
    for (let ms = 0; ms < 400; ms++) {
      world.advance(1)
      await settle()
      expect(Buffer.concat(got).length).toBeLessThanOrEqual(10 * KB + 100 * (ms + 1))
    }
    expect(Buffer.concat(got).equals(sent)).toBe(true)
  })

  test('a rate in a text is the rate, over seconds', async () => {
    const scene = new Scene({ rate: '1MB/s' })
    const { sink } = scene.run(source(10_000 * KB))
    await scene.pass(1000)
    // A burst of 100 ms, and a second.
    expect(sink.bytes).toBeGreaterThan(1080 * KB)
    expect(sink.bytes).toBeLessThanOrEqual(1100 * KB)
    expect(scene.shown).toMatchObject({ streams: 1, waiting: 1, passed: sink.bytes, perSecond: 1e6, burst: 1e5 })
    expect(scene.shown.heldBack).toBeGreaterThanOrEqual(980 * KB)
  })

  test('timers that ring late lose nothing of the rate', async () => {
    const scene = new Scene({ rate: '1MB/s', burst: '2kB' })
    const { sink } = scene.run(source(10_000 * KB))
    await settle()
    const { world } = scene
    const late = world.after
    // Each rings 20 ms after its time.
    Object.assign(scene.limit['env'], { after: (ms: number, fn: () => void) => late(ms + 20, fn) })
    await scene.pass(1000)
    expect(sink.bytes).toBeGreaterThan(950 * KB)
  })

  test('a reader that is slow is heard: no more is read than he and the stream can hold', async () => {
    const scene = new Scene({ rate: '1MB/s' })
    let read = 0
    const from = new Readable({
      read() {
        read += 10 * KB
        this.push(Buffer.alloc(10 * KB))
      },
    })
    const out = scene.limit.through(from)
    await scene.pass(2000)
    expect(read).toBeLessThan(100 * KB + 4 * ROOM)
    // What nobody takes is not used up.
    expect(scene.shown.passed).toBeLessThanOrEqual(50 * KB + 2 * ROOM)
    expect(scene.shown.waiting).toBe(0)
    out.destroy()
    await settle()
    expect(scene.shown.streams).toBe(0)
  })

  test('also in the middle of a chunk', async () => {
    const scene = new Scene({ rate: '10MB/s', burst: '16KiB' })
    const out = scene.limit.through(Readable.from([Buffer.alloc(2_000 * KB)], { objectMode: false }))
    await scene.pass(100)
    expect(scene.shown.passed).toBeLessThanOrEqual(32 * KB + 2 * ROOM)
    let got = 0
    out.on('data', (piece: Buffer) => {
      got += piece.length
    })
    await scene.pass(300)
    expect(got).toBe(2_000 * KB)
  })

  test('what is empty passes, and ends', async () => {
    const scene = new Scene({ rate: '1kB/s' })
    const { ended } = scene.run(Readable.from([]))
    expect(await ended).toBeNull()
    expect(scene.shown).toMatchObject({ streams: 0, passed: 0 })
  })
})

describe('several streams', () => {
  test('a large one does not starve a small one', async () => {
    const scene = new Scene({ rate: '1MB/s' })
    const large = scene.run(source(10_000 * KB, 1_000 * KB))
    await scene.pass(500)
    const small = scene.run(source(30 * KB, 1 * KB))
    const before = large.sink.bytes
    await scene.pass(100)
    expect(small.sink.bytes).toBe(30 * KB)
    expect(large.sink.bytes - before).toBeGreaterThan(50 * KB)
    expect(await small.ended).toBeNull()
  })

  test('three share alike, whatever the sizes of their pieces are', async () => {
    const scene = new Scene({ rate: '900kB/s', burst: '2kB' })
    const all = [700, 20 * KB, 500 * KB].map((size) => scene.run(source(5_000 * KB, size)))
    await scene.pass(1000)
    for (const { sink } of all) expect(Math.abs(sink.bytes - 300 * KB)).toBeLessThan(20 * KB)
    const sum = all.reduce((bytes, { sink }) => bytes + sink.bytes, 0)
    expect(sum).toBeGreaterThan(890 * KB)
  })

  test('callers share, not their streams', async () => {
    const scene = new Scene({ rate: '900kB/s', burst: '2kB' })
    const one = scene.run(source(5_000 * KB), { key: 'ann' })
    const many = [...new Array(8)].map(() => scene.run(source(5_000 * KB), { key: 'bot' }))
    await scene.pass(1000)
    expect(one.sink.bytes).toBeGreaterThan(420 * KB)
    const theirs = many.map(({ sink }) => sink.bytes)
    expect(Math.max(...theirs) - Math.min(...theirs)).toBeLessThan(20 * KB)
  })

  test('each stream, each key and all together have their rates', async () => {
    const scene = new Scene({ rate: '1MB/s', perKey: '300kB/s', perStream: '200kB/s' })
    const ann = [1, 2, 3].map(() => scene.run(source(5_000 * KB), { key: 'ann' }))
    const ben = scene.run(source(5_000 * KB), { key: 'ben' })
    await scene.pass(1000)
    const anns = ann.reduce((bytes, { sink }) => bytes + sink.bytes, 0)
    expect(anns).toBeGreaterThan(290 * KB)
    expect(anns).toBeLessThanOrEqual(330 * KB)
    expect(ben.sink.bytes).toBeGreaterThan(190 * KB)
    expect(ben.sink.bytes).toBeLessThanOrEqual(220 * KB)
    expect(scene.shown).toMatchObject({ keys: 2, streams: 4 })
  })

  test('streams of one connection have one rate, one behind the other', async () => {
    const scene = new Scene({ perStream: '100kB/s' })
    const connection = {}
    const first = scene.run(source(100 * KB), { of: connection })
    await scene.pass(910)
    expect(await first.ended).toBeNull()
    // Its burst is not there anew.
    const second = scene.run(source(100 * KB), { of: connection })
    const other = scene.run(source(100 * KB), { of: {} })
    await scene.pass(1)
    expect(second.sink.bytes).toBeLessThan(other.sink.bytes)
  })
})

describe('ends', () => {
  const held = async (scene: Scene) => {
    const first = scene.run(source(1_000 * KB), { key: 'a' })
    await scene.pass(50)
    return { first, second: scene.run(source(1_000 * KB), { key: 'b' }) }
  }

  test.each<[string, (running: Running, abort: AbortController) => void]>([
    ['its source breaks', ({ from }) => void from.destroy(new Error('broken'))],
    ['its reader leaves', ({ sink }) => void sink.destroy()],
    ['its signal is aborted', (_, abort) => abort.abort()],
  ])('%s while it waits: its place is free, once, and the others go on', async (_name, end) => {
    const scene = new Scene({ rate: '100kB/s', perKey: '90kB/s', perStream: '80kB/s' })
    const abort = new AbortController()
    const running = scene.run(source(1_000 * KB), { key: 'c', signal: abort.signal })
    const { first, second } = await held(scene)
    await scene.pass(50)
    expect(scene.shown).toMatchObject({ streams: 3, waiting: 3 })
    end(running, abort)
    expect(await running.ended).toBeInstanceOf(Error)
    expect(scene.shown).toMatchObject({ streams: 2, waiting: 2 })
    const before = [first.sink.bytes, second.sink.bytes]
    await scene.pass(1000)
    const after = [first.sink.bytes, second.sink.bytes]
    for (const [i, bytes] of after.entries()) expect(bytes - before[i]!).toBeGreaterThan(45 * KB)
    first.sink.destroy()
    second.from.destroy()
    await settle()
    expect(scene.shown).toMatchObject({ streams: 0, waiting: 0, waitingBytes: 0 })
  })

  test('a signal that is aborted already ends a stream at once, and nothing is taken', async () => {
    const scene = new Scene({ rate: '100kB/s', perKey: '90kB/s', keys: 1 })
    const signal = AbortSignal.abort()
    const from = source(10 * KB)
    const streams = [scene.limit.transform({ key: 'a', signal }), scene.limit.through(from, { key: 'b', signal })]
    const errors = await Promise.all(streams.map((stream) => once(stream, 'error')))
    expect(errors).toMatchObject([[{ name: 'AbortError' }], [{ name: 'AbortError' }]])
    await settle()
    expect(from.destroyed).toBe(true)
    expect(scene.shown).toMatchObject({ streams: 0, waiting: 0, passed: 0, keys: 1 })
    // The place of its key is free again.
    expect(scene.limit.open({ key: 'c' }).take(9000)).toBe(9000)
  })

  test('what one limit granted goes back when it leaves before the others have', () => {
    const { world, limit } = new Scene({ rate: 1000, burst: 1500, perStream: { rate: 1000, burst: 1500 } })
    const connection = {}
    const other = limit.open()
    const flow = limit.open({ of: connection })
    expect(other.take(1500)).toBe(1500)
    expect(flow.take(1000)).toBe(0)
    expect(flow.wait(1000, () => expect.unreachable())).toBe(true)
    flow.close()
    flow.close()
    world.advance(1500)
    const again = limit.open({ of: connection })
    expect(again.take(5000)).toBe(1500)
    expect(flow.take(1)).toBe(0)
    expect(flow.wait(1, () => {})).toBe(false)
  })

  test('with all places taken a stream ends with a refusal, and takes nothing along', async () => {
    const scene = new Scene({ rate: '10kB/s', size: 2, name: 'mirror' })
    const all = [1, 2, 3].map(() => scene.run(source(100 * KB)))
    await scene.pass(10)
    const error = await all[2]?.ended
    expect(isRejected(error)).toBe(true)
    expect((error as Error).message).toContain('refused by mirror: 2 streams wait already, in 2 places')
    expect(scene.shown).toMatchObject({ streams: 2, waiting: 2, refused: 1 })
  })

  test('no timer is left when nobody waits', async () => {
    const scene = new Scene({ rate: '100kB/s' })
    const { sink, ended } = scene.run(source(50 * KB))
    await scene.pass(600)
    expect(await ended).toBeNull()
    expect(sink.bytes).toBe(50 * KB)
    expect(scene.world.timers).toBe(0)
  })

  test('a flow that goes on from within its turn does not disturb the line', () => {
    const { world, limit } = new Scene({ rate: 1000, burst: 100 })
    const gone: string[] = []
    const [a, b] = [limit.open(), limit.open()]
    a.take(100)
    a.wait(100, () => {
      gone.push('a')
      expect(a.wait(100, () => gone.push('a again'))).toBe(true)
      b.close()
    })
    b.wait(100, () => gone.push('b'))
    world.advance(1000)
    expect(gone).toEqual(['a', 'a again'])
    expect(limit.inspect()).toMatchObject({ waiting: 0 })
  })
})

describe('settings', () => {
  test('another rate holds at once, also for streams that wait', async () => {
    const scene = new Scene({ rate: '1kB/s', perStream: '1kB/s' })
    const { sink } = scene.run(source(1_000 * KB))
    await scene.pass(1000)
    expect(sink.bytes).toBeLessThanOrEqual(2500)
    scene.limit.reconfigure({ rate: '100kB/s', perStream: '100kB/s' })
    await scene.pass(1000)
    expect(sink.bytes).toBeGreaterThan(90 * KB)
    scene.limit.reconfigure({ rate: '1kB/s', perStream: '1kB/s' })
    const before = sink.bytes
    await scene.pass(1000)
    expect(sink.bytes - before).toBeLessThanOrEqual(16_384)
  })

  test.each<[options: object, path: string, expected: RegExp]>([
    [{}, 'bandwidth', /a rate, for all together \(rate\)/],
    [{ rate: 0 }, 'bandwidth', /above 0/],
    [{ rate: '0MB/s' }, 'bandwidth', /above 0/],
    [{ rate: '10MB' }, 'bandwidth.rate', /bytes in a span/],
    [{ rate: '10MB/s', per: '1h' }, 'bandwidth.per', /no "per"/],
    [{ rate: '10MB/s', burst: 0 }, 'bandwidth.burst', /at least 1 byte/],
    [{ burst: '1MB' }, 'bandwidth.rate', /required/],
    [{ perKey: '10mb/s' }, 'bandwidth.perKey', /bytes in a span/],
    [{ perKey: { rate: '1MB/s', most: 1 } }, 'bandwidth.perKey.most', /no such field/],
    [{ perStream: 0 }, 'bandwidth.perStream', /above 0/],
    [{ rate: 1, keys: 0 }, 'bandwidth.keys', /a whole number from 1/],
    [{ rate: 1, size: 1.5 }, 'bandwidth.size', /a whole number from 1/],
    [{ rate: 1, down: 1 }, 'bandwidth.down', /no such field/],
  ])('%j is refused', (options, path, expected) => {
    let thrown: unknown
    try {
      bandwidth(options)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(ConfigError)
    expect((thrown as ConfigError).issues).toMatchObject([{ path, expected: expect.stringMatching(expected) }])
  })

  test('a full table of keys: who owes is not forgotten, and newcomers share one line', () => {
    const { world, limit } = new Scene({ perKey: { rate: 1000, burst: 1500 }, keys: 2 })
    const a = limit.open({ key: 'a' })
    const b = limit.open({ key: 'b' })
    a.take(1500)
    b.take(1500)
    a.close()
    b.close()
    // Coming under other names is no fresh burst for ever: two find the others' line.
    expect(limit.open({ key: 'c' }).take(1500)).toBe(1500)
    expect(limit.open({ key: 'd' }).take(1500)).toBe(0)
    expect(limit.open({ key: 'a' }).take(1500)).toBe(0)
    expect(limit.inspect()).toMatchObject({ keys: 2 })
    world.advance(1500)
    // b owes nothing any more: there is a place for e.
    expect(limit.open({ key: 'e' }).take(1500)).toBe(1500)
    expect(limit.inspect()).toMatchObject({ keys: 2 })
  })

  test('through() passes what a source says, errors too', async () => {
    const scene = new Scene({ rate: '1MB/s' })
    const from = new PassThrough()
    const out = scene.limit.through(from)
    const failed = new Promise<Error>((resolve) => out.once('error', resolve))
    from.destroy(new Error('broken'))
    expect((await failed).message).toBe('broken')
    expect(scene.shown.streams).toBe(0)
  })
})
