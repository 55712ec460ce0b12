import type { Board } from './board.ts'
import type { LaneBoard } from './lane-board.ts'
import { showStanding } from './standing.ts'
import { left, milliseconds, percent, right, whole, wholePercent } from './words.ts'

// What is written where no picture can be drawn (a file, a pipe, a log of CI): the guide as each phase begins, and a line each second.

export const plainHead: string = [
  ' time  phase     ',
  ' without: ok       p99',
  '  with: ok       p99',
  '  let through',
  '  servers',
].join('')

export function plainGuide({ current }: Board): string[] {
  return current === undefined ? [] : ['', `${current.name}: ${current.says}`]
}

export function plainLine(board: Board): string {
  const { current, elapsedMs, keepShare } = board
  const time = `${whole(elapsedMs / 1000)} s`
  const states = board.with.servers.map(({ name, endpoint }) =>
    endpoint === undefined ? `${name} –` : `${name} ${showStanding(endpoint)}`,
  )
  const title = current?.name ?? 'done'
  return (
    `${right(time, 5)}  ${left(title, 10)}${figures(board.without, 12)}${figures(board.with, 10)}` +
    `${right(wholePercent(keepShare ?? 1), 13)}  ${states.join(', ')}`
  )
}

function figures({ recent: { tally } }: LaneBoard, width: number): string {
  return right(percent(tally.success), width) + right(milliseconds(tally.p99), 10)
}
