import { ConfigError, limiter, pace, pipeline, rateLimit, toBytes } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { toByteRate } from '../../src/core/bytes.ts'

describe('bytes', () => {
  test.each<[given: unknown, bytes: number]>([
    [0, 0],
    [65_536, 65_536],
    ['0B', 0],
    ['1500B', 1500],
    ['64kB', 64_000],
    ['64KiB', 65_536],
    ['1.5MiB', 1_572_864],
    ['10 MB', 10_000_000],
    ['2GB', 2e9],
    ['2GiB', 2_147_483_648],
    ['0.1kB', 100],
  ])('%j is %d', (given, bytes) => {
    expect(toBytes(given)).toBe(bytes)
  })

  test.each<unknown>([
    ...['', '10', 'MB', '10KB', '10mb', '10Mb', '10Mbit', '10 Mi', '-1MB', '1e3B', '.5MB', '1,5MB', '1  MB', '1MB '],
    ...[-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, null, undefined, {}, ['1MB']],
  ])('%j is none', (given) => {
    expect(toBytes(given)).toBeNaN()
  })

  test.each<[given: unknown, rate: number, per: number]>([
    ['10MB/s', 10_000_000, 1000],
    ['512KiB/s', 524_288, 1000],
    ['1.5MiB/min', 1_572_864, 60_000],
    ['1.5MiB/m', 1_572_864, 60_000],
    ['2 GB/h', 2e9, 3_600_000],
    ['1GB/d', 1e9, 86_400_000],
  ])('%j is %d in %d ms', (given, rate, per) => {
    expect(toByteRate(given)).toEqual({ rate, per })
  })

  test.each<unknown>(['10MB', '10/s', '10MB/', '/s', '10MB/ms', '10MB/5s', '10MB/constructor', '10MB/s/s', 10])(
    '%j is no rate of bytes',
    (given) => {
      expect(toByteRate(given)).toBeUndefined()
    },
  )
})

const layers = [
  ['rateLimit', (options: object) => rateLimit(options as never)],
  ['pace', (options: object) => pace(options as never)],
  ['limiter', (options: object) => limiter(options as never)],
] as const

describe.each(layers)('%s takes a rate in bytes', (name, make) => {
  test.each<[options: object, field: string, expected: RegExp]>([
    [{ rate: '10KB/s' }, `${name}.rate`, /bytes in a span such as "10MB\/s"/],
    [{ rate: '10MB' }, `${name}.rate`, /bytes in a span/],
    [{ rate: -1 }, `${name}.rate`, /a number of 0 or more/],
    [{ rate: '2TB/s' }, `${name}.rate`, /bytes in a span/],
    [{ rate: '1001GB/s' }, `${name}.rate`, /bytes in a span/],
    [{ rate: '10MB/s', per: '1m' }, `${name}.per`, /no "per" beside a rate in bytes/],
    [{ rate: '10MB/s', burst: '10Mb' }, `${name}.burst`, /bytes such as "64KiB"/],
  ])('and refuses %j', (options, field, expected) => {
    let thrown: unknown
    try {
      make(options)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(ConfigError)
    const [issue, ...more] = (thrown as ConfigError).issues
    expect(more).toEqual([])
    expect(issue).toMatchObject({ path: field, expected: expect.stringMatching(expected) })
  })

  test('the same as the numbers', () => {
    expect(() => make({ rate: '1.5MiB/min', burst: '64KiB' })).not.toThrow()
    expect(() => make({ rate: '1.5MiB/min', per: '1m' })).not.toThrow()
    expect(() => make({ rate: 1.5, per: '1m', burst: 0.5 })).not.toThrow()
  })
})

test('a layer with a text is the layer with the numbers', () => {
  const numbers = { rate: 90_000_000, per: 60_000 }
  expect(rateLimit({ rate: '90MB/min', burst: '1MB' }).options).toMatchObject({ ...numbers, burst: 1_000_000 })
  expect(rateLimit({ rate: '90MB/min', algorithm: 'fixedWindow' }).options).toMatchObject(numbers)
  expect(pace({ rate: '90MB/min' }).options).toMatchObject(numbers)
})

test('an upload is charged its bytes, to the last one', async () => {
  const world = new VirtualRuntime()
  const uploads = pipeline('uploads', [rateLimit({ rate: '10kB/s', burst: '16KiB' })], { runtime: world })
  const passes = async (cost: number) => (await uploads.outcome(() => 'stored', { cost })).ok
  expect(await passes(16_384)).toBe(true)
  expect(await passes(1)).toBe(false)
  world.advance(100)
  expect(await passes(1001)).toBe(false)
  expect(await passes(1000)).toBe(true)
  const refused = await uploads.outcome(() => 'stored', { cost: 20_000 })
  expect(refused.rejection).toMatchObject({ never: true })
})
