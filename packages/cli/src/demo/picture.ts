import type { Board, ServerBoard } from './board.ts'
import { curves, health, speed } from './curves.ts'
import type { Recent } from './tally.ts'
import { fit, left, milliseconds, type Paint, percent, right, whole } from './words.ts'

// What a terminal shows while the demo runs, as lines.

const MARGIN = '  '

const BREAKERS: Readonly<Record<string, string>> = { closed: '● closed', open: '○ open', halfOpen: '◐ probing' }

/** Widths of the columns, the first three aligned to the left, where there is room for them and where there is not. */
const WIDE = [19, 13, 13, 10, 11, 12] as const
const NARROW = [12, 10, 11, 5, 7, 9] as const
const TITLES = ['', 'server is', 'breaker', 'requests/s', 'failed/s', 'p99'] as const
const SHORT_TITLES = ['', 'is', 'breaker', 'req/s', 'fail/s', 'p99'] as const

/** No line is wider than `width`, and there are fewer than `height`; what has no room is left out. */
export function picture(board: Board, paint: Paint, width: number, height: number): string[] {
  const room = width - MARGIN.length
  const lines = [...heading(board, paint), '', ...table(board, paint, room)]
  const curve = ['', ...curves(board, paint, room - MARGIN.length)]
  if (lines.length + curve.length < height) lines.push(...curve)
  return lines.slice(0, Math.max(1, height - 1)).map((line) => fit(MARGIN + line, width))
}

function heading({ phase, phases, current, leftMs }: Board, paint: Paint): string[] {
  const steps = phases.map(({ name }, i) => {
    if (i === phase) return paint.bold(paint.cyan(`▶ ${name}`)) + paint.dim(` ${Math.ceil(leftMs / 1000)} s left`)
    return paint.dim(i < phase ? `✓ ${name}` : `· ${name}`)
  })
  return [steps.join('   '), current?.says ?? (phase < 0 ? 'Warming up.' : 'Done.')]
}

function table(board: Board, paint: Paint, width: number): string[] {
  const isWide = WIDE.reduce((sum, column) => sum + column, 0) <= width
  const columns = isWide ? WIDE : NARROW
  const row = (cells: readonly string[]): string =>
    columns.map((column, i) => (i < 3 ? left : right)(cells[i] ?? '', column)).join('')
  return [
    paint.dim(row(isWide ? TITLES : SHORT_TITLES)),
    ...board.lanes.flatMap((lane) => [
      `${paint.bold(lane.title)}  ${paint.dim(lane.note)}`,
      ...lane.servers.map((server) => row(serverCells(server, paint))),
      row(clientCells(lane.recent, lane === board.with ? `${whole(board.retries)} retries` : '', paint)),
    ]),
  ]
}

function serverCells({ name, behaviour, breaker, recent }: ServerBoard, paint: Paint): string[] {
  const is = behaviour === 'well' ? behaviour : paint.red(behaviour)
  return [`  server ${name}`, is, breakerCell(breaker, paint), ...figures(recent, paint)]
}

function breakerCell(state: string | undefined, paint: Paint): string {
  if (state === undefined) return paint.dim('none')
  const tint = state === 'closed' ? paint.green : state === 'open' ? paint.red : paint.yellow
  return tint(BREAKERS[state] ?? state)
}

function clientCells(recent: Recent, retries: string, paint: Paint): string[] {
  const { success } = recent.tally
  const ok = Number.isNaN(success) ? '' : health(success, paint)(`${percent(success)} ok`)
  return [paint.bold('  clients'), ok, retries, ...figures(recent, paint)]
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
