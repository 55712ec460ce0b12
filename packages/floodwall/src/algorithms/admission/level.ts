import type { Criticality } from '../../core/init.ts'
import { rankOf } from '../queues/class-line.ts'
import { LAST_PLACE, placeOf } from './priority.ts'

// How far down the line of priorities is it open?
//
// A level is a place on the line of `priority.ts`: who stands before it is admitted. 512 admits all, 256 the two upper classes, 320 half of
// the third besides. It travels as a number in a header, so that callers can refuse what would be refused anyway.

/** Everybody is admitted. */
export const OPEN: number = LAST_PLACE

/** For the wire: at most three digits and two decimals. */
export function levelText(level: number): string {
  return String(Math.round(level * 100) / 100)
}

/** What was written by {@link levelText}; undefined for anything else: what a stranger sends decides nothing. */
export function levelOf(text: string): number | undefined {
  if (!/^\d{1,3}(?:\.\d{1,2})?$/.test(text)) return undefined
  const level = Number(text)
  return level <= OPEN ? level : undefined
}

/** Would a server at `level` take this call? `hour` and `chance` as in `placeOf`. */
export function wouldAdmit(
  level: number,
  criticality: Criticality,
  key: string | number,
  hour: number,
  chance: number,
): boolean {
  return level >= OPEN || placeOf(rankOf(criticality), key, hour, chance) < level
}
