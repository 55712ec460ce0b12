import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ByteLine, byteBurst } from '../../src/algorithms/rates/byte-line.ts'
import { ByteShare, type Turn, TurnHeap } from '../../src/algorithms/rates/turn-heap.ts'
import { excess, type Grant } from '../support/rates.ts'

const nothing = () => {}

const line = fc.record({
  rate: fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 2000, max: 1_000_000_000 })),
  burst: fc.oneof(fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: 1, max: 10_000_000 })),
})
const startAt = fc.constantFrom<number[]>(0, 1, 1e9, 1e12)

/** What happens: somebody comes, looks again later, or leaves. Waits are in the times that a quantum takes. */
const step = fc.record({
  wait: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 3, noNaN: true }), fc.nat(200)),
  who: fc.nat(4),
  share: fc.double({ min: 0.001, max: 1, noNaN: true }),
  does: fc.constantFrom('asks', 'asks', 'asks', 'calls', 'leaves', 'calls', 'takes'),
})
const life = fc.array(step, { maxLength: 120, size: 'max' })

describe('a line of bytes', () => {
  test('no window passes more than it says, whoever comes, leaves and is called late', () => {
    let waited = 0
    fc.assert(
      fc.property(line, startAt, life, ({ rate, burst }, start, steps) => {
        const pace = { rate, per: 1000 }
        const all = new ByteLine(pace, burst, start)
        const shares = [...new Array(5)].map(() => new ByteShare())
        const waiting = new Set<Turn>()
        const gone: Grant[] = []
        const partMs = (all.quantum / rate) * 1000
        let now = start
        for (const { wait, who, share, does } of steps) {
          now += wait * partMs
          const bytes = Math.max(1, Math.floor(share * all.quantum))
          const mine = shares[who] as ByteShare
          if (does === 'takes' && all.takes(mine, bytes, now)) gone.push({ at: now, cost: bytes })
          if (does === 'asks') waiting.add(all.enter(mine, bytes, now, nothing))
          if (does === 'leaves') for (const turn of waiting) if (turn.share === mine) all.leave(turn, now)
          if (does === 'leaves') for (const turn of waiting) if (turn.share === mine) waiting.delete(turn)
          if (does !== 'calls') continue
          for (let turn = all.next(now); turn !== undefined; turn = all.next(now)) {
            expect(waiting.delete(turn)).toBe(true)
            waited++
            gone.push({ at: now, cost: turn.bytes })
          }
        }
        expect(all.waiting).toBe(waiting.size)
        const most = Math.max(burst, all.quantum + rate / 10)
        const grain = 1e-5 + (rate / 1000) * (0.001 + start * 2 ** -50)
        expect(excess(gone, (t) => most + (rate * t) / 1000)).toBeLessThanOrEqual(grain)
      }),
      { seed: 8, numRuns: 300 },
    )
    expect(waited).toBeGreaterThan(1000)
  })

  test('who is called when he is due keeps to burst + rate · t', () => {
    fc.assert(
      fc.property(line, startAt, life, ({ rate, burst }, start, steps) => {
        const all = new ByteLine({ rate, per: 1000 }, burst, start)
        const shares = [...new Array(5)].map(() => new ByteShare())
        const gone: Grant[] = []
        const partMs = (all.quantum / rate) * 1000
        let now = start
        /** Calls all who are due until `until`, each in time. */
        const pass = (until: number) => {
          for (let ms = all.waitMs(now); now + ms <= until && all.waiting > 0; ms = all.waitMs(now)) {
            now += ms
            const turn = all.next(now)
            if (turn === undefined) break
            gone.push({ at: now, cost: turn.bytes })
          }
          now = until
        }
        for (const { wait, who, share, does } of steps) {
          pass(now + Math.min(wait, 5) * partMs)
          const bytes = Math.max(1, Math.floor(share * all.quantum))
          if (does !== 'calls') all.enter(shares[who] as ByteShare, bytes, now, nothing)
        }
        const grain = 1e-5 + (rate / 1000) * (0.001 + start * 2 ** -50)
        expect(excess(gone, (t) => burst + (rate * t) / 1000)).toBeLessThanOrEqual(grain)
      }),
      { seed: 9, numRuns: 300 },
    )
  })

  test('two that wait all the time differ by two quanta at most, in any span, whatever their pieces are', () => {
    const pieces = fc.array(fc.double({ min: 0.001, max: 1, noNaN: true }), { minLength: 1, maxLength: 7 })
    fc.assert(
      fc.property(fc.array(pieces, { minLength: 2, maxLength: 6 }), fc.nat(3), (sizes, newcomers) => {
        const all = new ByteLine({ rate: 1_000_000, per: 1000 }, 100_000, 0)
        const { quantum } = all
        const shares = sizes.map(() => new ByteShare())
        const next = sizes.map(() => 0)
        const ask = (who: number) => {
          const of = sizes[who] as number[]
          const bytes = Math.max(1, Math.floor((of[next[who]!++ % of.length] as number) * quantum))
          all.enter(shares[who] as ByteShare, bytes, now, nothing)
        }
        let now = 0
        for (const who of shares.keys()) ask(who)
        // Ahead of one another, at the present.
        const got = shares.map(() => 0)
        const low = shares.map(() => shares.map(() => 0))
        for (let i = 0; i < 300; i++) {
          now += all.waitMs(now)
          for (let n = 0; n < newcomers; n++) all.enter(new ByteShare(), 1 + n, now, nothing)
          const turn = all.next(now) as Turn
          const who = shares.indexOf(turn.share)
          if (who < 0) continue
          got[who]! += turn.bytes
          ask(who)
          for (const a of shares.keys()) {
            for (const b of shares.keys()) {
              const ahead = got[a]! - got[b]!
              low[a]![b] = Math.min(low[a]![b]!, ahead)
              // From the time at which a was furthest behind b.
              expect(ahead - low[a]![b]!).toBeLessThanOrEqual(2 * quantum)
            }
          }
        }
      }),
      { seed: 10, numRuns: 40 },
    )
  })

  test('nobody waits for ever, however many come new', () => {
    const all = new ByteLine({ rate: 1_000_000, per: 1000 }, 16_384, 0)
    all.takes(new ByteShare(), all.quantum, 0)
    const old = all.enter(new ByteShare(), all.quantum, 0, nothing)
    let now = 0
    for (let before = 0; ; before++) {
      // One comes for each that goes.
      all.enter(new ByteShare(), 200, now, nothing)
      now += all.waitMs(now)
      if (all.next(now) === old) break
      expect(before).toBeLessThan(all.quantum / 200 + 2)
    }
  })

  test('of what a late timer could not give in time nothing is lost up to 100 ms, and the rest is', () => {
    const all = new ByteLine({ rate: 1_000_000, per: 1000 }, 1500, 0)
    const share = new ByteShare()
    expect(all.takes(share, 1500, 0)).toBe(true)
    for (let i = 0; i < 1000; i++) all.enter(share, 1500, 0, nothing)
    const passed = (now: number) => {
      let bytes = 0
      for (let turn = all.next(now); turn !== undefined; turn = all.next(now)) bytes += turn.bytes
      return bytes
    }
    expect(passed(50)).toBe(49_500)
    expect(passed(100)).toBe(49_500 + 1500 - 1500)
    expect(passed(5000)).toBe(100_500)
  })

  test('who was late goes on with what was his, also a moment later; an idle while after, there is a burst', () => {
    const late = (until: number) => {
      const all = new ByteLine({ rate: 1_000_000, per: 1000 }, 1500, 0)
      const share = new ByteShare()
      all.takes(share, 1500, 0)
      all.enter(share, 1500, 0, nothing)
      expect(all.next(50)?.bytes).toBe(1500)
      let bytes = 0
      while (all.takes(share, 500, until)) bytes += 500
      return bytes
    }
    expect(late(50)).toBe(48_500)
    expect(late(51)).toBe(48_500)
    expect(late(151)).toBe(1500)
  })

  test('idling saves a burst, and no more', () => {
    const all = new ByteLine({ rate: 1000, per: 1000 }, 2000, 0)
    const share = new ByteShare()
    expect([all.takes(share, 2000, 0), all.takes(share, 1, 0)]).toEqual([true, false])
    expect(all.left(60_000)).toBe(2000)
    expect(all.idle(60_000)).toBe(true)
  })

  test('who leaves costs nobody anything, and leaving twice gives nothing twice', () => {
    const all = new ByteLine({ rate: 1000, per: 1000 }, 1000, 0)
    const [a, b] = [new ByteShare(), new ByteShare()]
    expect(all.takes(a, 1000, 0)).toBe(true)
    const first = all.enter(a, 1000, 0, nothing)
    all.enter(b, 500, 0, nothing)
    all.leave(first, 0)
    all.leave(first, 0)
    expect(all.waiting).toBe(1)
    expect(all.waitMs(0)).toBe(500)
    expect(all.next(500)?.bytes).toBe(500)
    expect(all.left(500)).toBe(0)
    all.leave(first, 500)
    expect(all.left(500)).toBe(0)
  })

  test('who has left and comes again is not behind for it', () => {
    const all = new ByteLine({ rate: 1000, per: 1000 }, 1000, 0)
    const [a, b] = [new ByteShare(), new ByteShare()]
    all.takes(b, 1000, 0)
    for (let i = 0; i < 10; i++) all.leave(all.enter(a, 1000, 0, nothing), 0)
    const again = all.enter(a, 1000, 0, nothing)
    all.enter(b, 1000, 0, nothing)
    expect(all.next(1000)).toBe(again)
  })

  test('a smaller burst does not stick those who wait with more', () => {
    const all = new ByteLine({ rate: 100_000, per: 1000 }, 20_000, 0)
    const share = new ByteShare()
    expect(all.takes(share, 16_384, 0)).toBe(true)
    all.enter(share, 16_384, 0, nothing)
    all.reconfigure({ rate: 1000, per: 1000 }, 10, 0)
    // What was saved is not taken away from who waits for it.
    expect(all.waitMs(0)).toBe(16_384 - 3616)
    expect(all.next(12_768)?.bytes).toBe(16_384)
    expect(all.quantum).toBe(10)
    expect(all.left(1e6)).toBe(10)
  })

  test('the burst that goes with a rate is 100 ms of it, and at least a packet', () => {
    expect(byteBurst({ rate: 10_000_000, per: 1000 })).toBe(1_000_000)
    expect(byteBurst({ rate: 60_000_000, per: 60_000 })).toBe(100_000)
    expect(byteBurst({ rate: 100, per: 1000 })).toBe(1500)
    expect(byteBurst({ rate: 100, per: 1000, burst: 7 })).toBe(7)
  })
})

