import type { FloodEvent, Pipeline } from 'floodwall'
import { destination, type Logger, type LoggerOptions, pino, stdTimeFunctions } from 'pino'
import { lastLines } from './last-lines.ts'

export type Log = Logger

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** Lines that nobody takes are dropped at some point: a reader of the log that hangs must not take the gateway with it. */
const UNREAD_MOST_BYTES = 1024 * 1024
/** Nobody may read the log; the end does not wait for him. */
const LAST_LINE_WITHIN_MS = 200

/** A log, and its end. */
export interface Journal {
  readonly log: Log
  /** Waits until the last line is out: the one before an exit is the one that matters. */
  close(): Promise<void>
}

/** One JSON object per line on standard output. Written in the background: a slow reader does not slow the traffic. */
export function journalTo(level: LogLevel): Journal {
  const stream = destination({ dest: 1, sync: false, maxLength: UNREAD_MOST_BYTES })
  // A full disk: lines are lost then, and traffic is not. Without this it would end the process, which would wait for the disk to do so.
  stream.on('error', () => {})
  const options: LoggerOptions = {
    level,
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { error: ({ name, message, stack }: Error) => ({ name, message, stack }) },
  }
  return { log: pino(options, stream), close: () => lastLines(stream, LAST_LINE_WITHIN_MS) }
}

/** What changes in the pipeline, as lines. Refusals come sampled: one line a second, gate and reason, with the count. */
export function logEvents(pipeline: Pipeline, log: Log): void {
  pipeline.on((event) => {
    // A reload is one line of its own; a pipeline in which it changed nothing has none to add.
    if (event.type === 'reloaded' && event.changed + event.added + event.removed === 0) return
    logEvent(event, log)
  })
}

export function logEvent(event: FloodEvent, log: Log): void {
  const { type, at: _at, ...facts } = event
  log[levelOf(event)](facts, type === 'state' ? 'state changed' : type)
}

/** States in which things are as they should be, or on their way there. */
const GOOD: ReadonlySet<string> = new Set(['closed', 'halfOpen', 'taking'])

function levelOf(event: FloodEvent): 'info' | 'warn' {
  if (event.type === 'state') return GOOD.has(event.to) ? 'info' : 'warn'
  return event.type === 'refused' || event.type === 'lapsed' ? 'warn' : 'info'
}
