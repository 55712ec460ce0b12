import type { Board } from './board.ts'
import { health, speed } from './curves.ts'
import { findings } from './findings.ts'
import type { Tally } from './tally.ts'
import { left, milliseconds, type Paint, percent, right, whole, wrap } from './words.ts'

// What was measured, when the run is over: a table, what it means, and where to go from here.

const BULLET = '- '

export function summary(board: Board, paint: Paint, width: number): string[] {
  const text = findings(board).flatMap((finding) => item(finding, width))
  return ['', ...table(board, paint), '', ...text, '', ...next(paint)]
}

function item(text: string, width: number): string[] {
  return wrap(text, width - BULLET.length).map((line, i) => (i === 0 ? BULLET : ' '.repeat(BULLET.length)) + line)
}

function table(board: Board, paint: Paint): string[] {
  return [
    paint.bold(`${left('', 23)}${right('without floodwall', 25)}${right('with floodwall', 25)}`),
    paint.dim(row('phase', 'requests', ['success', 'p99', 'success', 'p99'])),
    ...board.phases.map(({ name }, i) => {
      const without = board.without.inPhase(i)
      return row(
        name,
        whole(without.requests),
        [without, board.with.inPhase(i)].flatMap((lane) => figures(lane, paint)),
      )
    }),
  ]
}

function row(title: string, requests: string, cells: readonly string[]): string {
  return left(title, 14) + right(requests, 9) + cells.map((cell, i) => right(cell, i % 2 === 0 ? 14 : 11)).join('')
}

function figures({ success, p99 }: Tally, paint: Paint): string[] {
  return [health(success, paint)(percent(success)), speed(p99, paint)(milliseconds(p99))]
}

function next(paint: Paint): string[] {
  return [
    'Next, put it in front of a server of yours:',
    '',
    `  ${paint.cyan('npm start -- --upstream http://localhost:3000')}`,
  ]
}
