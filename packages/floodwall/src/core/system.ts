import { AsyncResource } from 'node:async_hooks'
import { channel } from 'node:diagnostics_channel'
import { switchedOff } from './ambient.ts'
import type { FloodEvent } from './event.ts'
import type { Runtime } from './runtime.ts'

// The only file of the library that touches real time, real timers and real chance. The clock below is the library's only module state:
// one process has one time.

/** Longest span that setTimeout honours; beyond it Node fires after 1 ms (case C07). */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Uses of one clock reading: a chain of microtasks never ends the turn, and must not stop time. */
const USES_PER_READ = 64

const read: () => number = performance.now.bind(performance)

/** A field and not a variable: V8 writes a number field in place and boxes a variable anew, on every read of the clock. */
const clock = { time: read() }
let usesLeft = 0
let turnArmed = false
let chores: (() => void)[] = []

function endOfTurn(): void {
  usesLeft = 0
  turnArmed = false
  if (chores.length === 0) return
  const due = chores
  chores = []
  for (const chore of due) chore()
}

function armTurn(): void {
  turnArmed = true
  setImmediate(endOfTurn)
}

function turnNow(): number {
  if (usesLeft-- > 0) return clock.time
  usesLeft = USES_PER_READ - 1
  if (!turnArmed) armTurn()
  return preciseNow()
}

function preciseNow(): number {
  const t = read()
  // Never decreasing, whatever the platform's clock does across suspend and resume.
  if (t > clock.time) clock.time = t
  return clock.time
}

function after(ms: number, fn: () => void, background = false): () => void {
  const wait = ms > 0 ? ms : 0
  if (wait <= LONGEST_TIMER_MS) {
    const timer = setTimeout(fn, wait)
    if (background) timer.unref()
    return () => clearTimeout(timer)
  }
  // A chain of timers, each of which Node honours.
  const link = () => {
    cancel = after(wait - LONGEST_TIMER_MS, fn, background)
  }
  let cancel = after(LONGEST_TIMER_MS, link, background)
  return () => cancel()
}

/** Every event of the process passes here; subscribe with `diagnostics_channel.subscribe('floodwall:event', ...)`. */
const events = channel('floodwall:event')

/** The real world: Node's clock, timers and randomness. */
export const systemRuntime: Runtime = {
  now: turnNow,
  precise: preciseNow,
  random: Math.random,
  after,
  emit(event: FloodEvent): void {
    if (events.hasSubscribers) events.publish(event)
  },
  soon(fn: () => void): void {
    chores.push(fn)
    if (!turnArmed) armTurn()
  },
  bind: (fn) => AsyncResource.bind(fn),
  ambient: switchedOff(),
}

/** How long the event loop has slept, since it began, in milliseconds (about 50 ns). */
export const loopIdle = (): number => performance.nodeTiming.idleTime

/** How often the event loop has gone round; NaN where Node does not say (about 80 ns). */
export function loopTurns(): number {
  const { uvMetricsInfo }: { readonly uvMetricsInfo?: { readonly loopCount: number } } = performance.nodeTiming
  return uvMetricsInfo?.loopCount ?? Number.NaN
}

/** Unix time in milliseconds, for dates that others write. It may jump: no span is measured by it. */
export const unixNow: () => number = Date.now

/** Resolves when the present turn of the event loop is over: every promise reaction that was due has run. */
export function turnOver(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
