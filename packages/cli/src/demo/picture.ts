import type { Board } from './board.ts'
import { curves, health, speed } from './curves.ts'
import type { LaneBoard } from './lane-board.ts'
import type { ServerBoard } from './server-board.ts'
import { type Standing, showStanding, standingOf } from './standing.ts'
import type { Recent } from './tally.ts'
import { fit, left, letsThrough, milliseconds, type Paint, percent, right, whole, wholePercent, wrap } from './words.ts'

// What a terminal shows while the demo runs, as lines.

const MARGIN = '  '

const SIGNS: Readonly<Record<Standing, string>> = { 'in choice': '●', back: '◒', 'on probation': '◐', isolated: '○' }

/** Widths of the columns, the first three aligned to the left, where there is room for them and where there is not. */
const WIDE = [14, 12, 18, 9, 12, 11, 12] as const
const NARROW = [11, 7, 17, 7, 8, 9, 11] as const
const TITLES = ['', 'server is', 'state', 'share', 'requests/s', 'failed/s', 'p99'] as const
const SHORT_TITLES = ['', 'is', 'state', 'share', 'req/s', 'failed/s', 'p99'] as const

/** No line is wider than `width`, and there are fewer than `height`; what has no room is left out. */
export function picture(board: Board, paint: Paint, width: number, height: number): string[] {
  const room = width - MARGIN.length
  const lines = [...heading(board, paint, room), '', ...table(board, paint, room)]
  const curve = ['', ...curves(board, paint, room - MARGIN.length)]
  if (lines.length + curve.length < height) lines.push(...curve)
  return lines.slice(0, Math.max(1, height - 1)).map((line) => fit(MARGIN + line, width))
}

function heading({ phase, phases, current, leftMs }: Board, paint: Paint, width: number): string[] {
  const steps = phases.map(({ name }, i) => {
    if (i === phase) return paint.bold(paint.cyan(`▶ ${name}`)) + paint.dim(` ${Math.ceil(leftMs / 1000)} s`)
    return paint.dim(i < phase ? `✓ ${name}` : `· ${name}`)
  })
  const guide = wrap(current?.says ?? 'Done.', width)
  // As many lines in every phase: the table does not jump.
  const most = Math.max(...phases.map(({ says }) => wrap(says, width).length))
  const rest = Array.from({ length: most - guide.length }, () => '')
  return [steps.join('  '), ...guide, ...rest]
}

function table(board: Board, paint: Paint, width: number): string[] {
  const isWide = WIDE.reduce((sum, column) => sum + column, 0) <= width
  const columns = isWide ? WIDE : NARROW
  const row = (cells: readonly string[]): string =>
    columns.map((column, i) => (i < 3 ? left : right)(cells[i] ?? '', column)).join('')
  return [
    paint.dim(row(isWide ? TITLES : SHORT_TITLES)),
    ...board.lanes.flatMap((lane) => [
      `${paint.bold(lane.title)}  ${noteOf(lane, board, paint)}`,
      ...lane.servers.map((server) => row(serverCells(server, lane, paint))),
      row(clientCells(lane.recent, paint)),
    ]),
  ]
}

function noteOf(lane: LaneBoard, { with: floodwall, keepShare }: Board, paint: Paint): string {
  if (lane !== floodwall || keepShare === undefined) return paint.dim(lane.note)
  return paint.yellow(letsThrough(keepShare))
}

function serverCells(server: ServerBoard, lane: LaneBoard, paint: Paint): string[] {
  const { name, behaviour, recent } = server
  const is = behaviour === 'well' ? behaviour : paint.red(behaviour)
  const share = wholePercent(lane.shareOf(server))
  return [`  server ${name}`, is, stateCell(server, paint), share, ...figures(recent, paint)]
}

function stateCell({ endpoint, leftOut }: ServerBoard, paint: Paint): string {
  if (endpoint === undefined) return leftOut === true ? paint.red('○ left out') : paint.dim('● in turn')
  const standing = standingOf(endpoint)
  const tint = standing === 'in choice' ? paint.green : standing === 'isolated' ? paint.red : paint.yellow
  return tint(`${SIGNS[standing]} ${showStanding(endpoint)}`)
}

function clientCells(recent: Recent, paint: Paint): string[] {
  const { success } = recent.tally
  const ok = Number.isNaN(success) ? '' : health(success, paint)(`${percent(success)} ok`)
  return [paint.bold('  clients'), '', ok, '', ...figures(recent, paint)]
}

function figures(recent: Recent, paint: Paint): string[] {
  const { tally } = recent
  const failed = recent.perSecond(tally.failures)
  return [
    whole(recent.arrivalsPerSecond),
    failed > 0 ? paint.red(whole(Math.max(1, failed))) : paint.dim('0'),
    tally.requests === 0 ? paint.dim('–') : speed(tally.p99, paint)(milliseconds(tally.p99)),
  ]
}
