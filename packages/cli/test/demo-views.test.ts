import pc from 'picocolors'
import { expect, test } from 'vitest'
import { Board } from '../src/demo/board.ts'
import { intro } from '../src/demo/intro.ts'
import { picture } from '../src/demo/picture.ts'
import { plainGuide, plainLine } from '../src/demo/plain.ts'
import { showStanding } from '../src/demo/standing.ts'
import { REQUESTS_PER_SECOND, story } from '../src/demo/story.ts'
import { summary } from '../src/demo/summary.ts'
import { fit, percent, widthOf, wrap } from '../src/demo/words.ts'
import { CAPACITY } from '../src/demo/workers.ts'
import { endpoint, played } from './demo/played.ts'

const colours = pc.createColors(true)
const bare = pc.createColors(false)

function busy(): Board {
  const board = played((phase, lane, i) => (phase === 'one wrong' && lane === 0 && i % 3 === 0 ? 500 : undefined))
  const endpoints = new Map([
    ['A', endpoint({ sinceMs: 100, isolations: 1 })],
    ['B', endpoint({ state: 'open', probeInMs: 870, isolations: 2 })],
    ['C', endpoint({ state: 'halfOpen' })],
    ['D', endpoint()],
  ])
  board.see({ retries: 67, endpoints, recovering: true, keepShare: 1 / 3 })
  return board
}

test.each([
  ['new', new Board(story, 7_000, 200)],
  ['busy', busy()],
])('a %s board fits into every terminal', (_, board) => {
  for (const width of [1, 20, 40, 79, 80, 110, 300]) {
    for (const height of [1, 5, 20, 24, 60]) {
      const lines = picture(board, colours, width, height)
      expect(lines.length).toBeLessThanOrEqual(Math.max(1, height - 1))
      expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(width)
    }
  }
})

test('an ordinary terminal has room for everything', () => {
  const text = picture(busy(), bare, 80, 24).join('\n')
  expect(text).not.toContain('…')
  for (const end of ['╵one wrong╵', '╵all back', 'p99', 'D ']) expect(text).toContain(end)
})

test('the table says what the cluster does', () => {
  const text = picture(busy(), bare, 110, 34).join('\n')
  expect(text).toMatch(/server B +dead +○ left out +/)
  expect(text).toContain('recovering: 33 % of the requests are let through')
  expect(text).toMatch(/server A +well +◒ back /)
  expect(text).toMatch(/server B +dead +○ isolated 0.9 s +25 % /)
  expect(text).toMatch(/server C +dead +◐ on probation /)
  expect(text).toMatch(/server D +dead +● in choice /)
})

test('who was isolated is back until it has its whole share', () => {
  expect(showStanding(endpoint({ isolations: 1, sinceMs: 1_999 }))).toBe('back')
  expect(showStanding(endpoint({ isolations: 1, sinceMs: 2_000 }))).toBe('in choice')
  expect(showStanding(endpoint({ isolations: 0, sinceMs: 0 }))).toBe('in choice')
})

test('without colours there are no control codes', () => {
  const board = busy()
  const lines = [
    ...intro(board, bare, 100),
    ...picture(board, bare, 100, 40),
    ...summary(board, bare, 100),
    ...plainGuide(board),
    plainLine(board),
  ]
  expect(lines.join('')).not.toContain('\u001b')
})

test('the guide takes one line, and does not contradict the servers', () => {
  for (const { says } of story) expect(wrap(says, 108)).toHaveLength(1)
  expect(CAPACITY * 2).toBe(REQUESTS_PER_SECOND)
})

test('one failure in many is not 100 %', () => {
  expect(percent(1)).toBe('100 %')
  expect(percent(0.99999)).toBe('99.9 %')
  expect(percent(Number.NaN)).toBe('–')
})

test('lines break between words, and not before a unit', () => {
  expect(wrap('it took 0.5 s or 20 ms, so 50 % of all', 9)).toEqual([
    'it took',
    '0.5 s or',
    '20 ms, so',
    '50 % of',
    'all',
  ])
  expect(wrap('slow servers are', 5)).toEqual(['slow', 'servers', 'are'])
})

test('a line is cut by what is seen of it, and its colours end', () => {
  expect(fit('abcdef', 4)).toBe('abc…')
  expect(fit(`${colours.red('abc')}def`, 6)).toBe(`${colours.red('abc')}def`)
  expect(fit(`a${colours.red('bcdef')}g`, 4)).toBe(`a${colours.red('bc')}…`)
})
