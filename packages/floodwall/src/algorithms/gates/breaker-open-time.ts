import * as v from 'valibot'
import { showMs } from '../../core/duration.ts'
import { positiveSpan, show } from '../../core/schema.ts'
import type { BreakerSettings, OpenFor } from './breaker-settings.ts'

// How long does a breaker stay open?
//
// Source: exponential backoff, as in resilience4j's wait functions; with jitter on top of the cap: under it, all that have reached the cap would
// probe in step.
//
// openFor 5 s, growth 2, openAtMost 60 s: 5, 10, 20, 40, 60, 60 s. No Math.pow: its last bits differ between Node versions, and replays must not.
//
// Invariant: finite and above 0, whatever a function of the user does. resilience4j's breaker is poisoned by one that throws: closed, and refusing
// for ever.

/** Where a function fails: the defaults. */
const OPEN_FOR_MS = 5000
const OPEN_AT_MOST_MS = 60_000
/** Growth goes no further: a breaker that was restored from a document must not count to a thousand million. */
const MOST_TIMES = 10_000

/** An open time, and what was wrong with the function that should have said it. */
export interface OpenTime {
  readonly ms: number
  readonly fault?: string
}

/** The open time when it opens for the `times`-th time without long health between. `isAsked`: the function is answering already. */
export function openTime(settings: BreakerSettings, times: number, random: () => number, isAsked = false): OpenTime {
  const { openFor, growth, openAtMost, jitter } = settings
  const time: OpenTime =
    typeof openFor === 'number'
      ? { ms: grown(openFor, times, growth, openAtMost ?? OPEN_AT_MOST_MS) }
      : asked(openFor, times, growth, openAtMost, isAsked)
  return jitter === 0 ? time : { ...time, ms: time.ms * (1 + jitter * random()) }
}

function grown(firstMs: number, times: number, growth: number, atMostMs: number): number {
  const most = Math.max(firstMs, atMostMs)
  let ms = firstMs
  for (let i = Math.min(times, MOST_TIMES); i > 1 && ms < most; i--) ms *= growth
  return Math.min(ms, most)
}

/** What the function of the user says; where it says nothing of use, the default that grows. */
function asked(
  openFor: OpenFor,
  times: number,
  growth: number,
  atMostMs: number | undefined,
  isAsked: boolean,
): OpenTime {
  let fault: string
  try {
    const said: unknown = isAsked ? undefined : openFor(times)
    const span = v.safeParse(positiveSpan, said)
    if (span.success) return { ms: Math.min(span.output, atMostMs ?? Number.POSITIVE_INFINITY) }
    fault = isAsked
      ? `openFor(${times}) opened the breaker itself`
      : `openFor(${times}) is ${show(said)}, expected a span above 0`
  } catch (error) {
    fault = `openFor(${times}) threw ${messageOf(error)}`
  }
  const ms = grown(OPEN_FOR_MS, times, growth, atMostMs ?? OPEN_AT_MOST_MS)
  return { ms, fault: `${fault}; open for ${showMs(ms)} instead` }
}

/** Whatever was thrown, also what throws when it is looked at. */
function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message) : show(error)
  } catch {
    return 'an error that cannot be read'
  }
}
