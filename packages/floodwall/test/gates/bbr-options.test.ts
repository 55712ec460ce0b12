import { bbr, bbrPresets, isConfigError } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { parse } from '../../src/core/schema.ts'

function faults(options: object): string[] {
  try {
    bbr(options)
  } catch (error) {
    if (isConfigError(error)) return error.issues.map(({ path, expected }) => `${path}: ${expected}`)
    throw error
  }
  return []
}

describe('options', () => {
  test('all have defaults, and the seed of them is the article: 800 per mille, 250 ms, 5 s of 100 ms', () => {
    expect(bbr().options).toEqual({
      cpu: undefined,
      ...{ above: 0.8, coolDown: 1000, sampleEvery: 250, weight: 0.5 },
      ...{ over: 5000, buckets: 50, atLeast: 10, startAt: 10, headroom: 1, drain: 0.75, slack: 8 },
    })
  })

  test.each<[string, readonly unknown[], string]>([
    ['cpu', [0.5, 'cpu', null, {}, { level: 1 }, []], 'a function that tells the usage from 0 to 1, or a Pressure'],
    ['above', [0, 1.1, -1, '0.8', null, Number.NaN], 'a share above 0 and at most 1 (0.5 is 50 %)'],
    ['weight', [0, 1.1, '1'], 'a share above 0 and at most 1 (0.5 is 50 %)'],
    ['drain', [0, 2], 'a share above 0 and at most 1 (0.5 is 50 %)'],
    ['slack', [0, 0.9, 1001, '8'], 'a number from 1 to 1000'],
    ['headroom', [-1, '1', Number.NaN], 'a number of 0 or more'],
    ['sampleEvery', [0, '0ms', -1, 'x'], 'a span such as 250 (ms), "250ms" or "1.5s", above 0'],
    ['over', [0, '5'], 'a span such as 250 (ms), "250ms" or "1.5s", above 0'],
    ['coolDown', [-1, 'x', null], 'a span such as 250 (ms), "250ms" or "1.5s"'],
    ['buckets', [1, 1001], 'a whole number from 2 to 1000'],
    ['atLeast', [0, 1.5, '3'], 'a whole number from 1'],
    ['startAt', [0, 1.5, -3], 'a whole number from 1'],
  ])('%s takes no wrong value', (field, values, expected) => {
    for (const value of values) expect(faults({ [field]: value }), String(value)).toEqual([`bbr.${field}: ${expected}`])
  })

  test('the presets are options', () => {
    for (const preset of Object.values(bbrPresets)) expect(() => parse(bbr.options, preset, 'bbr')).not.toThrow()
    expect(bbr({ ...bbrPresets.aegis }).options).toMatchObject({ over: 10_000, buckets: 100, weight: 0.05, slack: 1 })
    expect(bbr({ ...bbrPresets.goZero }).options).toMatchObject({ over: 5000, buckets: 50, above: 0.9 })
  })
})
