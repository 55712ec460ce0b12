import pc from 'picocolors'
import { expect, test } from 'vitest'
import { Board } from '../src/demo/board.ts'
import { findings } from '../src/demo/findings.ts'
import { story } from '../src/demo/story.ts'
import { summary } from '../src/demo/summary.ts'
import { Tally } from '../src/demo/tally.ts'
import { endpoint, played } from './demo/played.ts'

const bare = pc.createColors(false)
const back = story.findIndex(({ returns }) => returns !== undefined)

test('the summary says what was measured', () => {
  const board = played((phase, lane, i) => (phase === 'one wrong' && lane === 0 && i % 3 === 0 ? 500 : undefined))
  const text = summary(board, bare, 500).join('\n')
  expect(text).toMatch(/^one slow +200 +100 % +7 ms +100 % +7 ms$/m)
  expect(text).toMatch(/^one wrong +200 +66.5 % +7 ms +100 % +7 ms$/m)
  expect(text).toContain('C was wrong, 67 of 200 requests failed without floodwall, 0 of 200 with it.')
})

test('and does not say that it is better when it is not', () => {
  const board = played((phase, lane) => (phase === 'one wrong' && lane === 1 ? 502 : undefined))
  const text = summary(board, bare, 500).join('\n')
  expect(text).toContain('C was wrong, 0 of 200 requests failed without floodwall, 200 of 200 with it.')
  expect(text).toMatch(/^one wrong +200 +100 % +7 ms +0.0 % +7 ms$/m)
})

test('when all are dead: how the requests failed, and who was asked', () => {
  const board = new Board(story, 1_000, 200)
  board.see({ retries: 0, endpoints: new Map([['A', endpoint({ attempts: 1_000 })]]), recovering: false, keepShare: 1 })
  board.enter(story.findIndex(({ name }) => name === 'all dead'))
  board.see({ retries: 3, endpoints: new Map([['A', endpoint({ attempts: 1_012 })]]), recovering: true, keepShare: 0 })
  const sent = [
    [0, 4, 4_000, 1.5, 'refused'],
    [1, 4, 4_000, 2.5, 503],
    [1, 4, 4_005, 3.5, 503],
    [1, 4, 4_010, 40, 502],
  ] as const
  board.take({ kind: 'report', spanMs: 1_000, arrivals: 3, settledMs: [0, 0], leftOut: [[]], sent })
  expect(findings(board).join('\n')).toContain(
    'While all servers were dead, 1 of 1 requests failed without floodwall, 3 of 3 with it. Without it 1 were refused a connection, ' +
      'half of them within 1.5 ms, 99 of 100 within 1.5 ms; with it 2 got status 503, half of them within 2.5 ms, 99 of 100 within ' +
      '3.5 ms. The servers were asked 1 times without floodwall, 12 times with it.',
  )
})

test('when they are back: what was lost, and until when', () => {
  const board = played((phase, lane, i) => {
    if (phase !== 'all back') return undefined
    return lane === 0 ? 'refused' : i < 100 ? 503 : undefined
  })
  const text = findings(board).join('\n')
  expect(text).toContain('was back, 200 of 200 requests failed without floodwall, 100 of 200 with it.')
  expect(text).toContain('95 % succeeded again not before the end of the phase without floodwall, after 0.5 s with it.')
  expect(text).toContain('got in a second was 0 requests without floodwall, 50 with it; 200 a second were due')
})

test('a recovery counts when it lasts', () => {
  const well = (failing: (i: number) => boolean): number | undefined =>
    played((phase, lane, i) => (phase === 'all back' && lane === 1 && failing(i) ? 503 : undefined)).with.wellAfterMs(
      back,
      200,
    )
  expect(well(() => false)).toBe(0)
  expect(well((i) => i < 40)).toBe(200)
  expect(well((i) => i < 40 || (i >= 100 && i < 120))).toBe(600)
  expect(well((i) => i >= 190)).toBeUndefined()
  expect(well((i) => i === 199)).toBe(0)
})

test('what is under way is not drawn as quick', () => {
  const board = played(() => undefined)
  board.take({ kind: 'report', spanMs: 1_000, arrivals: 200, settledMs: [1_500, 6_000], leftOut: [[]], sent: [] })
  expect(board.without.pieces(60, 6_000)).toHaveLength(15)
  expect(board.with.pieces(60, 6_000)).toHaveLength(60)
})

test('p99 is the nearest rank', () => {
  const tally = new Tally()
  for (let ms = 1; ms <= 100; ms++) tally.add(ms, true)
  expect(tally.p99).toBe(99)
  tally.add(101, true)
  expect(tally.p99).toBe(100)
})
