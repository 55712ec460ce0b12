import { digestOf, isToken, Token } from 'floodwall/admin'
import { expect, test } from 'vitest'

test('ten wrong ones in a second are told so, more are told to wait, until the next second', () => {
  const token = new Token(undefined)
  expect(token.check(undefined, 0)).toBe('ok')
  token.change(digestOf('123456789'))
  expect(digestOf('123456789').toString('hex')).toBe('15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225')
  const verdicts = (count: number, at: number) => Array.from({ length: count }, () => token.check('Bearer wrong', at))
  expect(verdicts(12, 1000)).toEqual([...Array(10).fill('wrong'), 'too-many', 'too-many'])
  expect(token.check('Bearer 123456789', 1500)).toBe('ok')
  expect(token.check(undefined, 1500)).toBe('none')
  expect(verdicts(1, 1999)).toEqual(['too-many'])
  expect(verdicts(11, 2000)).toEqual([...Array(10).fill('wrong'), 'too-many'])
  expect(token.failures).toBe(24)
})

test.each([
  ['16 characters', 'a'.repeat(16), true],
  ['15 characters', 'a'.repeat(15), false],
  ['a blank in it', 'correct horse battery', false],
  ['a letter that headers do not have', 'pässwörter-sind-lang', false],
  ['a number', 1_234_567_890_123_456, false],
])('%s', (_, text, verdict) => expect(isToken(text)).toBe(verdict))
