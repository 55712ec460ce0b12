import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Glob } from '../../src/algorithms/keys/glob.ts'
import { KeyOverrides } from '../../src/algorithms/keys/key-overrides.ts'

describe('a pattern', () => {
  test.each([
    ['*', ['', 'a', 'a*b'], []],
    ['a*', ['a', 'ab', 'a*'], ['', 'b', 'ba']],
    ['*a', ['a', 'ba', 'aa'], ['', 'ab']],
    ['a*a', ['aa', 'aba'], ['a', 'ab']],
    ['free:*:eu-*', ['free::eu-', 'free:a:eu-7', 'free:a:b:eu-'], ['free:eu-7', 'free:a:eu']],
    ['*aab*', ['aab', 'aaab', 'xaaaabx'], ['aa', 'abaa', 'aacb']],
    ['a**b', ['ab', 'axb'], ['a', 'abc']],
    ['a.c', ['a.c'], ['abc', 'a.cc']],
  ])('%s', (text, yes, no) => {
    const glob = new Glob(text)
    expect(yes.filter((key) => !glob.matches(key))).toEqual([])
    expect(no.filter((key) => glob.matches(key))).toEqual([])
  })

  test('matches as the regular expression that says the same', () => {
    const text = fc.stringMatching(/^[ab]{0,9}$/)
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), text, text, (parts, more, end) => {
        const glob = new Glob(parts.join('*'))
        const expression = new RegExp(`^${parts.join('.*')}$`)
        for (const key of [more, more + end, parts.join(more), parts.join('')])
          expect(glob.matches(key)).toBe(expression.test(key))
      }),
      { seed: 92, numRuns: 500 },
    )
  })

  test('a key and a pattern that make a regular expression try for ever are looked at once', () => {
    const glob = new Glob(`${'*a'.repeat(200)}*b`)
    expect(glob.matches('a'.repeat(1024))).toBe(false)
    expect(new Glob(`*${'a'.repeat(500)}b*`).matches('a'.repeat(1024))).toBe(false)
  })
})

describe('the override of a key', () => {
  test('is the exact one, then that of the longest part before the first star', () => {
    const names = ['*', 'free:*', 'free:eu-*', 'free:eu-7', '*-7']
    const overrides = new KeyOverrides(names)
    const found = (key: string | number) => names[overrides.find(key)]
    expect(['free:eu-7', 'free:eu-8', 'free:us-1', 'a-7', 'ann', ''].map(found)).toEqual([
      'free:eu-7',
      'free:eu-*',
      'free:*',
      '*-7',
      '*',
      '*',
    ])
  })

  test('is none where no name fits; names that objects have are names', () => {
    const overrides = new KeyOverrides(['a', 'b*'])
    expect(['c', 'constructor', '__proto__', 'ab'].map((key) => overrides.find(key))).toEqual([-1, -1, -1, -1])
  })

  test('goes by the text of a number', () => {
    expect([42, '42', 4].map((key) => new KeyOverrides(['42']).find(key))).toEqual([0, 0, -1])
  })
})
