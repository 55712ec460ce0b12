import fc from 'fast-check'
import { readGrpcTimeout, readTimeout, readTimeoutMs, writeGrpcTimeout, writeTimeoutMs } from 'floodwall/wire'
import { describe, expect, test } from 'vitest'

const MOST = 60_000

// C18: deadline headers: 99999999H, Infinitym, 10s, 1e3m.
describe('C18: grpc-timeout', () => {
  test.each([
    ['99999999H', MOST],
    ['100000000m', undefined],
    ['99999999m', MOST],
    ['Infinitym', undefined],
    ['NaNm', undefined],
    ['-1S', undefined],
    ['+1S', undefined],
    ['1e3m', undefined],
    ['0x10m', undefined],
    ['1.5S', undefined],
    [' 5S', undefined],
    ['5S ', undefined],
    ['5 S', undefined],
    ['5', undefined],
    ['S', undefined],
    ['', undefined],
    ['10s', undefined],
    ['10h', undefined],
    ['0m', 0],
    ['0n', 0],
    ['1n', 0.000_001],
    ['999u', 0.999],
    ['5000m', 5000],
    ['5M', MOST],
    ['1M', MOST],
    ['59S', 59_000],
    ['٣S', undefined],
    ['5S\n', undefined],
  ])('%j', (text, ms) => {
    const read = readGrpcTimeout(text, MOST)
    if (ms === undefined) expect(read).toBeUndefined()
    else expect(read).toBeCloseTo(ms, 9)
  })

  test('two lines are none: who would know which?', () => {
    expect(readTimeout((name) => (name === 'grpc-timeout' ? ['5S', '1S'] : undefined), MOST)).toEqual({
      ms: undefined,
      malformed: ['grpc-timeout'],
    })
  })

  test.each([
    [0.4, '400000n'],
    [1500, '1500000u'],
    [27.8 * 3_600_000, '100080S'],
    [40 * 86_400_000, '3456000S'],
    [Number.POSITIVE_INFINITY, undefined],
    [0, undefined],
    [-5, undefined],
    [Number.NaN, undefined],
    [0.000_000_4, undefined],
    [1e18, '99999999H'],
  ])('%d ms left is sent as %s', (ms, text) => {
    expect(writeGrpcTimeout(ms)).toBe(text)
  })

  test('what is written is read again, never longer than it was, and at most a hundred-thousandth or a nanosecond shorter', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 3e11, noNaN: true }), (ms) => {
        const text = writeGrpcTimeout(ms) as string
        expect(text).toMatch(/^\d{1,8}[HMSmun]$/)
        const back = readGrpcTimeout(text, Number.MAX_VALUE) as number
        expect(back).toBeLessThanOrEqual(ms * (1 + 1e-12))
        expect(back).toBeGreaterThanOrEqual(ms * (1 - 1e-5) - 1.5e-6)
      }),
      { seed: 18, numRuns: 2000 },
    )
  })

  test('of anything at all nothing but a number from 0 to the maximum is made', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^\d{0,12}[HMSmunx]?$/)), (text) => {
        for (const read of [readGrpcTimeout(text, MOST), readTimeoutMs(text, MOST)]) {
          if (read === undefined) continue
          expect(read).toBeGreaterThanOrEqual(0)
          expect(read).toBeLessThanOrEqual(MOST)
        }
      }),
      { seed: 18, numRuns: 5000 },
    )
  })
})

describe('milliseconds', () => {
  test.each([
    ['0', 0],
    ['734', 734],
    ['9999999999', MOST],
    ['10000000000', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['', undefined],
    [' 5', undefined],
    ['5ms', undefined],
  ])('%j', (text, ms) => {
    expect(readTimeoutMs(text, MOST)).toBe(ms)
  })

  test.each([
    [734.9, '734'],
    [1, '1'],
    [0.9, undefined],
    [0, undefined],
    [-1, undefined],
    [Number.NaN, undefined],
    [Number.POSITIVE_INFINITY, undefined],
    [1e15, '9999999999'],
  ])('%d left is sent as %s', (ms, text) => {
    expect(writeTimeoutMs(ms)).toBe(text)
  })
})

describe('of several names', () => {
  const from =
    (headers: Record<string, string | string[]>) =>
    (name: string): string | string[] | undefined =>
      headers[name]

  test('the shortest span counts', () => {
    const said = from({
      'x-floodwall-timeout-ms': '800',
      'grpc-timeout': '5S',
      'x-envoy-expected-rq-timeout-ms': '700',
    })
    expect(readTimeout(said, MOST)).toEqual({ ms: 700, malformed: [] })
  })

  test('what makes no sense is told, and takes nothing from the others', () => {
    expect(readTimeout(from({ 'x-floodwall-timeout-ms': 'soon', 'connect-timeout-ms': '50' }), MOST)).toEqual({
      ms: 50,
      malformed: ['x-floodwall-timeout-ms'],
    })
  })

  test('none is none', () => {
    expect(readTimeout(() => undefined)).toEqual({ ms: undefined, malformed: [] })
  })
})
