import pc from 'picocolors'
import { expect, test } from 'vitest'
import { Board } from '../src/demo/board.ts'
import { picture } from '../src/demo/picture.ts'
import { plainLine } from '../src/demo/plain.ts'
import { story } from '../src/demo/story.ts'
import { summary } from '../src/demo/summary.ts'
import { Tally } from '../src/demo/tally.ts'
import { fit, percent, widthOf } from '../src/demo/words.ts'

const colours = pc.createColors(true)
const bare = pc.createColors(false)

/** Every request is good and took 7 ms, but for those in the phase "one failing" without floodwall: each third failed. */
function played(): Board {
  const board = new Board(story, 1_000, 200)
  story.forEach(({ name }, phase) => {
    board.enter(phase)
    for (const lane of [0, 1]) {
      const sent = Array.from({ length: 200 }, (_, i) => {
        const ok = !(name === 'one failing' && lane === 0 && i % 3 === 0)
        return [lane, phase, phase * 1_000 + i * 5, 7, ok] as const
      })
      board.take({
        kind: 'report',
        spanMs: 1_000,
        arrivals: 200,
        settledMs: [(phase + 1) * 1_000, (phase + 1) * 1_000],
        sent,
      })
    }
  })
  board.see({ retries: 67, breakers: new Map([['B', 'open']]) })
  return board
}

test.each([
  ['new', new Board(story, 7_000, 200)],
  ['played', played()],
])('a %s board fits into every terminal', (_, board) => {
  for (const width of [1, 20, 40, 79, 80, 110, 300]) {
    for (const height of [1, 5, 20, 24, 60]) {
      const lines = picture(board, colours, width, height)
      expect(lines.length).toBeLessThanOrEqual(Math.max(1, height - 1))
      expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(width)
    }
  }
})

test('without colours there are no control codes', () => {
  const text = [...picture(played(), bare, 100, 40), ...summary(played(), bare, 100), plainLine(played())].join('')
  expect(text).not.toContain('\u001b')
})

test('the summary says what was measured', () => {
  const text = summary(played(), bare, 500).join('\n')
  expect(text).toMatch(/^one slow +200 +100 % +7 ms +100 % +7 ms$/m)
  expect(text).toMatch(/^one failing +200 +66.5 % +7 ms +100 % +7 ms$/m)
  expect(text).toContain('failing, 67 of 200 requests failed without floodwall, 0 of 200 with it.')
})

test('and does not say that it is better when it is not', () => {
  const board = new Board(story, 1_000, 200)
  const sent = [
    [0, 2, 2_000, 5, true],
    [1, 2, 2_000, 5, false],
  ] as const
  board.take({ kind: 'report', spanMs: 1_000, arrivals: 200, settledMs: [0, 0], sent })
  const text = summary(board, bare, 500).join('\n')
  expect(text).toContain('failing, 0 of 1 requests failed without floodwall, 1 of 1 with it.')
  expect(text).toMatch(/^one failing +1 +100 % +5 ms +0.0 % +5 ms$/m)
})

test('what is under way is not drawn as quick', () => {
  const board = played()
  board.take({ kind: 'report', spanMs: 1_000, arrivals: 200, settledMs: [1_500, 4_000], sent: [] })
  expect(board.without.pieces(40, 4_000)).toHaveLength(15)
  expect(board.with.pieces(40, 4_000)).toHaveLength(40)
})

test('one failure in many is not 100 %', () => {
  expect(percent(1)).toBe('100 %')
  expect(percent(0.99999)).toBe('99.9 %')
  expect(percent(Number.NaN)).toBe('–')
})

test('p99 is the nearest rank', () => {
  const tally = new Tally()
  for (let ms = 1; ms <= 100; ms++) tally.add(ms, true)
  expect(tally.p99).toBe(99)
  tally.add(101, true)
  expect(tally.p99).toBe(100)
})

test('a line is cut by what is seen of it, and its colours end', () => {
  expect(fit('abcdef', 4)).toBe('abc…')
  expect(fit(`${colours.red('abc')}def`, 6)).toBe(`${colours.red('abc')}def`)
  expect(fit(`a${colours.red('bcdef')}g`, 4)).toBe(`a${colours.red('bc')}…`)
})
