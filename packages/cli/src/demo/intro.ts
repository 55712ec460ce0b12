import type { Board } from './board.ts'
import { type Paint, wrap } from './words.ts'

/** What is going to happen, before anything does. */
export function intro({ perSecond, lengthMs }: Board, paint: Paint, width: number): string[] {
  const text =
    `${perSecond} requests a second, each sent twice at the same moment: by plain clients straight to three servers, and through the ` +
    `floodwall gateway to three others. Both sets of servers have the same faults at the same time. All are real processes on this ` +
    `machine and talk HTTP; figures are measured, not rehearsed. It takes about ${Math.round(lengthMs / 1000 + 4)} seconds.`
  return [`${paint.bold('floodwall demo')}  ${paint.dim('(Ctrl-C ends it)')}`, '', ...wrap(text, width), '']
}
