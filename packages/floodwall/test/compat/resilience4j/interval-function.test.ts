import { ConfigError } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { IntervalFunction } from '../../../src/compat/resilience4j/index.ts'
import { Vectors } from '../../support/vectors.ts'

interface Config {
  readonly type?: string
  readonly intervalMillis?: number
  readonly initialIntervalMillis?: number
  readonly multiplier?: number
  readonly randomizationFactor?: number
  readonly maxIntervalMillis?: number
}
type Drawn = readonly [attempt: number, draw: number | null, intervalMs: number]
type Checked = readonly [expression: string, value: number | null, error: string | null]

const vectors = new Vectors<Config, Drawn | Checked>('resilience4j-interval-functions.json')

const { of, ofExponentialBackoff, ofExponentialRandomBackoff, ofRandomized } = IntervalFunction

function functionOf(config: Config): IntervalFunction {
  const { intervalMillis, initialIntervalMillis, multiplier, randomizationFactor, maxIntervalMillis } = config
  if (config.type === 'constant') return of(intervalMillis)
  if (config.type === 'randomized') return ofRandomized(intervalMillis, randomizationFactor)
  return config.type === 'exponentialBackoff'
    ? ofExponentialBackoff(initialIntervalMillis, multiplier, maxIntervalMillis)
    : ofExponentialRandomBackoff(initialIntervalMillis, multiplier, randomizationFactor, maxIntervalMillis)
}

const noDraw = (): number => {
  throw new Error('this interval has nothing to draw')
}

/** Their expressions, in our words. */
const EXPRESSIONS: Readonly<Record<string, () => number | IntervalFunction>> = {
  'of(0)': () => of(0),
  'of(-1)': () => of(-1),
  'of(1).apply(0)': () => of(1)(0, noDraw),
  'ofExponentialBackoff(0,2)': () => ofExponentialBackoff(0, 2),
  'ofExponentialBackoff(100,2,0)': () => ofExponentialBackoff(100, 2, 0),
  'ofExponentialBackoff(100,-1).apply(1)': () => ofExponentialBackoff(100, -1)(1, noDraw),
  'ofExponentialBackoff(100,-1).apply(2)': () => ofExponentialBackoff(100, -1)(2, noDraw),
  'ofExponentialBackoff(100,0).apply(3)': () => ofExponentialBackoff(100, 0)(3, noDraw),
  'ofRandomized(100,1.1)': () => ofRandomized(100, 1.1),
  'ofRandomized(100,-0.1)': () => ofRandomized(100, -0.1),
}

function check([expression, value, error]: Checked): void {
  const run = EXPRESSIONS[expression] as () => unknown
  if (error === null) expect(run()).toBe(value)
  else expect(run).toThrow(/expected/)
}

describe('the interval functions replay resilience4j', () => {
  test.each(vectors.cases)('$name: $config', (recorded) => {
    vectors.replay(recorded, (step) => {
      if (typeof step[0] === 'string') return check(step as Checked)
      const [attempt, draw, expected] = step as Drawn
      expect(functionOf(recorded.config)(attempt, draw === null ? noDraw : () => draw)).toBe(expected)
    })
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches`)
    expect(vectors.replayed).toBe(vectors.steps)
    expect(vectors.cases.length).toBe(15)
  })
})

describe('what no recording says', () => {
  test('the defaults are 500 ms, times 1.5, give or take a half', () => {
    const half = () => 0.5
    expect([of()(9, half), ofExponentialBackoff()(2, half), ofRandomized()(1, half)]).toEqual([500, 750, 500])
    expect(ofExponentialRandomBackoff()(2, () => 0)).toBe(375)
  })

  test('spans may be written as such', () => {
    expect(ofExponentialBackoff('1.5s', 2, '2s')(2, noDraw)).toBe(2000)
  })

  test('it ends where a number of 64 bits ends, and does not count to a far attempt in vain', () => {
    expect(ofExponentialBackoff(1000, 10)(1e9, noDraw)).toBe(2 ** 63)
    expect(ofExponentialBackoff(7, 1.1)(1e9, noDraw)).toBe(7)
  })

  test.each([
    [() => of(Number.NaN), 'IntervalFunction.intervalMillis: expected a span of at least 1 ms, got NaN'],
    [() => of(0.5), 'IntervalFunction.intervalMillis'],
    [() => ofExponentialBackoff(1, Number.NaN), 'IntervalFunction.multiplier'],
    [() => ofExponentialBackoff(1, 2, 0), 'IntervalFunction.maxIntervalMillis'],
    [() => ofRandomized(1, 2), 'IntervalFunction.randomizationFactor: expected a number from 0 to 1, got 2'],
  ])('%s is refused', (make, message) => {
    expect(make).toThrow(ConfigError)
    expect(make).toThrow(message)
  })
})
