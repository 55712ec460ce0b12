import type { Board } from './board.ts'
import { health, speed } from './curves.ts'
import type { Tally } from './tally.ts'
import { left, milliseconds, type Paint, percent, right, whole, wrap } from './words.ts'

// What was measured, when the run is over. Every figure and every sentence comes from the board, whatever it says.

/** A load generator that is further behind than this adds to the latencies what is not the servers' doing. */
const LATE_MS = 100
const NOTABLY = 2

export function summary(board: Board, paint: Paint, width: number): string[] {
  const text = sentences(board).flatMap((sentence) => wrap(sentence, width))
  return ['', ...table(board, paint), '', ...text, '', ...next(paint)]
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

function sentences(board: Board): string[] {
  const compared = board.phases.flatMap(({ when, faults }, i) =>
    Object.keys(faults).length === 0 ? [] : compare(when, board.without.inPhase(i), board.with.inPhase(i)),
  )
  return [...compared, ...effort(board), ...caveat(board)]
}

/** Failures where there are any, and latencies unless they are much the same and there is something else to say. */
function compare(when: string, without: Tally, floodwall: Tally): string {
  const parts: string[] = []
  if (without.failures + floodwall.failures > 0) {
    const rest = `${whole(floodwall.failures)} of ${whole(floodwall.requests)} with it`
    parts.push(`${whole(without.failures)} of ${whole(without.requests)} requests failed without floodwall, ${rest}`)
  }
  const [quick, slow] = [Math.min(without.p99, floodwall.p99), Math.max(without.p99, floodwall.p99)]
  if (parts.length === 0 || slow > quick * NOTABLY + LATE_MS) {
    const rest = `${milliseconds(floodwall.p99)} or longer with it`
    parts.push(`one request in a hundred took ${milliseconds(without.p99)} or longer without floodwall, ${rest}`)
  }
  return `${when}, ${parts.join('; ')}.`
}

/** What the gateway did for it. */
function effort({ phases, without, with: floodwall, retries }: Board): string[] {
  const names = new Set<string>()
  let bare = 0
  let guarded = 0
  let reactionMs: number | undefined
  phases.forEach(({ faults }, i) => {
    for (const name of Object.keys(faults)) {
      names.add(name)
      bare += without.of(name)?.arrivals[i] ?? 0
      guarded += floodwall.of(name)?.arrivals[i] ?? 0
      reactionMs ??= floodwall.of(name)?.refusedAfterMs[i]
    }
  })
  if (names.size === 0) return []
  const who = `${names.size === 1 ? 'server' : 'servers'} ${[...names].join(', ')}`
  const breaker =
    reactionMs === undefined
      ? 'no breaker was seen open'
      : `the first breaker was seen open after ${(reactionMs / 1000).toFixed(1)} s`
  return [
    `In trouble, ${who} got ${whole(bare)} requests without floodwall, ${whole(guarded)} with it: the gateway chose others, ` +
      `tried ${whole(retries)} requests again elsewhere, and ${breaker}.`,
  ]
}

function caveat({ latestMs }: Board): string[] {
  if (latestMs <= LATE_MS) return []
  const late = `The load generator itself was up to ${milliseconds(latestMs)} behind its schedule`
  return [`${late}: this machine was busy with other things, and both sides waited for it.`]
}

function next(paint: Paint): string[] {
  return [
    'Next, put it in front of a server of yours:',
    '',
    `  ${paint.cyan('npm start -- --upstream http://localhost:3000')}`,
  ]
}
