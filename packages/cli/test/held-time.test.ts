import { afterEach, expect, test, vi } from 'vitest'
import { HeldTime } from '../src/gateway/exchange/held-time.ts'

afterEach(() => void vi.restoreAllMocks())

test('a moment counts once, whoever holds back in it', () => {
  let now = 1000
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  const time = new HeldTime()
  expect(time.ms(now)).toBe(0)
  time.begin()
  now = 1100
  time.begin()
  expect(time.ms(1150)).toBe(150)
  now = 1200
  time.end()
  now = 1300
  expect(time.ms(now)).toBe(300)
  time.end()
  now = 5000
  expect(time.ms(now)).toBe(300)
  time.begin()
  expect(time.ms(5010)).toBe(310)
})
