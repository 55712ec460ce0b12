import type { Board } from './board.ts'
import { OPEN_AT_MOST_MS, OPEN_MS, SLOW_START_MS } from './protection.ts'
import { PATIENCE_MS, servers } from './story.ts'
import { type Paint, seconds, wrap } from './words.ts'
import { CAPACITY } from './workers.ts'

/** Start, warm-up, changes and end, about. */
const AROUND_MS = 7_000

/** What is going to happen, before anything does. */
export function intro({ perSecond, lengthMs }: Board, paint: Paint, width: number): string[] {
  const what =
    `${perSecond} requests a second, each sent twice in the same moment: through a plain load balancer to ${servers.length} servers, and ` +
    `through the floodwall gateway to ${servers.length} others, which have the same faults at the same time. A server can carry about ` +
    `${CAPACITY} requests a second; more wait in a line. A client waits for ${seconds(PATIENCE_MS)}. Servers, gateway and clients are real ` +
    `processes on this machine and talk HTTP; figures are measured, not rehearsed. It takes about ` +
    `${Math.round((lengthMs + AROUND_MS) / 1000)} seconds.`
  const words =
    `The plain balancer asks the servers in turn; it connects to each once a second and leaves out who refuses. For the gateway a server ` +
    `is in choice, isolated (gets nothing, until when), on probation (one request tries it), or back (its share grows).`
  const times =
    `So that a return fits into a phase, times are short here: isolated for about ${seconds(OPEN_MS)} to ${seconds(OPEN_AT_MOST_MS)} (by default ` +
    `1 to 30 s), its whole share ${seconds(SLOW_START_MS)} after the return (by default 10 s).`
  const text = [what, words, times].flatMap((paragraph) => [...wrap(paragraph, width), ''])
  return [`${paint.bold('floodwall demo')}  ${paint.dim('(Ctrl-C ends it)')}`, '', ...text]
}
