import type { Board, LaneBoard } from './board.ts'
import { left, milliseconds, percent, right, whole } from './words.ts'

// What is written once a second where no picture can be drawn: a file, a pipe, a log of CI.

export const plainHead: string = [
  ' time  phase       ',
  '  without: success         p99',
  '  with: success         p99  retries',
  '  breakers',
].join('')

export function plainLine(board: Board): string {
  const { phase, current, elapsedMs, retries } = board
  const time = phase < 0 ? '' : `${whole(elapsedMs / 1000)} s`
  const states = board.with.servers.map(({ name, breaker }) => `${name} ${breaker ?? '–'}`).join(', ')
  const title = current?.name ?? (phase < 0 ? 'warming up' : 'done')
  return (
    `${right(time, 5)}  ${left(title, 12)}${figures(board.without, 18)}${figures(board.with, 15)}` +
    `${right(whole(retries), 9)}  ${states}`
  )
}

function figures({ recent: { tally } }: LaneBoard, width: number): string {
  return right(percent(tally.success), width) + right(milliseconds(tally.p99), 12)
}
