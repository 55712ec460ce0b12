import { Board } from '../../src/demo/board.ts'
import type { EndpointFacts } from '../../src/demo/facts.ts'
import type { Ending } from '../../src/demo/messages.ts'
import { story } from '../../src/demo/story.ts'

const PER_PHASE = 200
const PHASE_MS = 1_000

/** What became of the `i`-th request of a phase; 200 where nothing is said. */
export type Script = (phase: string, lane: number, i: number) => Ending | undefined

/** A whole run of which the ends are known: every request took 7 ms. */
export function played(script: Script): Board {
  const board = new Board(story, PHASE_MS, PER_PHASE)
  story.forEach(({ name }, phase) => {
    board.enter(phase)
    const settled = (phase + 1) * PHASE_MS
    const sent = [0, 1].flatMap((lane) =>
      Array.from({ length: PER_PHASE }, (_, i) => {
        const atMs = phase * PHASE_MS + (i * PHASE_MS) / PER_PHASE
        return [lane, phase, atMs, 7, script(name, lane, i) ?? 200] as const
      }),
    )
    const leftOut = [[false, true, false, false], [false]]
    board.take({ kind: 'report', spanMs: PHASE_MS, arrivals: PER_PHASE, settledMs: [settled, settled], leftOut, sent })
    board.with.of('B')?.take({ kind: 'report', spanMs: PHASE_MS, arrivals: 50, served: [] }, phase)
  })
  return board
}

/** In choice from the beginning, but for what is said. */
export function endpoint(facts: Partial<EndpointFacts> = {}): EndpointFacts {
  return { state: 'closed', sinceMs: 60_000, probeInMs: 0, isolations: 0, attempts: 0, ...facts }
}
