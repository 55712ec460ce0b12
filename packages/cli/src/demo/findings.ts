import type { Board } from './board.ts'
import type { LaneBoard } from './lane-board.ts'
import type { Ending } from './messages.ts'
import { behaviourOf, isOutage, type Phase } from './story.ts'
import type { Tally } from './tally.ts'
import { milliseconds, seconds, whole } from './words.ts'
import { CAPACITY } from './workers.ts'

// What the figures say, in sentences. Every number comes from the board, whatever it is, and no sentence says which side is better: the
// reader sees it.

/** A load generator that is further behind than this adds to the latencies what is not the servers' doing. */
const LATE_MS = 100
const NOTABLY = 2
/** When a phase is long enough: it is well when a second is. */
const WELL_OVER_MS = 1_000

export function findings(board: Board): string[] {
  const single: string[] = []
  const all: string[] = []
  board.phases.forEach((phase, i) => {
    if (isOutage(phase)) all.push(...outage(board, phase, i))
    else if (phase.returns !== undefined) all.push(...comeback(board, phase, i))
    else if (Object.keys(phase.faults).length > 0) single.push(fault(board, phase, i))
  })
  return [...single, ...effort(board), ...all, ...caveat(board)]
}

/** Failures where there are any, and latencies unless they are much the same and there is something else to say. */
function fault(board: Board, { when }: Phase, index: number): string {
  const [without, floodwall] = [board.without.inPhase(index), board.with.inPhase(index)]
  const parts: string[] = []
  if (without.failures + floodwall.failures > 0) parts.push(failures(without, floodwall))
  const [quick, slow] = [Math.min(without.p99, floodwall.p99), Math.max(without.p99, floodwall.p99)]
  if (parts.length === 0 || slow > quick * NOTABLY + LATE_MS) {
    const rest = `${milliseconds(floodwall.p99)} or longer with it`
    parts.push(`one request in a hundred took ${milliseconds(without.p99)} or longer without floodwall, ${rest}`)
  }
  return `${when}, ${parts.join('; ')}.`
}

function failures(without: Tally, floodwall: Tally): string {
  const rest = `${whole(floodwall.failures)} of ${whole(floodwall.requests)} with it`
  return `${whole(without.failures)} of ${whole(without.requests)} requests failed without floodwall, ${rest}`
}

/** Nobody could answer: how fast did the clients know, and who was asked? */
function outage({ without, with: floodwall, attempts }: Board, { when }: Phase, index: number): string[] {
  const bare = without.inPhase(index)
  return [
    `${when}, ${failures(bare, floodwall.inPhase(index))}. Without it ${howFast(without, index)}; with it ${howFast(floodwall, index)}. ` +
      `The servers were asked ${whole(bare.requests)} times without floodwall, ${whole(attempts[index] ?? 0)} times with it.`,
  ]
}

/** Of the most frequent failure. */
function howFast(lane: LaneBoard, index: number): string {
  const [[ending, tally] = []] = lane.failuresIn(index)
  if (ending === undefined || tally === undefined) return 'none failed'
  const times = `half of them within ${brief(tally.median)}, 99 of 100 within ${brief(tally.p99)}`
  return `${whole(tally.requests)} ${nameOf(ending)}, ${times}`
}

function nameOf(ending: Ending): string {
  if (typeof ending === 'number') return `got status ${ending}`
  return ending === 'refused' ? 'were refused a connection' : `were ${ending}`
}

/** With a decimal where it matters. */
function brief(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : milliseconds(ms)
}

/** The servers come back one after the other: what was lost, for how long, and how crowded was it at one of them? */
function comeback(board: Board, { when }: Phase, index: number): string[] {
  const { without, with: floodwall, phaseMs } = board
  const windowMs = Math.min(WELL_OVER_MS, phaseMs / 5)
  const [bare, guarded] = board.lanes.map((lane) => {
    const ms = lane.wellAfterMs(index, windowMs)
    return ms === undefined ? 'not before the end of the phase' : `after ${seconds(ms)}`
  })
  const [crowd, spared] = board.lanes.map((lane) =>
    Math.max(0, ...lane.servers.map((server) => server.crowd[index] ?? 0)),
  )
  return [
    `${when}, ${failures(without.inPhase(index), floodwall.inPhase(index))}. 95 % succeeded again ${bare} without floodwall, ${guarded} with it.`,
    `Meanwhile the most that one server got in a second was ${whole(crowd ?? 0)} requests without floodwall, ${whole(spared ?? 0)} with ` +
      `it; ${whole(board.perSecond)} a second were due in all, and a server can carry about ${whole(CAPACITY)}.`,
  ]
}

/** What the gateway did about single servers in trouble. */
function effort({ phases, without, with: floodwall, retries }: Board): string[] {
  const useless: string[] = []
  const isolated: string[] = []
  let [bare, guarded, again] = [0, 0, 0]
  phases.forEach((phase, i) => {
    if (isOutage(phase) || phase.returns !== undefined) return
    again += retries[i] ?? 0
    for (const name of Object.keys(phase.faults)) {
      const afterMs = floodwall.of(name)?.isolatedAfterMs[i]
      isolated.push(afterMs === undefined ? `${name} not at all` : `${name} after ${seconds(afterMs)}`)
      if (behaviourOf(name, phase) === 'dead') continue
      useless.push(name)
      bare += without.of(name)?.arrivals[i] ?? 0
      guarded += floodwall.of(name)?.arrivals[i] ?? 0
    }
  })
  if (isolated.length === 0) return []
  return [
    `While slow or wrong, servers ${useless.join(' and ')} got ${whole(bare)} requests without floodwall, ${whole(guarded)} with it.`,
    `In these phases the gateway tried ${whole(again)} requests again elsewhere. First seen isolated: ${isolated.join(', ')}.`,
  ]
}

function caveat({ latestMs }: Board): string[] {
  if (latestMs <= LATE_MS) return []
  const late = `The load generator itself was up to ${milliseconds(latestMs)} behind its schedule`
  return [`${late}: this machine was busy with other things, and both sides waited for it.`]
}
