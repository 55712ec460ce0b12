// What is "250ms" in milliseconds? Every span in floodwall is a number of milliseconds inside and a Duration at the doors.

/** A span: a bare number is milliseconds, a string is a number with a unit: `250`, `'250ms'`, `'1.5s'`, `'30d'`. */
export type Duration = number | `${number}${'us' | 'ms' | 's' | 'm' | 'h' | 'd'}`

const UNIT_MS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

// Digits only, no sign, no exponent: "1e3s" and "-5s" are more often typing errors than wishes.
const FORM = /^(\d{1,12}(?:\.\d{1,6})?)(us|ms|s|m|h|d)$/

/** Milliseconds of a {@link Duration}, or NaN when it is not one (never throws, so that a schema can say what was expected). */
export function toMs(span: unknown): number {
  if (typeof span === 'number') return Number.isFinite(span) && span >= 0 ? span : Number.NaN
  if (typeof span !== 'string') return Number.NaN
  const parts = FORM.exec(span)
  if (parts === null) return Number.NaN
  return Number(parts[1]) * (UNIT_MS[parts[2] as string] as number)
}

/**
 * When `ms` from `now` are over, and never a hair later: (4.4 + 60) - 4.4 is 60.00000000000001, and who was given 60 has at most 60 left.
 */
export function dueAt(now: number, ms: number): number {
  const at = now + ms
  // The double before it; half a unit in the last place is rounded to a whole one.
  return at - now > ms ? at * (1 - Number.EPSILON / 2) : at
}

/** A span as people write it, for messages and tables: `250ms`, `1.5s`, `2m`, `3h`, `30d`. */
export function showMs(ms: number): string {
  if (!Number.isFinite(ms)) return 'for ever'
  if (ms < 1000) return `${round(ms)}ms`
  if (ms < 120_000) return `${round(ms / 1000)}s`
  if (ms < 7_200_000) return `${round(ms / 60_000)}m`
  if (ms < 172_800_000) return `${round(ms / 3_600_000)}h`
  return `${round(ms / 86_400_000)}d`
}

function round(value: number): number {
  return value >= 100 ? Math.round(value) : Math.round(value * 10) / 10
}
