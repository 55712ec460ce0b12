import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Frames, goodbye } from '../src/gateway/upgrades/frames.ts'
import { InterimAnswers } from '../src/gateway/upstreams/interim-answers.ts'
import { frame, framesIn } from './support/websocket.ts'

const mask = Buffer.from([9, 8, 7, 6])
const lengths = fc.oneof(fc.integer({ min: 0, max: 200 }), fc.constantFrom(125, 126, 127, 65_535, 65_536, 70_000))
const opcodes = fc.constantFrom(0, 1, 2, 8, 9, 10)
const someFrames = fc.array(fc.record({ length: lengths, opcode: opcodes, masked: fc.boolean() }), { maxLength: 8 })

/** `bytes` in pieces, cut where `cuts` says. */
function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => (bytes.length === 0 ? 0 : cut % bytes.length)))].sort((a, b) => a - b)
  return [...places, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : places[i - 1], end))
}

describe('frames', () => {
  test('are counted the same in whatever pieces they come', () => {
    fc.assert(
      fc.property(someFrames, fc.array(fc.nat(), { maxLength: 20 }), (some, cuts) => {
        const all = some.map(({ length, opcode, masked }) =>
          frame(Buffer.alloc(length, 0x88), { opcode, ...(masked ? { mask } : {}) }),
        )
        const ends = new Set(all.map((_one, i) => Buffer.concat(all.slice(0, i + 1)).length))
        const counted = new Frames()
        let at = 0
        for (const piece of cutAt(Buffer.concat(all), cuts)) {
          const end = counted.count(piece)
          const expected = [...ends].filter((place) => place > at && place <= at + piece.length)
          expect(end).toBe(expected.length === 0 ? -1 : Math.min(...expected) - at)
          at += piece.length
          expect(counted.between).toBe(at === 0 || ends.has(at))
        }
        expect(counted.closed).toBe(some.some(({ opcode }) => opcode === 8))
      }),
      { seed: 1, numRuns: 300 },
    )
  })

  test('a goodbye is a Close frame with 1001, masked from a client', () => {
    for (const with4 of [null, mask]) {
      const { frames, rest } = framesIn(goodbye(with4))
      expect(rest).toHaveLength(0)
      expect(frames).toEqual([{ opcode: 8, masked: with4 !== null, payload: Buffer.from([0x03, 0xe9]) }])
    }
  })
})

describe('interim answers', () => {
  const interim = fc.constantFrom(
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 102 x\r\nA: b\r\n\r\n',
    'HTTP/1.1 103 \r\nLink: </x>\r\n\r\n',
    'HTTP/1.0 199 x\r\n\r\n',
  )
  const final = fc.constantFrom(
    'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody',
    'HTTP/1.1 101 Switching Protocols\r\n\r\nbytes',
    'HTTP/1.1 204 \r\n\r\n',
    '220 smtp.test ready for 100 things\r\n',
    'HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n',
  )

  test('are taken out in whatever pieces they come, and nothing else is', () => {
    fc.assert(
      fc.property(
        fc.array(interim, { maxLength: 4 }),
        final,
        fc.array(fc.nat(), { maxLength: 20 }),
        (before, last, cuts) => {
          const strainer = new InterimAnswers(1000)
          for (let round = 0; round < 2; round++) {
            strainer.expect()
            const parts = cutAt(Buffer.from(before.join('') + last), cuts).map((piece) => strainer.strain(piece))
            expect(Buffer.concat(parts.filter((part) => part !== null)).toString()).toBe(last)
            // If it was only the first byte of a head: the server has the request.
            expect(strainer.seen).toBe(true)
            strainer.expect()
            expect(strainer.seen).toBe(false)
          }
        },
      ),
      { seed: 1, numRuns: 500 },
    )
  })

  test('a head that does not end is held for so long, and then somebody else’s to judge', () => {
    const strainer = new InterimAnswers(100)
    expect(strainer.strain(Buffer.from('HTTP/1.1 100 x\r\n'))).toBeNull()
    const rest = strainer.strain(Buffer.alloc(100, 'x'))
    expect(rest?.toString()).toMatch(/^HTTP\/1\.1 100 x\r\nx+$/)
  })
})
