import type { Board } from './board.ts'
import type { Tally } from './tally.ts'
import { left, type Paint } from './words.ts'

// Success and p99 of both ways over the whole run, one character per piece of time.

const LEVELS = '▁▂▃▄▅▆▇█'
const LABELS = 16
const TITLE = 8
const WIDEST = 72
/** The scale of the p99 is logarithmic, from here (the lowest level) to here. */
const QUICK_MS = 10
const SLOW_MS = 3_000

/** Five lines; the last names the phases. */
export function curves(board: Board, paint: Paint, width: number): string[] {
  const perPhase = Math.floor(Math.min(WIDEST, width - LABELS) / board.phases.length)
  if (perPhase < 4) return []
  const pieces = board.lanes.map((lane) => lane.pieces(perPhase * board.phases.length, board.lengthMs))
  const [without = [], floodwall = []] = pieces
  const line = (title: string, of: string, tallies: Tally[], draw: (tally: Tally, paint: Paint) => string): string =>
    left(title, TITLE) + left(paint.dim(of), LABELS - TITLE) + tallies.map((tally) => draw(tally, paint)).join('')
  return [
    line('success', 'without', without, success),
    line('', 'with', floodwall, success),
    line('p99', 'without', without, p99),
    line('', 'with', floodwall, p99),
    ' '.repeat(LABELS) + board.phases.map((phase, i) => name(phase.name, i, board.phase, perPhase, paint)).join(''),
  ]
}

function success(tally: Tally, paint: Paint): string {
  if (tally.requests === 0) return ' '
  return health(tally.success, paint)(level(tally.success))
}

function p99(tally: Tally, paint: Paint): string {
  if (tally.requests === 0) return ' '
  const { p99: ms } = tally
  return speed(ms, paint)(level(Math.log(ms / QUICK_MS) / Math.log(SLOW_MS / QUICK_MS)))
}

/** Of a share: all but all of it, nearly, or not. */
export function health(share: number, paint: Paint): (text: string) => string {
  if (share >= 0.995) return paint.green
  return share >= 0.95 ? paint.yellow : paint.red
}

export function speed(ms: number, paint: Paint): (text: string) => string {
  if (ms < 100) return paint.green
  return ms < 1_000 ? paint.yellow : paint.red
}

function level(share: number): string {
  const index = Math.floor(Math.min(1, Math.max(0, share)) * (LEVELS.length - 1))
  return LEVELS[index] ?? ' '
}

function name(of: string, index: number, current: number, width: number, paint: Paint): string {
  const text = left(`╵${of}`.slice(0, width), width)
  return index === current ? paint.cyan(text) : paint.dim(text)
}