test('a heap of turns is a sorted list', () => {
  const turn = fc.tuple(fc.constantFrom('in', 'in', 'out', 'first'), fc.nat(20), fc.nat(50))
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 200, size: 'max' }), (steps) => {
      const heap = new TurnHeap()
      let all: Turn[] = []
      const made: Turn[] = []
      const share = new ByteShare()
      const naive = new ByteLine({ rate: 1, per: 1 }, 1, 0)
      for (const [does, at, which] of steps) {
        if (does === 'in') {
          share.served = at
          const fresh = naive.enter(share, 1, 0, nothing)
          naive.leave(fresh, 0)
          heap.push(fresh)
          made.push(fresh)
          all = [...all, fresh].sort((a, b) => a.finish - b.finish || a.serial - b.serial)
          continue
        }
        const out = does === 'first' ? heap.first : made[which % Math.max(1, made.length)]
        if (does === 'first') expect(out).toBe(all[0])
        if (out === undefined) continue
        expect(heap.remove(out)).toBe(all.includes(out))
        all = all.filter((other) => other !== out)
        expect(heap.size).toBe(all.length)
      }
      for (const expected of all) {
        expect(heap.first).toBe(expected)
        heap.remove(expected)
      }
    }),
    { seed: 11, numRuns: 200 },
  )
})
