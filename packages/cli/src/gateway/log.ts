import type { FloodEvent, Pipeline } from 'floodwall'
import { destination, type Logger, pino, stdTimeFunctions } from 'pino'

export type Log = Logger

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** Lines that nobody takes are dropped at some point: a reader of the log that hangs must not take the gateway with it. */
const UNREAD_MOST_BYTES = 1024 * 1024
const FLUSH_WITHIN_MS = 1000

/** One JSON object per line on standard output. Written in the background: a slow reader does not slow the traffic. */
export function logTo(level: LogLevel): Log {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: ({ name, message, stack }: Error) => ({ name, message, stack }) },
    },
    destination({ dest: 1, sync: false, minLength: 0, maxLength: UNREAD_MOST_BYTES }),
  )
}

/** Waits until the last line is out: the one before an exit is the one that matters. */
export async function flushed(log: Log): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, FLUSH_WITHIN_MS)
    log.flush(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** What changes in the pipeline, as lines. Refusals come sampled: one line a second, gate and reason, with the count. */
export function logEvents(pipeline: Pipeline, log: Log): void {
  pipeline.on((event) => {
    const { type, at: _at, ...facts } = event
    log[levelOf(event)](facts, type === 'state' ? 'state changed' : type)
  })
}

function levelOf(event: FloodEvent): 'info' | 'warn' {
  if (event.type === 'state') return event.to === 'closed' || event.to === 'halfOpen' ? 'info' : 'warn'
  return event.type === 'refused' || event.type === 'lapsed' ? 'warn' : 'info'
}
